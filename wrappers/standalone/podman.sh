#!/bin/sh
# Wrapper "podman", for machines without sbx: runs its arguments as one program in
# a container that can write to $PEPE_SANDBOX_CWD alone. Configure the path of this
# file; it is called as: podman.sh PROGRAM ARG…
# Written by "sbx wrapper install --standalone podman", which overwrites changes. It heeds:
#
#   PEPE_SANDBOX_IMAGE    image (python:3.12-slim)
#   PEPE_SANDBOX_NET      bridge (default): the network is on; none
#   PEPE_SANDBOX_MEM      512m (default), 2g: memory of the command and all that it starts
#   PEPE_SANDBOX_CPUS     1 (default): processors at a time
# shellcheck shell=sh disable=SC2154 # the common part assigns them
# shellcheck disable=SC2034,SC2317 # what is common is not used by each, or called by name
set -u

@COMMON@

engine=podman

@CONTAINER@
