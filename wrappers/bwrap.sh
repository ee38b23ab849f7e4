#!/bin/sh
# Wrapper "bwrap" of sbx: runs its arguments as one program, confined to
# $PEPE_SANDBOX_CWD by bubblewrap. Configure the path of this file; it is
# called as: bwrap.sh PROGRAM ARG…
# Written by "sbx wrapper install bwrap", which overwrites changes. It heeds:
#
#   PEPE_SANDBOX_NET   bridge (default): the network is on; none; allow:HOST,…
#   PEPE_SANDBOX_MEM   512m, 2g: memory of the command and all that it starts
#   SBX_RESULT         a file for the record of the run
set -u

sbx='@SBX@'

# 125 says that nothing was run. There is no way on to an unconfined run.
refuse() {
	printf 'sbx: refused: %s\n' "$1" >&2
	exit 125
}

[ -n "${PEPE_SANDBOX_CWD:-}" ] ||
	refuse 'PEPE_SANDBOX_CWD is not set; set it to the absolute path of the directory the command may write to'

if [ ! -f "$sbx" ] || [ ! -x "$sbx" ]; then
	refuse "no program at $sbx; install sbx there, or run \"sbx wrapper install bwrap\" again"
fi

exec "$sbx" exec --backend bwrap -- "$@"
