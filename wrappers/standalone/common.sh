# shellcheck shell=sh disable=SC2034 # a part of the other scripts
# What all of these scripts have in common. 125 says that nothing was run.
refuse() {
	printf 'sandbox: refused: %s\n' "$1" >&2
	exit 125
}

[ $# -gt 0 ] || refuse 'no program to run'
case ${PEPE_SANDBOX_CWD:-} in
/*) ;;
*) refuse 'PEPE_SANDBOX_CWD is not set; set it to the absolute path of the directory the command may write to' ;;
esac
nl='
'
# Without symbolic links. The dot keeps a line break at the end of a name.
ws=$(cd -P -- "$PEPE_SANDBOX_CWD" 2>/dev/null && pwd -P && echo .) ||
	refuse "PEPE_SANDBOX_CWD is no directory that can be entered: $PEPE_SANDBOX_CWD"
ws=${ws%"$nl."}
home=$(cd -P -- "${HOME:-/nonexistent}" 2>/dev/null && pwd -P) || home=/nonexistent
case $ws in
/home/*/* | /Users/*/*) ;; # deeper than a home directory
/ | /tmp | /var/tmp | /home | /home/* | /root | /Users | /Users/* | /private | /private/tmp | /var | /mnt | /media | /opt | /srv | /Volumes)
	refuse "the workspace $ws is a home directory or one of the system's; name a directory below it"
	;;
/bin | /bin/* | /boot | /boot/* | /dev | /etc | /etc/* | /lib | /lib/* | /lib64 | /lib64/* | /proc | /proc/* | /run | /run/* | /sbin | /sbin/* | /sys | /sys/* | /usr | /usr/* | /var/lib | /var/run/* | /System | /System/* | /Library | /Library/* | /Applications | /Applications/* | /private/etc | /private/etc/*)
	refuse "the workspace $ws is a directory of the system; name another one"
	;;
esac
case $ws in
"$home"/.ssh | "$home"/.ssh/* | "$home"/.gnupg | "$home"/.gnupg/* | "$home"/.aws | "$home"/.aws/* | "$home"/.config | "$home"/.config/* | "$home"/.docker | "$home"/.kube | "$home"/.pepe | "$home"/.local | "$home"/.local/bin | "$home"/Library)
	refuse "the workspace $ws holds what programs outside trust or keep secret; name another one"
	;;
esac
case $home/ in
"$ws"/*) refuse "the workspace $ws contains the home directory; name a directory below it" ;;
esac

net=${PEPE_SANDBOX_NET:-bridge}
case $net in
bridge | none) ;;
*) refuse "PEPE_SANDBOX_NET is \"$net\"; this script knows bridge (the network is on) and none" ;;
esac

# The script file that a runtime has written for this command: the argument
# after an interpreter, a file of the caller's in the temp directory.
script=
case ${1##*/} in
python3 | python | node | ruby | bash | sh | elixir)
	temp=${TMPDIR:-/tmp}
	case ${2:-} in
	/tmp/*/* | "${temp%/}"/*/*) ;;
	/tmp/* | "${temp%/}"/*)
		[ -z "$(find "$2" -prune -type f -user "$(id -u)" -links 1 2>/dev/null)" ] || script=$2
		;;
	esac
	;;
esac

# Directories to share beside the workspace, one a line, as sbx names them.
shared=${PEPE_SANDBOX_WRITE:-}
tmp=${PEPE_SANDBOX_TMP:-}

# clean_up ends what goes on without its client; a script may replace it.
clean_up() { :; }

# below prints the processes that the child has started, and theirs.
below() {
	{ ps -A -o pid= -o ppid= 2>/dev/null || ps -o pid= -o ppid=; } | awk -v top="$child" '
		{ parent[$1] = $2 }
		END {
			for (p in parent) {
				for (q = parent[p]; q in parent && q != top; q = parent[q]);
				if (q == top) print p
			}
		}'
}

# finish ends everything early: what is below first, since who starts it may end
# without ending that. A stopped program starts no more.
finish() {
	trap '' TERM INT HUP
	kill -STOP "$child" 2>/dev/null
	for try in 1 2 3 4 5; do
		left=$(below)
		[ -n "$left" ] || break
		# shellcheck disable=SC2086 # numbers
		kill -KILL $left 2>/dev/null
	done
	kill -KILL "$child" 2>/dev/null
	clean_up
	stop_watching
	exit "$1"
}

# watch sends TERM to this script when nobody reads its output any more. Only
# GNU tail notices that; without it the command goes on until it writes. Nothing
# waits for the second one, which outlives the first by a moment.
reader=
watch() {
	[ -p /dev/stdout ] && tail --version 2>/dev/null | grep -q GNU || return 0
	tail -f -s 0.5 --pid=$$ /dev/null 2>/dev/null &
	reader=$!
	(
		tail -f -s 0.5 --pid="$reader" /dev/null
		kill -TERM $$
	) >/dev/null 2>&1 </dev/null &
	watcher=$!
}

stop_watching() {
	[ -n "$reader" ] || return 0
	kill -KILL "$watcher" "$reader" 2>/dev/null
	wait "$reader" 2>/dev/null
}

# run runs a program, hands it this script's input, and exits as it does.
run() {
	exec 3<&0
	"$@" <&3 3<&- &
	child=$!
	exec 3<&-
	trap 'finish 143' TERM
	trap 'finish 130' INT
	trap 'finish 129' HUP
	watch
	wait "$child"
	status=$?
	trap '' TERM INT HUP
	clean_up
	stop_watching
	exit "$status"
}
