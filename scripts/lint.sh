#!/usr/bin/env bash
# Everything that can be said about the sources without running them.
# shellcheck disable=SC2317 # the functions are called by name, through check
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
failed=0

# check NAME COMMAND… runs a linter and goes on after a failure, so that one
# run shows all that is wrong.
check() {
	local name=$1
	shift
	if "$@"; then
		echo "lint: $name ok"
	else
		echo "lint: $name FAILED" >&2
		failed=1
	fi
}

# gofumpt exits 0 whatever it finds; its list of files must be empty.
formatted() {
	local files
	files=$(bin/tools/gofumpt -l .) || return 1
	[ -z "$files" ] && return
	echo "not formatted (bin/tools/gofumpt -w FILE):"
	echo "$files"
	return 1
}

shell_scripts() {
	find . -name '*.sh' -not -path './.git/*' -not -path '*/node_modules/*' -print
	echo .ci/run
}

# build OS ARCH: the other systems get stubs that refuse, and have to compile,
# tests included.
build() {
	CGO_ENABLED=0 GOOS=$1 GOARCH=$2 "$go" build ./... &&
		CGO_ENABLED=0 GOOS=$1 GOARCH=$2 "$go" vet ./...
}

scripts_clean() {
	local files
	mapfile -t files < <(shell_scripts)
	shellcheck "${files[@]}"
}

check gofumpt formatted
check vet "$go" vet ./...
check "vet sandbox/filter/gen" "$go" -C sandbox/filter/gen vet ./...
check staticcheck bin/tools/staticcheck ./...
check shellcheck scripts_clean
check linux/arm64 build linux arm64
check darwin/arm64 build darwin arm64
check windows/amd64 build windows amd64
exit "$failed"
