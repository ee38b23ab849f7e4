#!/usr/bin/env bash
# What the tests of several packages share on this machine, made before they run, so
# that none makes it or takes it away while another needs it:
#
# - accounts of ordinary users (package testuser), without a password, and with a
#   home directory only while a test uses them: a command that is confined while
#   /etc/passwd changes cannot read the new one;
# - /run/sshd, where each sshd locks itself up.
#
#   scripts/test-machine.sh run COMMAND…  the last run that ends takes all away;
#                                         without root it only runs the command
#   scripts/test-machine.sh make          it stays
#   scripts/test-machine.sh remove        but the accounts that a test is using
set -euo pipefail
count=8
first=47110 # their numbers: not the next ones, which a person on this machine gets
locks=/run/sbx-test-users

make_all() {
	local i
	mkdir -p "$locks"
	chmod 700 "$locks"
	if [ ! -d /run/sshd ]; then
		mkdir /run/sshd
		touch "$locks/sshd" # it is ours
	fi
	for ((i = 0; i < count; i++)); do
		id "sbx-test-$i" >/dev/null 2>&1 ||
			useradd --user-group --no-create-home --home-dir "/home/sbx-test-$i" --shell /bin/sh --uid $((first + i)) "sbx-test-$i"
	done
}

remove_all() {
	local i stay=0
	[ -d "$locks" ] || return 0
	[ ! -e "$locks/sshd" ] || rmdir /run/sshd || true
	for ((i = 0; i < count; i++)); do
		id "sbx-test-$i" >/dev/null 2>&1 || continue
		if ! flock --nonblock "$locks/sbx-test-$i" userdel "sbx-test-$i"; then
			echo "test-machine: sbx-test-$i is in use and stays" >&2
			stay=1
		fi
	done
	[ $stay -ne 0 ] || rm -rf "$locks"
}

verb=${1:-}
shift || true
if [ "$verb" = run ] && [ "$(id -u)" -ne 0 ]; then
	exec "$@"
fi
if [ "$(id -u)" -ne 0 ]; then
	echo "test-machine: error: it needs root" >&2
	exit 1
fi
# The first lock is for what changes the machine; the second is held by all runs
# together while they run.
mkdir -p /run/lock
exec 8>/run/lock/sbx-test-machine 9>/run/lock/sbx-test-runs
flock 8
case $verb in
run)
	flock --shared 9
	make_all
	flock --unlock 8
	status=0
	"$@" 8>&- 9>&- || status=$?
	flock 8
	flock --unlock 9
	if flock --exclusive --nonblock 9; then
		remove_all
	fi
	exit $status
	;;
make | remove) "${verb}_all" ;;
*)
	echo "test-machine: error: say run COMMAND…, make or remove" >&2
	exit 1
	;;
esac
