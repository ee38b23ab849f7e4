#!/usr/bin/env bash
# reproducible.sh: builds `make dist` from two copies of this commit, in directories
# with other names, by another umask and in another locale and time zone, and
# compares. ARCHES as in dist.sh. With KEEP=DIR one of them is kept there.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
VERSION=$(git describe --tags --always)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
for copy in a "another one"; do
	mkdir -p "$work/$copy"
	git archive HEAD | tar -x -C "$work/$copy"
done
make -s -C "$work/a" dist VERSION="$VERSION"
(
	umask 077
	GOCACHE=$(go env GOCACHE) GOMODCACHE=$(go env GOMODCACHE)
	export GOCACHE GOMODCACHE TZ=Asia/Tokyo LANG=C.UTF-8 HOME="$work/home"
	make -s -C "$work/another one" dist VERSION="$VERSION"
)
diff "$work/a/dist/SHA256SUMS" "$work/another one/dist/SHA256SUMS"
cat "$work/a/dist/SHA256SUMS"
if [ -n "${KEEP:-}" ]; then
	mkdir -p "$KEEP"
	cp "$work"/a/dist/* "$KEEP"
fi
echo "both builds gave the same bytes"
