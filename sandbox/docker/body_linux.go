package docker

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/pid1"
)

// The labels of our containers. The reaper knows them by these.
const (
	labelOwner     = "run.sbx.owner" // see owner
	labelUser      = "run.sbx.uid"
	labelWorkspace = "run.sbx.workspace" // a hash: the name is nobody's business
	labelKind      = "run.sbx.kind"      // "run" or "session"
)

const (
	kindRun     = "run"
	kindSession = "session"
)

// body is what the engine is asked to make.
type body struct {
	config container.Config
	host   container.HostConfig
}

// user is who a command runs as.
type user struct {
	uid, gid int
	groups   []int
}

func userOf(p sandbox.Profile) user {
	if i := p.Identity; i != nil {
		u := user{uid: int(i.UID), gid: int(i.GID)}
		for _, g := range i.Groups {
			u.groups = append(u.groups, int(g))
		}
		return u
	}
	u := user{uid: os.Geteuid(), gid: os.Getegid()}
	if u.uid != 0 {
		u.groups, _ = os.Getgroups()
	}
	return u
}

// ownTasks are the threads of the first process, which the limit of processes
// counts too.
const ownTasks = 16

// makeBody is pure but for the names of this process. Where says what the
// engine is like, socket is the directory of the listener.
func (b *Backend) makeBody(p sandbox.Profile, l layout, who user, where nature, kind, socket, init string) (body, error) {
	c := p.Container
	limits := effective(p.Limits)
	pids := int64(sandbox.DefaultContainerPIDs)
	if limits.Processes > 0 {
		pids = int64(limits.Processes) + ownTasks
	}
	no := false
	made := body{
		config: container.Config{
			Image: cmp.Or(c.Image, sandbox.DefaultImage), Entrypoint: []string{pid1.Program}, Cmd: []string{pid1.ModeOnce},
			WorkingDir: "/", User: strconv.Itoa(who.uid) + ":" + strconv.Itoa(who.gid),
			// The first process hears no other signal, so that `docker stop` does not wait.
			StopSignal:  "SIGKILL",
			Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
			Labels: map[string]string{
				labelOwner: owner(), labelUser: strconv.Itoa(os.Geteuid()), labelWorkspace: hash(p.Workspace), labelKind: kind,
			},
		},
		host: container.HostConfig{
			AutoRemove: true, ReadonlyRootfs: true, CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"},
			IpcMode: "private", NetworkMode: b.network(p), Init: &no, Runtime: c.Runtime,
			LogConfig: container.LogConfig{Type: "none"},
			Resources: container.Resources{
				Memory: limits.MemoryBytes, MemorySwap: limits.MemoryBytes, PidsLimit: &pids,
				NanoCPUs: int64(cmp.Or(c.CPUs, sandbox.DefaultContainerCPUs) * 1e9),
			},
			Tmpfs: map[string]string{},
		},
	}
	if kind == kindSession {
		made.config.Cmd = []string{pid1.ModeServe}
	}
	h := &made.host
	switch where {
	case rootlessDocker:
		// User 0 of a rootless engine is its owner; every other one is nobody here.
		made.config.User = "0:0"
		who = user{}
	case rootlessPodman:
		h.UsernsMode = "keep-id"
	case machine:
		for _, g := range who.groups {
			h.GroupAdd = append(h.GroupAdd, strconv.Itoa(g))
		}
		if b.engine == Docker {
			h.UsernsMode = "host" // where the engine maps users, the workspace would belong to somebody else
		}
	}
	for _, m := range l.binds {
		h.Mounts = append(h.Mounts, mount.Mount{Type: mount.TypeBind, Source: cmp.Or(m.from, m.path), Target: m.path, ReadOnly: m.readOnly})
	}
	h.Mounts = append(
		h.Mounts,
		mount.Mount{Type: mount.TypeBind, Source: socket, Target: pid1.SocketDir, ReadOnly: true},
		mount.Mount{Type: mount.TypeBind, Source: init, Target: pid1.Program, ReadOnly: true},
	)
	size := ""
	if l.size > 0 {
		size = fmt.Sprintf(",size=%d", l.size)
	}
	for _, dir := range l.memory {
		h.Tmpfs[dir] = "rw,nosuid,nodev,exec,mode=1777" + size
	}
	if n := limits.FileBytes; n > 0 {
		if b.engine == Podman {
			h.Ulimits = callersLimits()
		}
		h.Ulimits = append(h.Ulimits, &container.Ulimit{Name: "fsize", Soft: n, Hard: n})
	}
	for _, dir := range l.covered {
		h.Tmpfs[dir] = "ro,nosuid,nodev,noexec,mode=0,size=4k"
	}
	if l.home != "" {
		h.Tmpfs[l.home] = fmt.Sprintf("rw,nosuid,nodev,exec,mode=0700,uid=%d,gid=%d", who.uid, who.gid)
		if b.engine == Podman { // which knows no owner of such a file system
			h.Tmpfs[l.home] = "rw,nosuid,nodev,exec,mode=1777"
		}
	}
	if c.Options != "" {
		if err := applyOptions(c.Options, &made.config, h); err != nil {
			return made, err
		}
	}
	slices.SortFunc(h.Mounts, func(a, b mount.Mount) int { return cmp.Compare(a.Target, b.Target) })
	return made, nil
}

// callersLimits stand in for the defaults of Podman's configuration, which one
// limit in a request puts out of force: without them it asks for more open
// files and processes than some machines allow.
func callersLimits() []*container.Ulimit {
	var list []*container.Ulimit
	for _, r := range [...]struct {
		name string
		what int
		most int64
	}{{"nofile", unix.RLIMIT_NOFILE, 1 << 20}, {"nproc", unix.RLIMIT_NPROC, 10000}} {
		var have unix.Rlimit
		if unix.Getrlimit(r.what, &have) == nil && have.Max < 1<<31 {
			n := min(int64(have.Max), r.most)
			list = append(list, &container.Ulimit{Name: r.name, Soft: n, Hard: n})
		}
	}
	return list
}

func (b *Backend) network(p sandbox.Profile) container.NetworkMode {
	switch {
	case p.Network == sandbox.NetworkNone, p.Network == sandbox.NetworkRules && holdsRules:
		return "none"
	case b.engine == Docker:
		return "bridge"
	}
	return "default"
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
