//go:build amd64 || arm64

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

// SetEach is the steps that limit each process by itself.
func (b Bounds) SetEach(p *spawn.Plan) {
	for _, r := range proc.ResourceLimits(b.Limits) {
		p.Limit(r.What, r.Resource, r.Soft, r.Hard)
	}
}

// Set is SetEach, and their number.
func (b Bounds) Set(p *spawn.Plan, h *Hold) {
	b.SetEach(p)
	var n uint64
	if h != nil {
		n = h.processes
	}
	if n > 0 || h == nil && (b.crowd || b.processes > 0) {
		p.Limit("limit the number of processes", unix.RLIMIT_NPROC, n, n)
	}
}

func userTasks() (int, error) { return spawn.Tasks() }

// Usual sets the limits that every command has, and gives back what Go has taken:
// its start raises the soft limit of open files to one below the hard one.
func Usual(p *spawn.Plan) {
	p.Limit("limit core dumps to 0", unix.RLIMIT_CORE, 0, 0)
	var have unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &have) != nil || have.Cur != have.Max-1 {
		return
	}
	soft := min(uint64(usualFiles), have.Cur)
	var caller unix.Rlimit
	if unix.Prlimit(unix.Getppid(), unix.RLIMIT_NOFILE, nil, &caller) == nil && caller.Cur < have.Cur {
		soft = caller.Cur
	}
	p.Limit("limit open files as before Go", unix.RLIMIT_NOFILE, soft, have.Max)
}

// usualFiles is the soft limit of open files that Linux starts with.
const usualFiles = 1024
