#!/usr/bin/env bash
# Runs tests on a Linux kernel for arm64, in an emulated machine: what package spawn
# has in assembly and the backends that stand on it cannot be tried elsewhere.
#
#   scripts/arm64.sh DIR [COMMAND]
#
# DIR keeps what Debian has to give, fetched once: kernels and packages. COMMAND is a
# line for the shell of root in the machine, where "tests PACKAGE [FLAG…]" runs the
# tests of a package below sandbox. Without one all that were built are run; they try
# all as root and as an ordinary user. The status is that of the command.
#
#   SUITE=bookworm scripts/arm64.sh DIR    an older kernel: 6.1, whose Landlock is too old for the tier landlock
#
# Needs qemu-system-arm beside what test-deps.sh installs, and the apt-get of a Debian,
# whose own packages stay as they are. It needs no root.
set -euo pipefail
export PATH=$PATH:/usr/sbin:/sbin
[ $# -ge 1 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
suite=${SUITE:-bookworm-backports}
for program in qemu-system-aarch64 apt-get dpkg-deb mke2fs busybox unshare xz; do
	command -v $program >/dev/null || { echo "arm64: error: there is no $program here" >&2; exit 1; }
done
run=$(mktemp -d "$dir/run-XXXXXX")
trap 'rm -rf "$run"' EXIT
cd "$(dirname "$0")/.."

# The tests that are built, by the directory below sandbox.
tests=(spawn notify egress under direct bwrap firejail probes)
command=${2:-failed=0; for t in ${tests[*]}; do tests \$t || failed=1; done; exit \$failed}
packages=(
	attr base-files base-passwd bash bubblewrap busybox-static coreutils dash diffutils
	findutils firejail gawk git grep gzip hostname iproute2 kmod less libc-bin login mount
	ncurses-base passwd procps python3 sed tar util-linux vim-tiny
)
# What the machine must load to find its disks, in this order.
modules=(
	drivers/virtio/{virtio_pci_modern_dev,virtio_pci_legacy_dev,virtio_pci} drivers/block/virtio_blk
	lib/crc16 crypto/crc32c_generic lib/libcrc32c fs/mbcache fs/jbd2/jbd2 fs/ext4/ext4 fs/overlayfs/overlay
)

# fetch brings the packages of an arm64 Debian, and those they need, into
# archives/, with a package system of its own.
fetch() {
	local apt=$dir/apt s
	mkdir -p "$apt"/{etc/apt.conf.d,etc/preferences.d,state/lists/partial,cache/archives/partial}
	: >"$apt/status"
	for s in bookworm bookworm-backports; do
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $s main"
	done >"$apt/sources.list"
	cat >"$apt/conf" <<-END
		APT::Architecture "arm64";
		APT::Architectures { "arm64"; };
		APT::Install-Recommends "false";
		APT::Sandbox::User "root";
		Acquire::Languages "none";
		Dir "$apt";
		Dir::State "$apt/state";
		Dir::State::status "$apt/status";
		Dir::Cache "$apt/cache";
		Dir::Etc "$apt/etc";
		Dir::Etc::sourcelist "$apt/sources.list";
	END
	export APT_CONFIG=$apt/conf
	apt-get update -q
	apt-get install -y -q --download-only "${packages[@]}"
	mkdir -p "$dir/archives"
	mv "$apt"/cache/archives/*.deb "$dir/archives/"
	for s in bookworm bookworm-backports; do
		(cd "$dir" && apt-get download -q "$(apt-cache depends -t $s linux-image-arm64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p')" && mkdir -p $s && mv linux-image-*.deb $s/)
	done
}

# unpack makes the root file system: packages without their scripts, which would
# have to be run by an emulator, and what those would have made.
unpack() {
	local root=$dir/root d file
	mkdir -p "$root"
	for d in bin sbin lib; do
		mkdir -p "$root/usr/$d"
		ln -s "usr/$d" "$root/$d"
	done
	for file in "$dir"/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$file" | tar -x -p --no-same-owner --keep-directory-symlink -C "$root" --exclude ./usr/share/doc --exclude ./usr/share/man --exclude ./usr/share/locale
	done
	cp "$root/usr/share/base-passwd/passwd.master" "$root/etc/passwd"
	cp "$root/usr/share/base-passwd/group.master" "$root/etc/group"
	sed 's/:.*/:*:19000:0:99999:7:::/' "$root/etc/passwd" >"$root/etc/shadow"
	echo "127.0.0.1 localhost" >"$root/etc/hosts"
	ln -s gawk "$root/usr/bin/awk"
	ln -s vim.tiny "$root/usr/bin/vim"
	mkdir -p "$root"/{tests,proc,sys,dev,run,root,tmp,var/tmp,home}
	chmod 1777 "$root/tmp" "$root/var/tmp"
	# As long as nobody is root here but in a namespace, files are root's there.
	unshare -r mke2fs -q -F -t ext4 -d "$root" "$dir/root.img" 2G
	rm -r "$root"
}

# boot_files makes the kernel and its first file system, which finds the other.
boot_files() {
	local at=$dir/$suite m
	dpkg-deb -x "$at"/linux-image-*.deb "$at/unpacked"
	mv "$at"/unpacked/boot/vmlinuz-* "$at/kernel"
	mkdir -p "$at/initrd"/{bin,dev,root}
	dpkg-deb --fsys-tarfile "$dir"/archives/busybox-static_*.deb | tar -x -O ./bin/busybox >"$at/initrd/bin/busybox"
	chmod 755 "$at/initrd/bin/busybox"
	{
		echo '#!/bin/busybox sh'
		echo '/bin/busybox mount -t devtmpfs dev /dev'
		for m in "${modules[@]}"; do
			m=$(find "$at/unpacked/" -path "*/kernel/$m.ko*")
			[ -n "$m" ] || continue # part of the kernel, or of another module
			case $m in *.xz) xz -d "$m" ;; esac
			cp "${m%.xz}" "$at/initrd/"
			echo "/bin/busybox insmod /$(basename "${m%.xz}")"
		done
		echo 'until [ -e /dev/vda ] && [ -e /dev/vdb ]; do :; done'
		echo '/bin/busybox mount -t ext4 /dev/vda /root'
		echo '/bin/busybox mount -t ext4 -o ro /dev/vdb /root/tests'
		echo 'exec /bin/busybox switch_root /root /tests/scripts/arm64-init.sh'
	} >"$at/initrd/init"
	chmod 755 "$at/initrd/init"
	(cd "$at/initrd" && find . | busybox cpio -o -H newc) >"$at/initrd.cpio"
	rm -r "$at/unpacked" "$at/initrd"
}

