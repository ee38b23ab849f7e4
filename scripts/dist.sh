#!/usr/bin/env bash
# dist.sh DIR: builds what is given away, into DIR: for each architecture a tarball
# with static programs and a Debian package, and SHA256SUMS. The bytes depend on the
# sources, VERSION, SOURCE_DATE_EPOCH and the version of Go alone: not on the
# directory, the user, the time or the locale.
set -euo pipefail
export LC_ALL=C TZ=UTC
umask 022
out=$1
mkdir -p "$out"
out=$(cd "$out" && pwd)
version=${VERSION:?} # as git describes it
version=${version#v}
ARCHES=${ARCHES:-amd64 arm64}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build() { # ARCH DIR
	local name
	mkdir -p "$2"
	for name in sbx $HELPERS; do
		CGO_ENABLED=0 GOOS=linux GOARCH=$1 "$GO" build -trimpath -buildvcs=false \
			-ldflags "-s -w -buildid= -X github.com/sbx-run/sbx.release=$VERSION" -o "$2/$name" "./cmd/$name"
	done
}

# pack ARCHIVE DIR NAME: the tree DIR/NAME, always in the same order, of nobody.
pack() {
	tar --format=gnu --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$2" -cf - "$3" | gzip -9n >"$1"
}

debian() { # ARCH BUILT
	local root=$work/deb-$1 size
	HELPERS=$HELPERS RUN=$run scripts/install.sh "$2" "$root/usr" sbx
	mkdir -p "$root/usr/share/doc/sbx" "$root/DEBIAN"
	cp LICENSE "$root/usr/share/doc/sbx/copyright"
	cp README.md SECURITY.md "$root/usr/share/doc/sbx/"
	gzip -9n <CHANGELOG.md >"$root/usr/share/doc/sbx/changelog.gz"
	# Debian's zsh and its policy have their own directory for completions.
	mkdir -p "$root/usr/share/zsh/vendor-completions"
	mv "$root/usr/share/zsh/site-functions/_sbx" "$root/usr/share/zsh/vendor-completions/_sbx"
	rmdir "$root/usr/share/zsh/site-functions"
	chmod 644 "$root"/usr/share/doc/sbx/*
	size=$(du -k --apparent-size -s "$root/usr" | cut -f1)
	local deb=$version
	case $deb in [0-9]*) ;; *) deb=0~git.$deb ;; esac
	cat >"$root/DEBIAN/control" <<END
Package: sbx
Version: $(printf %s "$deb" | tr '_' '.')
Architecture: $1
Maintainer: sbx <maintainers@sbx-run.invalid>
Installed-Size: $size
Suggests: bubblewrap, docker.io | podman, openssh-client
Section: utils
Priority: optional
Homepage: https://github.com/sbx-run/sbx
Description: reads shell commands and runs them confined to one directory
 sbx reads the shell command that an agent or any automation wants to run, says
 what is risky about it, refuses the few that are never legitimate, takes the
 credentials out of the environment, and runs the rest confined.
END
	(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
	find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
	dpkg-deb --root-owner-group -Zgzip -b "$root" "$out/sbx_${version}_$1.deb" >/dev/null
}

build "$("$GO" env GOHOSTARCH)" "$work/run"
run=$work/run/sbx
rm -f "$out"/SHA256SUMS
made=()
for arch in $ARCHES; do
	name=sbx-$version-linux-$arch
	build "$arch" "$work/$arch"
	HELPERS=$HELPERS RUN=$run scripts/install.sh "$work/$arch" "$work/tree/$name" sbx
	cp LICENSE README.md SECURITY.md CHANGELOG.md "$work/tree/$name/"
	pack "$out/$name.tar.gz" "$work/tree" "$name"
	made+=("$name.tar.gz")
	if command -v dpkg-deb >/dev/null; then
		debian "$arch" "$work/$arch"
		made+=("sbx_${version}_$arch.deb")
	fi
done
(cd "$out" && sha256sum "${made[@]}" >SHA256SUMS)
echo "made in $out: ${made[*]} SHA256SUMS"
