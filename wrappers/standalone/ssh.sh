#!/bin/sh
# Wrapper "ssh", for machines without sbx: runs its arguments as one program on
# another machine, which sees $PEPE_SANDBOX_CWD at the same place, and confined
# there by another of these scripts. Configure the path of this file; it is called
# as: ssh.sh PROGRAM ARG…
# Written by "sbx wrapper install --standalone ssh", which overwrites changes. It heeds:
#
#   PEPE_SANDBOX_SSH_HOST     the machine, as for ssh: user@host, or a name of ~/.ssh/config
#   PEPE_SANDBOX_SSH_WRAPPER  the absolute path of the script there, such as bwrap.sh
#   PEPE_SANDBOX_SSH_OPTIONS  further options of ssh, words without blanks
#   PEPE_SANDBOX_NET          bridge (default): the network is on there; none
# The program has the environment of the login there.
# shellcheck shell=sh disable=SC2154 # the common part assigns them
# shellcheck disable=SC2034,SC2317 # what is common is not used by each, or called by name
set -u

@COMMON@
@HIDE@

command -v ssh >/dev/null || refuse 'there is no program ssh; install the OpenSSH client'
host=${PEPE_SANDBOX_SSH_HOST:-}
case $host in
'' | -*) refuse 'PEPE_SANDBOX_SSH_HOST names no machine; set it to user@host' ;;
esac
wrapper=${PEPE_SANDBOX_SSH_WRAPPER:-}
case $wrapper in
/*) ;;
*) refuse 'PEPE_SANDBOX_SSH_WRAPPER is not set; set it to the absolute path of a wrapper script on that machine, which confines the program there' ;;
esac

# quoted TEXT… prints one line of the other shell: inside single quotes nothing is
# special but the single quote. The dots keep line breaks at ends.
quoted() {
	for word; do
		word=$(printf '%s.' "$word" | sed "s/'/'\\\\''/g")
		printf "'%s' " "${word%.}"
	done
}

# The environment stays here: a command line can be read by everybody there. The
# script there hides the credentials of its own home; those of this one may lie in
# files that both machines have.
line=$(quoted env PEPE_SANDBOX_HIDE="$secrets" PEPE_SANDBOX_WRITE="$shared" PEPE_SANDBOX_TMP="$tmp" ${PEPE_SANDBOX_MEM:+"PEPE_SANDBOX_MEM=$PEPE_SANDBOX_MEM"} \
	PEPE_SANDBOX_CWD="$ws" PEPE_SANDBOX_NET="$net" "$wrapper" "$@")
tty=-T
[ ! -t 0 ] || [ ! -t 1 ] || tty=-t
set -f
# shellcheck disable=SC2086 # words on purpose
set -- ${PEPE_SANDBOX_SSH_OPTIONS:-} -- "$host" "exec $line"
set +f
run ssh "$tty" -a -x -e none -o BatchMode=yes -o StrictHostKeyChecking=yes -o ClearAllForwardings=yes \
	-o PermitLocalCommand=no -o ServerAliveInterval=5 -o ServerAliveCountMax=2 -o LogLevel=ERROR "$@"
