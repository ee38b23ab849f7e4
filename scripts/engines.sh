#!/usr/bin/env bash
# Container engines for the tests, private to a directory: nothing of an engine
# that this machine may run is used or changed, and `stop` leaves nothing.
#
#   scripts/engines.sh start DIR [docker] [podman] [containerd]   default: all three
#   scripts/engines.sh stop DIR
#
# start prints what the tests need in their environment, as export lines (also in
# DIR/env). It needs root and the packages of scripts/test-deps.sh. dockerd gets a
# network namespace of its own, so that its bridge and its rules are not the
# host's; a registry on 127.0.0.1:5000 of that namespace serves the test image.
set -euo pipefail
scripts=$(cd "$(dirname "$0")" && pwd)

die() {
	echo "engines: error: $*" >&2
	exit 1
}

# await SECONDS COMMAND… tries until it succeeds.
await() {
	local tries=$(($1 * 10))
	shift
	until "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.1
	done
}

# begin NAME COMMAND… starts a daemon and keeps its number in DIR/NAME.pid.
begin() {
	local name=$1
	shift
	setsid "$@" >"$dir/$name.log" 2>&1 </dev/null &
	echo $! >"$dir/$name.pid"
}

# The control groups of this run have one parent of their own.
parent() { echo "sbx-test-$(basename "$dir")"; }

start_docker() {
	mkdir -p "$dir/docker"
	# The namespace is new and empty: lo has to be brought up.
	begin docker unshare --net sh -c 'ip link set lo up && exec "$@"' sh \
		dockerd --data-root "$dir/docker/data" --exec-root "$dir/docker/exec" --pidfile "$dir/docker/dockerd.pid" \
		--host "unix://$dir/docker.sock" --storage-driver overlay2 --exec-opt native.cgroupdriver=cgroupfs \
		--cgroup-parent "/$(parent)-docker" --shutdown-timeout 1
	await 60 docker --host "unix://$dir/docker.sock" version || die "dockerd did not start: $(tail -3 "$dir/docker.log")"
	local image
	for image in busybox tools; do
		docker --host "unix://$dir/docker.sock" import "$dir/images/$image.tar" "sbx-test/$image:1" >/dev/null
	done
	start_registry
	echo "export SBX_TEST_DOCKER_HOST=unix://$dir/docker.sock" >>"$dir/env"
	echo "export SBX_TEST_REGISTRY=127.0.0.1:5000" >>"$dir/env"
}

# The registry lives in the namespace of dockerd, which pushes one image to it.
start_registry() {
	cat >"$dir/registry.yml" <<-TEXT
		version: 0.1
		storage: {filesystem: {rootdirectory: $dir/registry}}
		http: {addr: 127.0.0.1:5000}
	TEXT
	begin registry nsenter --net="/proc/$(cat "$dir/docker/dockerd.pid")/ns/net" docker-registry serve "$dir/registry.yml"
	await 20 grep -q 'listening on' "$dir/registry.log" || die "the registry did not start: $(tail -3 "$dir/registry.log")"
	local docker=(docker --host "unix://$dir/docker.sock")
	"${docker[@]}" tag sbx-test/busybox:1 127.0.0.1:5000/busybox:1
	"${docker[@]}" push -q 127.0.0.1:5000/busybox:1 >/dev/null
	"${docker[@]}" rmi 127.0.0.1:5000/busybox:1 >/dev/null
}

# Podman has no daemon: its storage and settings come by two files that the tests
# name in its environment. The limits are stated because podman asks for more
# than a machine may allow.
start_podman() {
	mkdir -p "$dir/podman"
	cat >"$dir/podman/storage.conf" <<-TEXT
		[storage]
		driver = "overlay"
		graphroot = "$dir/podman/graph"
		runroot = "$dir/podman/run"
	TEXT
	cat >"$dir/podman/containers.conf" <<-TEXT
		[containers]
		default_ulimits = ["nofile=$(ulimit -Hn):$(ulimit -Hn)", "nproc=10000:10000"] # for podman's own commands
		[network]
		network_backend = "netavark"
		network_config_dir = "$dir/podman/networks"
		[engine]
		runtime = "runc"
		cgroup_manager = "cgroupfs"
		events_logger = "file"
		tmp_dir = "$dir/podman/tmp"
	TEXT
	local image
	for image in busybox tools; do
		CONTAINERS_STORAGE_CONF=$dir/podman/storage.conf CONTAINERS_CONF=$dir/podman/containers.conf \
			podman import -q "$dir/images/$image.tar" "sbx-test/$image:1" >/dev/null
	done
	echo "export SBX_TEST_PODMAN=$dir/podman" >>"$dir/env"
}

