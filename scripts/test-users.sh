#!/usr/bin/env bash
# Accounts of ordinary users for the tests (package testuser), made before the tests
# run: while they do, /etc/passwd must not change. They have no password, and a home
# directory only while a test uses them. Needs root.
#
#   scripts/test-users.sh run COMMAND…   with the accounts there; the last run that
#                                        ends takes them away
#   scripts/test-users.sh make           they stay
#   scripts/test-users.sh remove         but those that a test is using
set -euo pipefail
count=8
first=47110 # their numbers: not the next ones, which a person on this machine gets
locks=/run/sbx-test-users

if [ "$(id -u)" -ne 0 ]; then
	echo "test-users: error: it needs root" >&2
	exit 1
fi

make_users() {
	local i
	mkdir -p "$locks"
	chmod 700 "$locks"
	for ((i = 0; i < count; i++)); do
		id "sbx-test-$i" >/dev/null 2>&1 ||
			useradd --user-group --no-create-home --home-dir "/home/sbx-test-$i" --shell /bin/sh --uid $((first + i)) "sbx-test-$i"
	done
}

remove_users() {
	local i stay=0
	[ -d "$locks" ] || return 0
	for ((i = 0; i < count; i++)); do
		id "sbx-test-$i" >/dev/null 2>&1 || continue
		if ! flock --nonblock "$locks/sbx-test-$i" userdel "sbx-test-$i"; then
			echo "test-users: sbx-test-$i is in use and stays" >&2
			stay=1
		fi
	done
	[ $stay -ne 0 ] || rm -rf "$locks"
}

# One at a time; and each run holds the second lock together with the other runs.
mkdir -p /run/lock
exec 8>/run/lock/sbx-test-users 9>/run/lock/sbx-test-runs
case ${1:-} in
run)
	shift
	flock 8
	flock --shared 9
	make_users
	flock --unlock 8
	status=0
	"$@" 8>&- 9>&- || status=$?
	flock 8
	flock --unlock 9
	if flock --nonblock 9; then
		remove_users
	fi
	exit $status
	;;
make | remove)
	flock 8
	"$1_users"
	;;
*)
	sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
	exit 1
	;;
esac
