package containerd

import (
	"errors"
	"path"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/sbx-run/sbx/sandbox/container"
)

// engineOptions are passed on to a container that is being described. Options of
// networks are none of them: containerd has no networks.
func engineOptions(s *specs.Spec, shm *int64) []container.Option {
	return []container.Option{
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
