#!/bin/sh
# Wrapper "ssh" of sbx: runs its arguments as one program, on another machine,
# confined to $PEPE_SANDBOX_CWD there. Configure the path of this file; it is
# called as: ssh.sh PROGRAM ARG…
# Written by "sbx wrapper install ssh", which overwrites changes. It heeds:
#
#   PEPE_SANDBOX_SSH_HOST       the machine, as for ssh: user@host, or a name of ~/.ssh/config
#   PEPE_SANDBOX_SSH_WORKSPACE  sync (default): what has changed is carried over; shared: the same files
#   PEPE_SANDBOX_SSH_OPTIONS    further options of ssh
#   PEPE_SANDBOX_SSH_DIR        with sync: the workspace there
#   PEPE_SANDBOX_NET            bridge (default): the network is on there; none; allow:HOST,…
#   PEPE_SANDBOX_MEM            512m, 2g: memory of the command and all that it starts
#   SBX_RESULT                  a file for the record of the run
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
	refuse "no program at $sbx; install sbx there, or run \"sbx wrapper install ssh\" again"
fi

exec "$sbx" exec --backend ssh -- "$@"
