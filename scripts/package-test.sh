#!/usr/bin/env bash
# package-test.sh DIR: installs the Debian package in DIR (made by `make dist`) on
# this machine, lets it prove itself, and takes it away; unpacks the tarball and does
# the same under another name. As root.
set -euo pipefail
dir=$(cd "$1" && pwd)
arch=$(dpkg --print-architecture)
(cd "$dir" && sha256sum --check --quiet --ignore-missing SHA256SUMS)

if dpkg -s sbx >/dev/null 2>&1 || [ -e /usr/bin/sbx ]; then
	echo "package-test: there is an sbx on this machine; it is left alone" >&2
	exit 1
fi
home=$(mktemp -d)
trap 'dpkg -P sbx >/dev/null 2>&1 || true; rm -rf "$home"' EXIT
export HOME=$home XDG_CACHE_HOME=$home/cache XDG_STATE_HOME=$home/state
cd "$home"

dpkg -i "$dir"/sbx_*_"$arch".deb >/dev/null
sbx --version
sbx probe
sbx doctor >/dev/null
man -w sbx-exec >/dev/null
test -f /usr/share/bash-completion/completions/sbx
test -x /usr/libexec/sbx/sbx-proxy
# The helpers are found where the package puts them.
mkdir project
sbx exec --workspace "$home/project" --network allow: -- true
dpkg -P sbx >/dev/null
for left in /usr/bin/sbx /usr/bin/sbx-exec /usr/libexec/sbx; do
	if [ -e "$left" ]; then
		echo "package-test: $left is left" >&2
		exit 1
	fi
done

# From the tarball, under the name sbx2, for who has another sbx.
tar -xzf "$dir"/sbx-*-linux-"$arch".tar.gz
tree=$(echo "$home"/sbx-*-linux-"$arch")
mkdir built
cp "$tree/bin/sbx" "$tree"/libexec/sbx/* built/
HELPERS=$(ls "$tree/libexec/sbx")
export HELPERS
"$OLDPWD/scripts/install.sh" built "$home/prefix" sbx2
./prefix/bin/sbx2 exec --workspace "$home/project" --network allow: -- true
PEPE_SANDBOX_CWD=$home/project ./prefix/bin/sbx2-exec touch made
test -f project/made
"$OLDPWD/scripts/install.sh" --remove "$home/prefix" sbx2
if [ -n "$(find prefix -type f)" ]; then
	echo "package-test: files are left: $(find prefix -type f)" >&2
	exit 1
fi
echo "the packages work"
