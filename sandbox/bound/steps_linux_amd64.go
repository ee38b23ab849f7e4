package bound

import (
	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox/cgroup"
	"github.com/sbx-run/sbx/sandbox/proc"
	"github.com/sbx-run/sbx/sandbox/spawn"
)

// Enter is the first steps of a run: what it does from then on counts.
func (b Bounds) Enter(p *spawn.Plan, h *Hold) {
	doors := []int{-1} // of a plan that is only printed
	switch {
	case b.group == (cgroup.Want{}):
		return
	case h != nil:
		doors = h.group.Doors()
	}
	for _, fd := range doors {
		p.Call("enter control group", unix.SYS_WRITE, []uintptr{uintptr(fd), p.Str("0"), 1})
	}
}

// Set is the steps that limit each process by itself.
func (b Bounds) Set(p *spawn.Plan, h *Hold) {
	for _, r := range proc.ResourceLimits(b.Limits) {
		p.Limit(r.What, r.Resource, r.Soft, r.Hard)
	}
	var n uint64
	if h != nil {
		n = h.processes
	}
	if n > 0 || h == nil && (b.crowd || b.processes > 0) {
		p.Limit("limit the number of processes", unix.RLIMIT_NPROC, n, n)
	}
}

func userTasks() (int, error) { return spawn.Tasks() }
