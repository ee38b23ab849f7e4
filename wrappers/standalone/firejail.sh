#!/bin/sh
# Wrapper "firejail", for machines without sbx: runs its arguments as one program,
# confined to $PEPE_SANDBOX_CWD by firejail. Configure the path of this file; it is
# called as: firejail.sh PROGRAM ARG…
# Written by "sbx wrapper install --standalone firejail", which overwrites changes. It heeds:
#
#   PEPE_SANDBOX_NET   bridge (default): the network is on; none
# shellcheck shell=sh disable=SC2154 # the common part assigns them
# shellcheck disable=SC2034,SC2317 # what is common is not used by each, or called by name
set -u

@COMMON@
@HIDE@

command -v firejail >/dev/null || refuse 'there is no program firejail; install it'
# firejail shows the home of its user writable, whatever was said of /: the one of the
# passwd file and $HOME.
account=$(getent passwd "$(id -u)" 2>/dev/null || grep "^[^:]*:[^:]*:$(id -u):" /etc/passwd)
account=$(cd -P -- "$(printf '%s\n' "$account" | cut -d: -f6)" 2>/dev/null && pwd -P) || account=
# firejail takes no other names, and would read these as more than a name.
for dir in "$ws" "$shared" "$script" "$home" "$account"; do
	case $dir in
	*[\\\&\!\?\"\'\<\>%^\{\}\;,\*\[\]\#~]* | *:*)
		refuse "firejail cannot take the name $dir; rename it" ;;
	esac
done
case $ws in
*"$nl"*) refuse 'firejail takes no name with a line break; rename the workspace' ;;
esac

# A shell inside answers 126 and 127.
# shellcheck disable=SC2016 # for that shell
set -- -- sh -c 'cd -- "$1" && shift && exec "$@"' sh "$ws" "$@"
set -f
IFS=$nl
for path in $secrets; do
	case $path in
	/run/*) ;; # hidden as a whole
	*) set -- --blacklist="$path" "$@" ;;
	esac
done
for dir in $shared; do
	set -- --read-write="$dir" "$@"
done
unset IFS
set +f
# Sockets of services lie in /run: of what is there only the file stays that
# names are looked up with. A place that is not there stands for none.
resolve=$(readlink -f /etc/resolv.conf)
case $resolve in
/run/*) set -- --whitelist="$resolve" "$@" ;;
*) set -- --whitelist=/run/none "$@" ;;
esac
# /tmp is empty but for what belongs to this run.
case $ws in
/tmp/*) set -- --whitelist="$ws" "$@" ;;
*) set -- --private-tmp "$@" ;;
esac
[ -z "$script" ] || set -- --whitelist="$script" --read-only="$script" "$@"
[ "$net" = bridge ] || set -- --net=none "$@"
[ "$(id -u)" = 0 ] || set -- --noroot "$@"
# From here on what comes first stands behind what follows: first is /, then what is
# mounted below, which firejail leaves as it is, then homes, then what is writable.
set -- --read-write=/dev/shm --read-write="$ws" --env=TMPDIR=/tmp "$@"
for dir in "$home" "$account"; do
	case $dir in
	'' | / | /nonexistent) ;;
	*) set -- --read-only="$dir" "$@" ;;
	esac
done
while read -r _ _ _ _ dir flags _; do
	case $flags,$dir in
	rw*,/ | rw*,/dev | rw*,/dev/* | rw*,/proc | rw*,/proc/* | rw*,/run | rw*,/run/* | rw*,/sys | rw*,/sys/* | rw*,/tmp | rw*,/tmp/* | rw*,/var/tmp | rw*,/var/tmp/*) continue ;;
	rw*) ;;
	*) continue ;;
	esac
	case $dir in
	*%*) refuse "firejail cannot take the name of the mount $dir; rename it" ;;
	*\\*) # \040 is a blank
		# shellcheck disable=SC2059 # which the format undoes
		dir=$(printf "$dir")
		;;
	esac
	case $dir in
	"$ws" | "$ws"/*) continue ;;
	*[\\\&\!\?\"\'\<\>%^\{\}\;,\*\[\]\#~]* | *:*) refuse "firejail cannot take the name of the mount $dir; rename it" ;;
	esac
	[ ! -e "$dir" ] || set -- --read-only="$dir" "$@"
done </proc/self/mountinfo
run firejail --quiet --noprofile --caps.drop=all --nonewprivs --seccomp \
	--private-dev --blacklist=/var/tmp --disable-mnt --ipc-namespace \
	--allow-debuggers --read-only=/ "$@"
