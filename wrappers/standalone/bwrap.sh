#!/bin/sh
# Wrapper "bwrap", for machines without sbx: runs its arguments as one program,
# confined to $PEPE_SANDBOX_CWD by bubblewrap. Configure the path of this file; it
# is called as: bwrap.sh PROGRAM ARG…
# Written by "sbx wrapper install --standalone bwrap", which overwrites changes. It heeds:
#
#   PEPE_SANDBOX_NET   bridge (default): the network is on; none
# shellcheck shell=sh disable=SC2154 # the common part assigns them
# shellcheck disable=SC2034,SC2317 # what is common is not used by each, or called by name
set -u

@COMMON@
@HIDE@

command -v bwrap >/dev/null || refuse 'there is no program bwrap; install bubblewrap'

# Options are put before what is there already, so that this reads from below: a
# later mount lies over an earlier one. A shell inside answers 126 and 127.
# shellcheck disable=SC2016 # for that shell
set -- --chdir "$ws" -- sh -c 'exec "$@"' sh "$@"
[ -z "$script" ] || set -- --ro-bind "$script" "$script" "$@"
set -f
IFS=$nl
for dir in $shared; do
	set -- --bind "$dir" "$dir" "$@"
done
set -- --bind "$ws" "$ws" "$@"
for path in $secrets; do
	if [ -d "$path" ]; then
		set -- --tmpfs "$path" --remount-ro "$path" "$@"
	else
		set -- --ro-bind /dev/null "$path" "$@"
	fi
done
unset IFS
set +f
# Sockets of services lie in /run; names are looked up with a file that may, too.
resolve=$(readlink -f /etc/resolv.conf)
case $resolve in
/run/*) set -- --ro-bind "$resolve" "$resolve" "$@" ;;
esac
if [ -d "$tmp" ]; then
	set -- --bind "$tmp" /tmp "$@"
else
	set -- --tmpfs /tmp "$@"
fi
[ "$net" = none ] || set -- --share-net "$@"
run bwrap --unshare-all --die-with-parent --new-session --cap-drop ALL \
	--ro-bind / / --dev /dev --proc /proc --ro-bind /proc/sys /proc/sys \
	--ro-bind-try /dev/null /proc/timer_list \
	--tmpfs /run --tmpfs /var/tmp --setenv TMPDIR /tmp "$@"
