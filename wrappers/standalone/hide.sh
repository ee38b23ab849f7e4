# shellcheck shell=sh disable=SC2154,SC2034 # a part of bwrap.sh, firejail.sh and ssh.sh
# Where programs keep credentials, below the home directory and elsewhere.
home_places='@HOME_PLACES@'
system_places='@SYSTEM_PLACES@'

# What is there of these, one a line. A pattern is expanded at its place, never
# in the workspace.
secrets=$(
	set -f
	for place in $home_places $system_places; do
		set +f
		case $place in
		/*) set -- "" ;;
		*) set -- "$home/" ;;
		esac
		for path in "$1"$place; do
			[ ! -L "$path" ] || path=$(readlink -f -- "$path") || continue
			case $path in
			*"$nl"*) ;;
			*) [ ! -e "$path" ] || printf '%s\n' "$path" ;;
			esac
		done
		set -f
	done
	IFS=$nl
	for path in ${PEPE_SANDBOX_HIDE:-}; do
		[ ! -e "$path" ] || printf '%s\n' "$path"
	done
)