start_containerd() {
	mkdir -p "$dir/containerd"
	cat >"$dir/containerd/config.toml" <<-TEXT
		version = 2
		root = "$dir/containerd/root"
		state = "$dir/containerd/state"
		disabled_plugins = ["io.containerd.grpc.v1.cri"]
		[grpc]
		  address = "$dir/containerd.sock"
	TEXT
	begin containerd containerd --config "$dir/containerd/config.toml"
	await 30 ctr --address "$dir/containerd.sock" version || die "containerd did not start: $(tail -3 "$dir/containerd.log")"
	local image
	for image in busybox tools; do
		python3 "$scripts/oci-archive.py" "$dir/images/$image.tar" "docker.io/sbx-test/$image:1" |
			ctr --address "$dir/containerd.sock" images import - >/dev/null
	done
	echo "export SBX_TEST_CONTAINERD=$dir/containerd.sock" >>"$dir/env"
}

start() {
	[ "$(id -u)" -eq 0 ] || die "it needs root"
	[ ! -e "$dir/env" ] || die "$dir is in use: stop it first"
	mkdir -p "$dir"
	chmod 755 "$dir"
	: >"$dir/env"
	trap '[ $? -eq 0 ] || stop' EXIT
	python3 "$scripts/test-images.py" "$dir/images"
	echo "export SBX_TEST_IMAGES=$dir/images" >>"$dir/env"
	[ $# -gt 0 ] || set -- docker podman containerd
	local engine
	for engine in "$@"; do
		case $engine in
		docker | podman | containerd) start_"$engine" ;;
		*) die "no engine $engine: docker, podman or containerd" ;;
		esac
	done
	cat "$dir/env"
}

# end NAME asks a daemon of ours to end, and makes it after a while. The number
# is used only while the process still is the one that was started.
end() {
	local pid
	[ -s "$dir/$1.pid" ] || return 0
	pid=$(cat "$dir/$1.pid")
	if tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF "$dir"; then
		kill "$pid" 2>/dev/null || true
		await 20 test ! -e "/proc/$pid" || kill -9 "$pid" 2>/dev/null || true
	fi
	rm -f "$dir/$1.pid"
}

stop() {
	[ -e "$dir/env" ] || die "$dir holds no engines"
	if [ -S "$dir/docker.sock" ]; then
		docker --host "unix://$dir/docker.sock" ps -aq | xargs -r docker --host "unix://$dir/docker.sock" rm -f >/dev/null 2>&1 || true
	fi
	if [ -d "$dir/podman" ]; then
		CONTAINERS_STORAGE_CONF=$dir/podman/storage.conf CONTAINERS_CONF=$dir/podman/containers.conf \
			podman rm -fa -t 0 >/dev/null 2>&1 || true
	fi
	end registry
	end docker
	end containerd
	# What an engine left running, with its container: they name our directory.
	local at
	for at in /proc/[0-9]*; do
		if tr '\0' ' ' 2>/dev/null <"$at/cmdline" | grep -q "^[^ ]*containerd-shim.* $dir/"; then
			kill -9 "${at#/proc/}" 2>/dev/null || true
		fi
	done
	# Only mounts below our own directory, deepest first.
	{ grep -F " $dir/" /proc/self/mountinfo || true; } | cut -d' ' -f5 | sort -r | while read -r at; do umount -l "$at" || true; done
	find /sys/fs/cgroup -depth -type d -path "*/$(parent)-*" -exec rmdir {} + 2>/dev/null || true
	find /sys/fs/cgroup -maxdepth 2 -type d -name sbx -exec rmdir {} + 2>/dev/null || true # of containerd's, when nobody else's is there
	rm -rf --one-file-system "$dir"
}

[ $# -ge 2 ] || die "say: engines.sh start DIR [ENGINE…], or engines.sh stop DIR"
verb=$1 dir=$(realpath -m "$2")
shift 2
case $verb in
start) start "$@" ;;
stop) stop ;;
*) die "no such verb: $verb" ;;
esac
