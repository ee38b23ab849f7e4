#!/bin/sh
# Wrapper "macos", for machines without sbx: runs its arguments as one program,
# confined to $PEPE_SANDBOX_CWD by sandbox-exec. Configure the path of this file; it
# is called as: macos.sh PROGRAM ARG…
# Written by "sbx wrapper install --standalone macos", which overwrites changes. It heeds:
#
#   PEPE_SANDBOX_NET   bridge (default): the network is on; none
# shellcheck shell=sh disable=SC2154 # the common part assigns them
# shellcheck disable=SC2034,SC2317 # what is common is not used by each, or called by name
set -u

@COMMON@

command -v sandbox-exec >/dev/null || refuse 'there is no program sandbox-exec; it is a part of macOS'

# Paths are parameters, never text of the profile: no name can add a rule.
scratch=$(mktemp -d "${TMPDIR:-/tmp}/sandbox.XXXXXX") || refuse 'no temp directory can be made'
scratch=$(cd -P -- "$scratch" && pwd -P)
clean_up() { rm -rf -- "$scratch"; }
network='(deny network*)'
[ "$net" = none ] || network=
profile='(version 1)
(allow default)
'$network'
(deny file-write*)
(allow file-write*
	(subpath (param "WORKSPACE")) (subpath (param "SCRATCH"))
	(literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/dtracehelper")
	(regex #"^/dev/ttys[0-9]+$"))
(deny file-read* file-write*
	(subpath (param "SSH")) (subpath (param "GNUPG")) (subpath (param "AWS")) (subpath (param "DOCKER"))
	(subpath (param "KUBE")) (subpath (param "CONFIG_GH")) (subpath (param "GCLOUD")) (subpath (param "KEYCHAINS"))
	(subpath (param "COOKIES")) (subpath (param "PEPE")) (literal (param "NETRC")) (literal (param "NPMRC"))
	(literal (param "PYPIRC")) (literal (param "GIT_CREDENTIALS")) (literal (param "PGPASS")))
(deny file-write*
	(subpath (param "HOOKS")) (literal (param "GIT_CONFIG")))
'
TMPDIR=$scratch
export TMPDIR
cd -- "$ws" || refuse "the workspace $ws cannot be entered"
run sandbox-exec \
	-D WORKSPACE="$ws" -D SCRATCH="$scratch" -D HOOKS="$ws/.git/hooks" -D GIT_CONFIG="$ws/.git/config" \
	-D SSH="$home/.ssh" -D GNUPG="$home/.gnupg" -D AWS="$home/.aws" -D DOCKER="$home/.docker" \
	-D KUBE="$home/.kube" -D CONFIG_GH="$home/.config/gh" -D GCLOUD="$home/.config/gcloud" \
	-D KEYCHAINS="$home/Library/Keychains" -D COOKIES="$home/Library/Cookies" -D PEPE="$home/.pepe" \
	-D NETRC="$home/.netrc" -D NPMRC="$home/.npmrc" -D PYPIRC="$home/.pypirc" \
	-D GIT_CREDENTIALS="$home/.git-credentials" -D PGPASS="$home/.pgpass" \
	-p "$profile" "$@"
