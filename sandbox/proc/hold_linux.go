package proc

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// holdLate sets limits of a command that was started without Spawn. It has run
// for some instants then: limits belong to processes, and ours must stay as they
// are.
func holdLate(j Job, pid int) error {
	var err error
	for _, r := range ResourceLimits(j.Limits) {
		if err == nil {
			err = unix.Prlimit(pid, r.Resource, &unix.Rlimit{Cur: r.Soft, Max: r.Hard}, nil)
		}
	}
	if err != nil && err != unix.ESRCH { // it may have ended
		_ = unix.Kill(pid, unix.SIGKILL)
		_, _ = wait4(pid, nil, 0, nil)
		return &StepError{"set limits", err}
	}
	return nil
}

// ResourceLimit is one limit of each single process.
type ResourceLimit struct {
	What       string
	Resource   int
	Soft, Hard uint64
}

// ResourceLimits lists what the kernel can hold for each single process of a
// run. The time of one process is let to be a second longer than that of all
// together, which is watched: the watcher says more exactly why.
func ResourceLimits(l sandbox.Limits) []ResourceLimit {
	var list []ResourceLimit
	if l.FileBytes > 0 {
		n := uint64(l.FileBytes)
		list = append(list, ResourceLimit{"limit the size of a file", unix.RLIMIT_FSIZE, n, n})
	}
	if l.CPUTime > 0 {
		soft := uint64((l.CPUTime+time.Second-1)/time.Second) + 1
		list = append(list, ResourceLimit{"limit the processor time of one process", unix.RLIMIT_CPU, soft, soft + 1})
	}
	for i := range list { // above the limits that this process has they cannot be set
		var have unix.Rlimit
		if r := &list[i]; unix.Getrlimit(r.Resource, &have) == nil {
			r.Soft, r.Hard = min(r.Soft, have.Max), min(r.Hard, have.Max)
		}
	}
	return list
}
