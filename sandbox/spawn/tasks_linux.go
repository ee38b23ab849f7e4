//go:build amd64 || arm64

package spawn

import (
	"errors"
	"runtime"
	"sort"

	"golang.org/x/sys/unix"
)

// mostTasks is the largest number of processes that Linux can have.
const mostTasks = 1 << 22

// Tasks finds out how many processes and threads of this user the kernel counts
// for RLIMIT_NPROC, which is told nowhere and includes some that cannot be seen
// from here: for which limit can a child still make a thread. The child and the
// thread themselves are not counted. For root the kernel keeps no such limit, and
// the answer is 0.
func Tasks() (int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var have unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &have); err != nil {
		return 0, err
	}
	var failed error
	n := sort.Search(int(min(have.Max, mostTasks)), func(limit int) bool {
		fits, err := threadFits(uint64(limit), have.Max)
		if failed == nil {
			failed = err
		}
		return fits || err != nil
	})
	return max(n-2, 0), failed
}

// threadFits tries to make a thread under a limit.
func threadFits(limit, hard uint64) (bool, error) {
	pipes, err := NewPipes(0)
	if err != nil {
		return false, err
	}
	defer pipes.Close()
	p := NewPlan()
	p.Limit("limit the number of processes", unix.RLIMIT_NPROC, limit, hard)
	const thread = unix.CLONE_VM | unix.CLONE_SIGHAND | unix.CLONE_THREAD | unix.CLONE_VFORK
	p.Call("make a thread", unix.SYS_CLONE, []uintptr{thread, 0})
	p.Call("end the thread, then the child", unix.SYS_EXIT, []uintptr{0}) // each of the two comes by here
	pid, err := p.Start(0, pipes)
	var step *StepError
	switch {
	case errors.As(err, &step) && step.Errno == unix.EAGAIN:
		return false, nil
	case err != nil:
		return false, err
	}
	for {
		if _, err := unix.Wait4(pid, nil, 0, nil); err != unix.EINTR {
			return true, err
		}
	}
}
