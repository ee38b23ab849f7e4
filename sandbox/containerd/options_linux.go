package containerd

import (
	"errors"
	"net/netip"
	"path"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/sbx-run/sbx/sandbox/container"
)

// engineOptions are passed on to a container that is being described. There is
// one network, so that none has to be named.
func engineOptions(s *specs.Spec, shm *int64, n *names) []container.Option {
	return []container.Option{
		{Name: "dns", Set: func(v string) error {
			at, err := container.ParseAddress(v)
			n.servers = append(n.servers, at.String())
			return err
		}, Why: "which server resolves names"},
		{Name: "dns-search", Set: func(v string) error {
			n.search = append(n.search, v)
			return oneWord(v)
		}, Why: "how names are completed"},
		{Name: "add-host", Set: func(v string) error {
			name, address, _ := strings.Cut(v, ":")
			at, err := netip.ParseAddr(address)
			if name == "" || oneWord(name) != nil || err != nil {
				return errors.New("it is NAME:ADDRESS")
			}
			n.hosts = append(n.hosts, at.String()+" "+name)
			return nil
		}, Why: "a name of the command's own; reaching the address is a matter of the network"},
		{Name: "hostname", Set: func(v string) error {
			s.Hostname = v
			return nil
		}, Why: "the name of the container"},
		{Name: "shm-size", Set: func(v string) (err error) {
			*shm, err = container.ParseBytes(v)
			return err
		}, Why: "shared memory, which counts as memory of the container"},
		{Name: "cpuset-cpus", Set: func(v string) error {
			s.Linux.Resources.CPU.Cpus = v
			return nil
		}, Why: "which processors"},
		{Name: "memory-reservation", Set: func(v string) error {
			n, err := container.ParseBytes(v)
			s.Linux.Resources.Memory.Reservation = &n
			return err
		}, Why: "a softer limit"},
		{Name: "ulimit", Set: func(v string) error { return setUlimit(s.Process, v) }, Why: "limits of single processes"},
		{Name: "cgroup-parent", Set: func(v string) error {
			if !path.IsAbs(v) || path.Clean(v) != v {
				return errors.New("it is an absolute path below the root of the control groups")
			}
			s.Linux.CgroupsPath = path.Join(v, path.Base(s.Linux.CgroupsPath))
			return nil
		}, Why: "where the engine accounts for it"},
	}
}

func setUlimit(p *specs.Process, v string) error {
	name, soft, hard, err := container.ParseUlimit(v)
	if err != nil {
		return err
	}
	limit := specs.POSIXRlimit{Type: "RLIMIT_" + strings.ToUpper(name), Soft: uint64(soft), Hard: uint64(hard)}
	for i := range p.Rlimits {
		if p.Rlimits[i].Type == limit.Type {
			p.Rlimits[i] = limit
			return nil
		}
	}
	p.Rlimits = append(p.Rlimits, limit)
	return nil
}
