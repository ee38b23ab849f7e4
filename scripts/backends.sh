#!/usr/bin/env bash
# Writes docs/backends.md: what `sbx probe` observes on this machine, as root, as
# an ordinary user, and where user namespaces are refused. Given the name of a
# backend it only prints what is observed of that one. Needs root. The engines of
# containers are those of scripts/engines.sh that the environment names, else it
# starts its own.
# The user is one of the accounts of scripts/test-machine.sh, with a home directory:
# firejail runs for nobody whom the system does not know, and not below /var/tmp.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${SBX_BACKENDS_HERE:-}" ]; then
	SBX_BACKENDS_HERE=1 exec scripts/test-machine.sh run "$0" "$@"
fi
for user in $(seq -f sbx-test-%g 0 7) ''; do
	if [ -z "$user" ]; then
		echo "backends: error: all accounts of scripts/test-machine.sh are in use" >&2
		exit 1
	fi
	exec 7>"/run/sbx-test-users/$user"
	if flock --nonblock 7; then
		break
	fi
done
work=$(mktemp -d /var/tmp/sbx-backends-XXXXXX)
clean() {
	for pid in "$work"/ssh-*/pid; do
		[ ! -s "$pid" ] || kill "$(cat "$pid")" || true
	done
	ps -o pid= -u "$user" | xargs --no-run-if-empty kill # podman leaves a process on purpose
	rm -rf "$work" "/home/${user:?}" "/dev/shm/libpod_rootless_lock_$(id -u "$user")"
}
trap clean EXIT
chmod 755 "$work"
CGO_ENABLED=0 "${GO:-go}" build -o "$work/" ./cmd/sbx ./cmd/sbx-proxy ./cmd/sbx-init ./cmd/sbx-backend-*
mkdir "$work/room" "$work/there"
install -d -m 755 -o "$user" -g "$user" "/home/$user"
install -d -m 700 -o "$user" -g "$user" "$work/run" # a home of the suite is too long for the sockets of ssh
only=${1:-}
if [ -z "${SBX_TEST_IMAGES:-}" ] && [ "$only" != ssh ]; then
	trap 'scripts/engines.sh stop "$work/engines"; clean' EXIT
	scripts/engines.sh start "$work/engines"
	# shellcheck source=/dev/null
	. "$work/engines/env"
fi
if [ "$only" != ssh ]; then
	export DOCKER_HOST=$SBX_TEST_DOCKER_HOST CONTAINERD_ADDRESS=$SBX_TEST_CONTAINERD
	export CONTAINERS_STORAGE_CONF=$SBX_TEST_PODMAN/storage.conf CONTAINERS_CONF=$SBX_TEST_PODMAN/containers.conf
fi
image=sbx-test/tools:1

# machine DIR AS… starts an sshd on the loopback with keys of its own, by the words
# AS, and writes the configuration of somebody who runs commands there, on the same
# files. The backend ssh is another machine to that extent.
machine() {
	local dir=$1 port
	shift
	mkdir "$dir"
	for key in key host; do
		ssh-keygen -q -t ed25519 -N '' -f "$dir/$key"
	done
	cp "$dir/key.pub" "$dir/authorized"
	chmod -R go= "$dir"
	[ "$dir" = "$work/ssh-root" ] || chown -R "$user:$user" "$dir"
	for port in $(shuf -i 20000-29999 -n 20); do
		printf '%s\n' "ListenAddress 127.0.0.1:$port" "HostKey $dir/host" "AuthorizedKeysFile $dir/authorized" 'StrictModes no' 'UsePAM no' \
			"PidFile $dir/pid" 'PermitRootLogin prohibit-password' ${there:+"SetEnv HOME=$there"} >"$dir/sshd"
		if "$@" /usr/sbin/sshd -f "$dir/sshd" -E "$dir/log"; then
			break
		fi
	done
	echo "[127.0.0.1]:$port $(cat "$dir/host.pub")" >"$dir/known"
	cat >"$dir/config.json" <<JSON
{"sbx": {"ssh": {"host": "127.0.0.1", "workspace": "shared", "keep": "20s",
  "options": "-F none -p $port -i $dir/key -o UserKnownHostsFile=$dir/known -o IdentitiesOnly=yes"}}}
JSON
	[ "$dir" = "$work/ssh-root" ] || chown -R "$user:$user" "$dir"
}

