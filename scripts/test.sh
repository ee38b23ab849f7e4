#!/usr/bin/env bash
# test.sh: runs all tests, and those of RACE_PACKAGES, and of RACE_DIRECT in direct,
# again under the race detector. As root with accounts for the tests.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}

if [ "$(id -u)" -eq 0 ] && [ -z "${SBX_TEST_USERS:-}" ]; then
	SBX_TEST_USERS=made exec scripts/test-users.sh run "$0"
fi
"$go" test -timeout 20m -p 1 ./...
# shellcheck disable=SC2086 # a list of words on purpose
"$go" test -timeout 20m -p 1 -race $RACE_PACKAGES
"$go" test -timeout 20m -race -run "$RACE_DIRECT" ./sandbox/direct
