package proc

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// namespace is a tree below process 1 of a pid namespace. When process 1 ends,
// the kernel has ended everything below it; when the command ends, process 1
// does.
type namespace struct {
	pid   int // our child: process 1, or what waits for it and ends after it
	first int // process 1
	ended func() (Ended, bool)
}

// signal reaches everything but process 1, which ends the tree when it ends, and
// what is outside of it.
func (n namespace) signal(sig unix.Signal) {
	if sig == unix.SIGKILL {
		_ = unix.Kill(n.first, sig)
		if n.pid != n.first { // that program may have a process 1 of its own
			for _, pid := range childrenOf(n.pid) {
				_ = unix.Kill(pid, sig)
			}
		}
		return
	}
	all := n.inside()
	if len(all) == 0 { // a kernel without /proc/PID/task/TID/children
		n.pass(sig)
	}
	for _, pid := range all {
		_ = unix.Kill(pid, sig)
	}
}

// inside lists what the command started. Where a program waits for process 1, its
// child is that or one of its own, which gets what loses its parent.
func (n namespace) inside() []int {
	top := childrenOf(n.pid)
	if n.pid == n.first {
		return below(top)
	}
	return slices.DeleteFunc(below(slices.Clone(top)), func(pid int) bool { return pid == n.first || slices.Contains(top, pid) })
}

// pass gives a signal to process 1, which hands it to the command.
func (n namespace) pass(sig unix.Signal) { _ = unix.Kill(n.first, sig) }
func (n namespace) wait() error          { _, err := await(unix.P_PID, n.pid); return err }

func (n namespace) members() []member {
	return append([]member{{n.first, true}}, membersOf(n.inside())...)
}
func (n namespace) spent() time.Duration { return 0 }

func (n namespace) end() (usage, error) {
	var u usage
	var r unix.Rusage
	if _, err := wait4(n.pid, &u.status, 0, &r); err != nil {
		return u, err
	}
	u.add(&r)
	if e, ok := n.ended(); ok {
		u.status = unix.WaitStatus(e.Status)
		u.peak = e.PeakBytes // of process 1 the kernel counts what its starter had in use
	}
	return u, nil
}
