package docker

import (
	"cmp"
	"slices"
	"strconv"

	api "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/container"
)

// body is what the engine is asked to make.
type body struct {
	config api.Config
	host   api.HostConfig
}

// makeBody is pure but for the names of this process. Where says what the
// engine is like.
func (b *Backend) makeBody(s container.Spec, where nature) (body, error) {
	p, who := s.Profile, s.User
	c, limits := p.Container, container.Effective(p.Limits)
	pids, no, args := container.PIDs(p), false, s.Args()
	made := body{
		config: api.Config{
			Image: container.Image(p), Entrypoint: args[:1], Cmd: args[1:],
			WorkingDir: "/", User: strconv.Itoa(who.UID) + ":" + strconv.Itoa(who.GID),
			// The first process hears no other signal, so that `docker stop` does not wait.
			StopSignal:  "SIGKILL",
			Healthcheck: &api.HealthConfig{Test: []string{"NONE"}},
			Labels:      s.Labels(),
		},
		host: api.HostConfig{
			AutoRemove: true, ReadonlyRootfs: true, CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"},
			IpcMode: "private", NetworkMode: b.network(p), Init: &no, Runtime: c.Runtime,
			LogConfig: api.LogConfig{Type: "none"},
			Resources: api.Resources{
				Memory: limits.MemoryBytes, MemorySwap: limits.MemoryBytes, PidsLimit: &pids,
				NanoCPUs: int64(container.CPUs(p) * 1e9),
			},
		},
	}
	h := &made.host
	switch where {
	case rootlessDocker:
		// User 0 of a rootless engine is its owner; every other one is nobody here.
		made.config.User = "0:0"
		who = container.User{}
	case rootlessPodman:
		h.UsernsMode = "keep-id"
	case machine:
		for _, g := range who.Groups {
			h.GroupAdd = append(h.GroupAdd, strconv.Itoa(g))
		}
		if b.engine == Docker {
			h.UsernsMode = "host" // where the engine maps users, the workspace would belong to somebody else
		}
	}
	for _, m := range s.Mounts() {
		h.Mounts = append(h.Mounts, mount.Mount{Type: mount.TypeBind, Source: cmp.Or(m.From, m.Path), Target: m.Path, ReadOnly: m.ReadOnly})
	}
	h.Tmpfs = s.Tmpfs(who, b.engine == Docker)
	if n := limits.FileBytes; n > 0 {
		if b.engine == Podman {
			h.Ulimits = callersLimits()
		}
		h.Ulimits = append(h.Ulimits, &api.Ulimit{Name: "fsize", Soft: n, Hard: n})
	}
	if c.Options != "" {
		if err := container.ApplyOptions(c.Options, engineOptions(&made.config, h)); err != nil {
			return made, err
		}
	}
	b.unplug(&made, s)
	slices.SortFunc(h.Mounts, func(a, b mount.Mount) int { return cmp.Compare(a.Target, b.Target) })
	return made, nil
}

// unplug takes the engine's network away from a container that is to have none. Its
// namespace is as empty without, and that network is a third of what Docker does
// to start a container. It brings the container's /etc/hosts, too.
func (b *Backend) unplug(made *body, s container.Spec) {
	h := &made.host
	if b.engine != Docker || h.NetworkMode != "none" || len(h.ExtraHosts)+len(h.DNS)+len(h.DNSSearch) > 0 {
		return
	}
	made.config.NetworkDisabled = true
	if hosts := s.HostsFile(); hosts != "" {
		h.Mounts = append(h.Mounts, mount.Mount{Type: mount.TypeBind, Source: hosts, Target: "/etc/hosts", ReadOnly: true})
	}
}

// callersLimits stand in for the defaults of Podman's configuration, which one
// limit in a request puts out of force: without them it asks for more open
// files and processes than some machines allow.
func callersLimits() []*api.Ulimit {
	var list []*api.Ulimit
	for _, r := range [...]struct {
		name string
		what int
		most int64
	}{{"nofile", unix.RLIMIT_NOFILE, 1 << 20}, {"nproc", unix.RLIMIT_NPROC, 10000}} {
		var have unix.Rlimit
		if unix.Getrlimit(r.what, &have) == nil && have.Max < 1<<31 {
			n := min(int64(have.Max), r.most)
			list = append(list, &api.Ulimit{Name: r.name, Soft: n, Hard: n})
		}
	}
	return list
}

func (b *Backend) network(p sandbox.Profile) api.NetworkMode {
	switch {
	case container.Offline(p):
		return "none"
	case b.engine == Docker:
		return "bridge"
	}
	return "default"
}
