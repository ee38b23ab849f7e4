# shellcheck shell=sh disable=SC2154,SC2317 # a part of docker.sh and podman.sh
command -v "$engine" >/dev/null || refuse "there is no program $engine; install it"
image=${PEPE_SANDBOX_IMAGE:-python:3.12-slim}
"$engine" image inspect "$image" >/dev/null 2>&1 || "$engine" pull "$image" >/dev/null ||
	refuse "the image $image cannot be fetched; see PEPE_SANDBOX_IMAGE"

if [ "$engine" = podman ]; then
	case $ws in
	*[,\"]* | *"$nl"*) refuse "podman cannot mount $ws; rename it: no comma, quote or line break" ;;
	esac
fi

# bind PATH [,readonly] prints a mount of a path at its own place. It is a line of
# CSV: in quotes a comma or a line break is part of the name.
bind() {
	path=$(printf '%s.' "$1" | sed 's/"/""/g')
	path=${path%.}
	if [ "$engine" = podman ]; then
		printf 'type=bind,source=%s,target=%s%s' "$path" "${3:-$path}" "${2:-}"
	else
		printf 'type=bind,"source=%s","target=%s"%s' "$path" "${3:-$path}" "${2:-}"
	fi
}

# Who owns the workspace owns what is made there. Root of a rootless engine is
# the caller.
user=${PEPE_SANDBOX_USER:-}
if [ -z "$user" ] && [ "$(id -u)" != 0 ]; then
	user=$(id -u):$(id -g)
	case $("$engine" info --format '{{json .SecurityOptions}}' 2>/dev/null) in
	*rootless*) user=0:0 ;;
	esac
elif [ -z "$user" ]; then
	# shellcheck disable=SC2012 # the numbers are no names
	user=$(ls -ldn -- "$ws" | awk 'NR == 1 { print $3 ":" $4 }')
fi

# Podman needs a program for --init that is not always there, and which answers 1
# where a shell answers 126 and 127.
init=
if [ "$engine" = podman ]; then
	for path in /usr/libexec/podman/catatonit /usr/lib/podman/catatonit /usr/bin/catatonit; do
		[ ! -x $path ] || init=$path
	done
fi
# shellcheck disable=SC2016 # for that shell
[ -z "$init" ] || set -- sh -c 'exec "$@"' sh "$@"
set -- "$image" "$@"
# shellcheck disable=SC2013 # these are words
for name in $(awk 'BEGIN { for (n in ENVIRON) if (n ~ /^[A-Za-z_][A-Za-z0-9_]*$/) print n }' </dev/null); do
	case $name in
	PATH | HOME | PWD | OLDPWD | SHLVL | HOSTNAME | TMPDIR | TMP | TEMP | XDG_RUNTIME_DIR | _) ;;
	PEPE_* | SBX_WITHIN* | DOCKER_* | CONTAINER* | LD_* | AWK*) ;;
	*) set -- --env "$name" "$@" ;;
	esac
done
if [ "$engine" = podman ]; then
	[ "$(id -u)" = 0 ] || set -- --userns keep-id "$@"
	[ -z "$init" ] || set -- --init "$@"
else
	set -- --init "$@"
fi
[ -z "$script" ] || set -- --mount "$(bind "$script" ,readonly)" "$@"
if [ -d "$tmp" ]; then
	set -- --mount "$(bind "$tmp" '' /tmp)" "$@"
else
	set -- --tmpfs /tmp:rw,exec,nosuid,nodev,mode=1777 "$@"
fi
set -f
IFS=$nl
for dir in $shared; do
	set -- --mount "$(bind "$dir")" "$@"
done
unset IFS
set +f
[ ! -t 0 ] || [ ! -t 1 ] || set -- --tty "$@"

# The container has a name, so that it can be ended without its client.
name=pepe-sandbox-$$-$(date +%s)
clean_up() {
	"$engine" rm --force "$name" >/dev/null 2>&1
}
run "$engine" run --rm --name "$name" --interactive --network "$net" \
	--user "$user" --cap-drop ALL --security-opt no-new-privileges --read-only \
	--memory "${PEPE_SANDBOX_MEM:-512m}" --cpus "${PEPE_SANDBOX_CPUS:-1}" --pids-limit 256 \
	--mount "$(bind "$ws")" --workdir "$ws" --env HOME=/tmp --env TMPDIR=/tmp "$@"
