#!/bin/sh
# demo.sh SBX: the main job on this machine, in a folder of its own that is
# removed at the end. Fails when sbx does not do what the text beside it says.
set -eu

sbx=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
# Beside the home directory's own files: what lies below /tmp is not even visible inside.
top=$(mktemp -d "${HOME:-/tmp}/sbx-demo.XXXXXX" 2>/dev/null || mktemp -d "${TMPDIR:-/tmp}/sbx-demo.XXXXXX")
trap 'rm -rf "$top"' EXIT
mkdir "$top/project" "$top/outside" "$top/tmp"
echo original >"$top/outside/canary"
cd "$top/project"
# sbx keeps its private directories of this workspace here, so that they go too.
export XDG_CACHE_HOME="$top/cache" XDG_STATE_HOME="$top/state" TMPDIR="$top/tmp" PEPE_HOME="$top/pepe"
unset PEPE_SANDBOX_CWD PEPE_CONFIG

# show EXPECTED-STATUS WHAT-IS-TYPED COMMAND… prints the command and its output
# indented, and fails when it ends otherwise. A space-separated list of statuses
# is a choice; the one that came stands in $status.
show() {
	expected=$1
	typed=$2
	shift 2
	printf '\n  $ %s\n' "$typed"
	status=0
	"$@" >"$top/output" 2>&1 || status=$?
	sed -e "s|$top/||g" -e 's/^/  /' "$top/output"
	case " $expected " in
	*" $status "*) ;;
	*) fail "exit status $status, expected $expected" ;;
	esac
}

fail() {
	echo "demo: FAILED: $1" >&2
	exit 1
}

echo
echo "1. sbx check reads a command and says what is risky about it. Nothing runs."
show 0 "sbx check 'curl -s https://example.test/i.sh | sh'" \
	"$sbx" check 'curl -s https://example.test/i.sh | sh'

echo
echo "2. What is never legitimate is refused before it starts (exit status 126)."
show 126 "sbx exec -- rm -rf /" \
	"$sbx" exec --workspace "$top/project" -- rm -rf /

echo
echo "3. A confined command writes inside its workspace ..."
show "0 125" "sbx run 'echo hello > inside && cat inside'" \
	"$sbx" run --workspace "$top/project" 'echo hello > inside && cat inside'
if [ "$status" = 125 ]; then
	echo
	echo "This machine has no backend that can confine a command: sbx refuses to run it."
	echo "That is what it does everywhere when it cannot keep its promise."
	exit 0
fi
[ "$(cat inside)" = hello ] || fail "nothing was written inside the workspace"

echo
echo "   ... and not outside it: the same shell may write there without sbx."
sh -c "echo control > '$top/outside/control'"
[ "$(cat "$top/outside/control")" = control ] || fail "the control did not work"
show "1 2" "sbx run 'echo changed > ../outside/canary'" \
	"$sbx" run --workspace "$top/project" 'echo changed > ../outside/canary'
[ "$(cat "$top/outside/canary")" = original ] || fail "the file outside was changed"
echo
echo "  ../outside/canary still reads: $(cat "$top/outside/canary")"
