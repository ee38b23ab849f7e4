#!/usr/bin/env bash
# Runs every fuzz target of the module, or of the packages that are given, for
# FUZZTIME each. The targets are found by listing, so that a new one cannot be
# forgotten.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
time=${FUZZTIME:-30s}
[ $# -gt 0 ] || set -- ./...
found=0

while read -r package dir; do
	# To build the tests of every package only to list them takes a minute.
	grep -qs '^func Fuzz' "$dir"/*_test.go || continue
	listed=$("$go" test -list '^Fuzz' "$package")
	while read -r target; do
		found=$((found + 1))
		echo "fuzz: $package $target $time"
		"$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package"
	done < <(grep '^Fuzz' <<<"$listed" || true)
done < <("$go" list -f '{{.ImportPath}} {{.Dir}}' "$@")

if [ "$found" -eq 0 ]; then
	echo "fuzz: no target found" >&2
	exit 1
fi
echo "fuzz: $found targets, $time each"
