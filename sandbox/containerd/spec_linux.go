package containerd

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/containerd/containerd/v2/contrib/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/container"
)

// specVersion is the version of the OCI runtime specification that has all that
// is asked for here, and that the runtimes of old distributions know.
const specVersion = "1.0.2"

// kernelMounts is what every container sees of the kernel.
func kernelMounts(shm int64) []specs.Mount {
	return []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "noexec", "nodev"}},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=65536k"}},
		{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}},
		{Destination: "/dev/shm", Type: "tmpfs", Source: "shm", Options: []string{"nosuid", "noexec", "nodev", "mode=1777", fmt.Sprintf("size=%d", shm)}},
		{Destination: "/dev/mqueue", Type: "mqueue", Source: "mqueue", Options: []string{"nosuid", "noexec", "nodev"}},
		{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "ro"}},
		{Destination: "/sys/fs/cgroup", Type: "cgroup", Source: "cgroup", Options: []string{"nosuid", "noexec", "nodev", "relatime", "ro"}},
	}
}

// Files of the kernel that tell about the machine, or change it.
var (
	maskedPaths = []string{
		"/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats",
		"/proc/sched_debug", "/proc/scsi", "/proc/interrupts", "/sys/firmware", "/sys/devices/virtual/powercap",
	}
	readonlyPaths = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
)

// defaultPath stands in where an image names none.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// cgroupParent holds the control groups of our containers.
const cgroupParent = "/sbx"

// describe makes the specification of a container, and says how it finds names.
// Env is the image's.
func describe(id string, s container.Spec, env []string) (*specs.Spec, names, error) {
	p, who := s.Profile, s.User
	limits := container.Effective(p.Limits)
	made := &specs.Spec{
		Version:  specVersion,
		Hostname: id[:min(len(id), 12)],
		Root:     &specs.Root{Path: "rootfs", Readonly: true},
		Process: &specs.Process{
			Args: s.Args(), Cwd: "/", Env: []string{pathOf(env)}, NoNewPrivileges: true,
			// All sets are empty: a command has none.
			Capabilities: &specs.LinuxCapabilities{},
			User:         specs.User{UID: uint32(who.UID), GID: uint32(who.GID), AdditionalGids: groups(who.Groups)},
			Rlimits:      rlimits(limits),
		},
		Linux: &specs.Linux{
			CgroupsPath: path.Join(cgroupParent, id), MaskedPaths: maskedPaths, ReadonlyPaths: readonlyPaths,
			Resources: resources(p, limits),
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace},
				{Type: specs.IPCNamespace},
				{Type: specs.UTSNamespace},
				{Type: specs.MountNamespace},
				{Type: specs.NetworkNamespace},
				{Type: specs.CgroupNamespace},
			},
		},
	}
	shm := int64(64 << 20)
	var n names
	if err := container.ApplyOptions(p.Container.Options, engineOptions(made, &shm, &n)); err != nil {
		return nil, n, err
	}
	made.Linux.Seccomp = engineFilter(made)
	made.Mounts = append(kernelMounts(shm), mounts(s)...)
	return made, n, nil
}

// engineFilter is containerd's own filter, beneath sbx's. That one ends a program
// of any other architecture, so that nothing is lost by leaving those out, and
// the runtime compiles a third: 20 ms of each command on amd64.
func engineFilter(made *specs.Spec) *specs.LinuxSeccomp {
	filter := seccomp.DefaultProfile(made)
	if arch, ok := map[string]specs.Arch{"amd64": specs.ArchX86_64, "arm64": specs.ArchAARCH64}[runtime.GOARCH]; ok {
		filter.Architectures = []specs.Arch{arch}
	}
	return filter
}

// mounts are those of the layout and of the files in /etc, outer ones first.
func mounts(s container.Spec) []specs.Mount {
	var list []specs.Mount
	binds := s.Mounts()
	for at, from := range map[string]string{"/etc/hosts": s.HostsFile(), "/etc/resolv.conf": resolverFile(s)} {
		if from != "" {
			binds = append(binds, container.Bind{Path: at, From: from, ReadOnly: true})
		}
	}
	for _, b := range binds {
		options := []string{"rbind", "rprivate"}
		if b.ReadOnly {
			options = append(options, "ro")
		}
		list = append(list, specs.Mount{Destination: b.Path, Type: "bind", Source: cmp.Or(b.From, b.Path), Options: options})
	}
	for dir, options := range s.Tmpfs(s.User, true) {
		list = append(list, specs.Mount{Destination: dir, Type: "tmpfs", Source: "tmpfs", Options: strings.Split(options, ",")})
	}
	slices.SortFunc(list, func(a, b specs.Mount) int { return cmp.Compare(a.Destination, b.Destination) })
	return list
}

func groups(list []int) []uint32 {
	var made []uint32
	for _, g := range list {
		made = append(made, uint32(g))
	}
	return made
}

// pathOf is the entry PATH of an image's environment: the rest of it is not for
// the command.
func pathOf(env []string) string {
	for _, entry := range env {
		if strings.HasPrefix(entry, "PATH=") {
			return entry
		}
	}
	return "PATH=" + defaultPath
}

// cpuPeriod is the kernel's default, in microseconds.
const cpuPeriod = 100_000

func resources(p sandbox.Profile, l sandbox.Limits) *specs.LinuxResources {
	memory, pids, period := l.MemoryBytes, container.PIDs(p), uint64(cpuPeriod)
	quota := int64(container.CPUs(p) * cpuPeriod)
	r := &specs.LinuxResources{
		Devices: []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}},
		Memory:  &specs.LinuxMemory{Limit: &memory},
		CPU:     &specs.LinuxCPU{Quota: &quota, Period: &period},
		Pids:    &specs.LinuxPids{Limit: &pids},
	}
	if countsSwap() {
		r.Memory.Swap = &memory // both together, so none
	}
	return r
}

// countsSwap says whether this kernel bounds swap: with the first version of
// control groups not every one does, and a runtime fails then.
func countsSwap() bool {
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		return true
	}
	_, err := os.Stat("/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes")
	return err == nil
}

// rlimits: open files as the caller has, not as the engine has, whose limit is
// made for servers.
func rlimits(l sandbox.Limits) []specs.POSIXRlimit {
	var list []specs.POSIXRlimit
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		list = append(list, specs.POSIXRlimit{Type: "RLIMIT_NOFILE", Soft: min(files.Cur, 1<<20), Hard: min(files.Max, 1<<20)})
	}
	if n := l.FileBytes; n > 0 {
		list = append(list, specs.POSIXRlimit{Type: "RLIMIT_FSIZE", Soft: uint64(n), Hard: uint64(n)})
	}
	return list
}
