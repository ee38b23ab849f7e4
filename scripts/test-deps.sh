#!/usr/bin/env bash
# Makes sure that the programs which the tests run are on this machine. Installs
# the missing ones on Debian and Ubuntu as root or with sudo; elsewhere it says
# what to install. Changes nothing when all are there.
set -euo pipefail

# PACKAGE, what it is for, and the test that it is there.
needed=(
	"git|scripts: git init and commit in a sandbox|command -v git"
	"make|scripts: a build in a sandbox|command -v make"
	"gcc|scripts: a build in a sandbox; the race detector|command -v gcc"
	"libc6-dev|scripts: a build in a sandbox; the race detector|test -e /usr/include/stdio.h"
	"pkg-config|the filter's generator finds libseccomp|command -v pkg-config"
	"libseccomp-dev|the filter is compiled again and compared|test -e /usr/include/seccomp.h"
	"python3|scripts: a venv; probes of the sandbox|command -v python3"
	"python3-pip|tests of the network: pip|/usr/bin/python3 -m pip --version"
	"curl|scripts: the network|command -v curl"
	"wget|tests of the network|command -v wget"
	"openssh-client|tests of the backend ssh and of the network: git over ssh|command -v ssh"
	"openssh-server|tests of the backend ssh and of the network: git over ssh|test -x /usr/sbin/sshd"
	"default-jre-headless|tests of the network: Java|command -v java"
	"python3-venv|scripts: a venv|python3 -c 'import ensurepip, venv'"
	"nodejs|scripts: npm ci|command -v node"
	"npm|scripts: npm ci|command -v npm"
	"bash|reading: the reference shell|command -v bash"
	"dash|reading: the reference POSIX shell|command -v dash"
	"mksh|reading: the dialect mksh|command -v mksh"
	"zsh|reading: the dialect zsh; completion|command -v zsh"
	"fish|completion|command -v fish"
	"mandoc|the manual pages are checked|command -v mandoc"
	"busybox-static|a static program to confine|command -v busybox"
	"shellcheck|the wrapper scripts and our own|command -v shellcheck"
	"bubblewrap|tests of the backend bwrap; make bench compares with it|command -v bwrap"
	"firejail|tests of the backend and of the wrapper script firejail; make bench compares with it|command -v firejail"
	"vim|terminal: an editor in a sandbox|command -v vim"
	"less|terminal: a pager in a sandbox|command -v less"
	"procps|probes: ps, kill|command -v ps"
	"passwd|tests as an ordinary user: useradd|command -v useradd || test -x /usr/sbin/useradd"
	"docker.io|tests of the backend docker; make bench compares with it|command -v dockerd && command -v docker"
	"docker-registry|tests: an image is pulled|command -v docker-registry"
	"iptables|the bridge of the tests' dockerd|command -v iptables"
	"iproute2|the network namespace of the tests' dockerd|command -v ip"
	"podman|tests of the backend podman|command -v podman"
	"netavark|networks of podman|test -x /usr/lib/podman/netavark"
	"aardvark-dns|networks of podman|test -x /usr/lib/podman/aardvark-dns"
	"uidmap|podman and docker as an ordinary user|command -v newuidmap"
	"rootlesskit|docker as an ordinary user|command -v rootlesskit"
	"fuse-overlayfs|podman as an ordinary user|command -v fuse-overlayfs"
	"slirp4netns|podman and docker as an ordinary user|command -v slirp4netns"
	"runc|containers of all engines|command -v runc"
	"containerd|tests of the backend containerd|command -v containerd"
	"containernetworking-plugins|networks of containerd|test -x /usr/lib/cni/bridge"
	"util-linux|tests: setpriv, script, unshare|command -v setpriv && command -v script"
)

missing=()
for row in "${needed[@]}"; do
	IFS='|' read -r package why present <<<"$row"
	# The test may hold bars of its own; read leaves them in the last field.
	if ! bash -c "$present" >/dev/null 2>&1; then
		missing+=("$package")
		echo "test-deps: $package is missing ($why)"
	fi
done
[ ${#missing[@]} -eq 0 ] && exit 0

install="apt-get install -y --no-install-recommends ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
	as_root=(sudo -n)
	if ! sudo -n true 2>/dev/null; then
		echo "test-deps: error: the tests need more programs; as root: apt-get update && $install" >&2
		exit 1
	fi
fi
if ! command -v apt-get >/dev/null; then
	echo "test-deps: error: no apt-get here; install what these Debian packages hold: ${missing[*]}" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -q
# shellcheck disable=SC2086 # a list of words on purpose
"${as_root[@]}" $install
