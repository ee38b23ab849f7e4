#!/bin/bash
# The first process of the machine that arm64.sh starts.
export PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=xterm LANG=C
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2>/dev/null
mkdir -p /dev/pts /dev/shm /srv /opt
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
# /run is no mount of its own, and /tests is read-only: firejail leaves what else is
# mounted on the host writable, on every architecture, and sbx refuses to start then.
mount -t cgroup2 cgroup /sys/fs/cgroup
mount -t mqueue mqueue /dev/mqueue 2>/dev/null
ln -sfn /proc/self/fd /dev/fd
for n in 0:stdin 1:stdout 2:stderr; do ln -sfn "/proc/self/fd/${n%:*}" "/dev/${n#*:}"; done
ip link set lo up
ip address add 198.51.100.7/32 dev lo # some tests connect to an address that is not of the loopback
hostname arm64
cd /tests || exit
uname -a
cat /sys/kernel/security/lsm 2>/dev/null
scripts/test-machine.sh make

# tests PACKAGE [FLAG…] runs the tests of one package.
tests() (
	cd "/tests/sandbox/$1" || exit
	case $1 in probes) PATH=/tests/go:$PATH ;; esac
	echo "arm64: tests of sandbox/$1"
	"./$1.test" -test.short -test.timeout 3h "${@:2}" || { echo "arm64: sandbox/$1 FAILED"; exit 1; }
)
export -f tests
export SBX_REQUIRE=direct,bwrap,firejail
bash -c "$(cat command)" 2>&1
echo "arm64: ended: $?"
sync
echo o >/proc/sysrq-trigger
sleep 60
