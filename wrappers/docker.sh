#!/bin/sh
# Wrapper "docker" of sbx: runs its arguments as one program, in a container of
# Docker that can write to $PEPE_SANDBOX_CWD alone. Configure the path of this file; it is
# called as: docker.sh PROGRAM ARG…
# Written by "sbx wrapper install docker", which overwrites changes. It heeds:
#
#   PEPE_SANDBOX_IMAGE    image (python:3.12-slim)
#   PEPE_SANDBOX_NET      bridge (default): the network is on; none; allow:HOST,…
#   PEPE_SANDBOX_MEM      512m (default), 2g: memory of the command and all that it starts
#   PEPE_SANDBOX_CPUS     1 (default): processors at a time
#   PEPE_SANDBOX_RUNTIME  docker (default), or podman
#   SBX_RESULT            a file for the record of the run
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
	refuse "no program at $sbx; install sbx there, or run \"sbx wrapper install docker\" again"
fi

# The engine is one of two words: nothing in the environment can turn the
# container off.
case ${PEPE_SANDBOX_RUNTIME:-docker} in
docker | podman) ;;
*) refuse "PEPE_SANDBOX_RUNTIME is \"$PEPE_SANDBOX_RUNTIME\"; set it to docker or podman" ;;
esac

exec "$sbx" exec --backend "${PEPE_SANDBOX_RUNTIME:-docker}" -- "$@"