# build makes the disk with the tests.
build() {
	local to=$run/tests t
	rm -rf "$to"
	mkdir -p "$to"
	git ls-files sandbox testuser scripts go.mod | tar -c -T - | tar -x -C "$to"
	for t in "${tests[@]}"; do
		CGO_ENABLED=0 GOARCH=arm64 go test -c -o "$to/sandbox/$t/$t.test" "./sandbox/$t"
	done
	CGO_ENABLED=0 GOARCH=arm64 go build -o "$to/bin/" ./cmd/...
	# What the tests of package probes build is there already: go build -o FILE PACKAGE.
	mkdir "$to/go"
	# shellcheck disable=SC2016 # for the shell there
	printf '#!/bin/sh\ncp "/tests/bin/$(basename "$4")" "$3"\n' >"$to/go/go"
	chmod 755 "$to/go/go"
	printf '%s\n' "$command" >"$to/command"
	rm -f "$run/tests.img"
	unshare -r mke2fs -q -F -t ext4 -d "$to" "$run/tests.img" 1G
}

[ -e "$dir/bookworm-backports" ] || fetch
[ -e "$dir/root.img" ] || unpack
[ -e "$dir/$suite/initrd.cpio" ] || boot_files
build
nice -n 15 qemu-system-aarch64 -M virt -cpu max,pauth-impdef=on -m 2G -smp 1 -nographic -no-reboot -nic none \
	-kernel "$dir/$suite/kernel" -initrd "$dir/$suite/initrd.cpio" -append "console=ttyAMA0 quiet panic=-1" \
	-drive "file=$dir/root.img,format=raw,if=virtio,snapshot=on" -drive "file=$run/tests.img,format=raw,if=virtio,snapshot=on" </dev/null | tee "$run/log"
status=$(sed -n 's/^arm64: ended: \([0-9]*\).*/\1/p' "$run/log")
exit "${status:-1}"