as_user() {
	setpriv --reuid "$user" --regid "$user" --clear-groups env -i "HOME=/home/$user" "USER=$user" "XDG_RUNTIME_DIR=$work/run" "PATH=/usr/local/bin:/usr/bin:/bin" \
		"CONTAINERS_STORAGE_CONF=$work/podman/storage.conf" "CONTAINERS_CONF=$work/podman/containers.conf" "$@"
}

# The user's podman has a storage of the user's own, which holds the image, too. The
# machine's /etc/hosts need not be one that everybody can read.
user_podman() {
	install -d -m 700 -o "$user" -g "$user" "$work/podman"
	printf '%s\n' '[storage]' 'driver = "overlay"' "rootless_storage_path = \"$work/podman/graph\"" "runroot = \"$work/podman/run\"" >"$work/podman/storage.conf"
	printf '%s\n' '[containers]' 'base_hosts_file = "none"' '[engine]' 'runtime = "runc"' 'cgroup_manager = "cgroupfs"' 'events_logger = "file"' \
		"tmp_dir = \"$work/podman/tmp\"" >"$work/podman/containers.conf"
	as_user podman import -q - "$image" <"$SBX_TEST_IMAGES/tools.tar" >/dev/null
}

# matrix FILE prints a report up to the first heading: the table by control.
matrix() { sed '/^## /,$d' "$1"; }
gaps() { sed -n '/^## Gaps/,/^## Every/p' "$1" | sed '1d;$d'; }

there=$work/there machine "$work/ssh-root" env
machine "$work/ssh-user" as_user
which=${only:---all}
case $which in --all | podman) user_podman ;; esac
PEPE_CONFIG=$work/ssh-root/config.json "$work/sbx" probe "$which" --image "$image" --markdown >"$work/root" || [ $? -eq 1 ]
as_user "PEPE_CONFIG=$work/ssh-user/config.json" "$work/sbx" probe "$which" --image "$image" --markdown >"$work/user" || [ $? -eq 1 ]
if [ -n "$only" ]; then
	cat "$work/root" "$work/user"
	exit
fi
# As in a default container: no further user namespace can be made.
unshare --user --map-root-user --mount sh -c 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"' sh \
	"$work/sbx" probe direct --markdown --dir "$work/room" >"$work/landlock" || [ $? -eq 1 ]

{
	cat <<'TEXT'
# Backends

What each backend stops, as observed. Nothing here is copied from a manual: every
row was tried without a sandbox, where it must succeed, then inside, and then the
host was looked at. To repeat it on your machine:

    sbx probe                 # the backend direct
    sbx probe --all           # every backend found
    sbx probe --only P49 --verbose
    scripts/backends.sh       # this document

- **held**: it was stopped, or for work: it works.
- **gap**: it is open, and the plan of the backend names the gap, so that a profile
  can require it and be refused.
- **NOT HELD**: it is open and nobody said so. This is a bug.
- **could not be tried**: it does not succeed without a sandbox either, a program
  is missing here or in the image, or the backend refused to start it.

The figures count probes. The network is off unless a probe says otherwise. In the
column of the backend none everything is a gap: that is the proof that the probes
can fail. Three things hold there too, because sbx starts every command in the same
way and looks after it: descriptors are shut, the tree ends, and files that others
trust are reported when they appear.

The backend ssh runs commands on another machine; here that is this one, over an sshd
on the loopback, with the workspace shared.

What bwrap and firejail are told, and what they lack, is in [programs.md](programs.md).

TEXT
	echo "Linux $(uname -r | cut -d- -f1) $(uname -m)."
	printf '\n## As root\n\n'
	matrix "$work/root"
	printf '## As an ordinary user\n\n'
	matrix "$work/user"
	printf '## Where user namespaces are refused\n\n'
	matrix "$work/landlock"
	printf 'What this tier does not give:\n'
	gaps "$work/landlock" | sed 's/^- [^`]*/- /'
	# What another system was seen to do is written by hand.
	sed -n '/^## macOS/,/^## Every/p' docs/backends.md | sed '$d'
	sed -n '/^## Every/,$p' "$work/root"
} >"$work/md"
cp "$work/md" docs/backends.md
