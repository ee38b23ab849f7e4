package proc

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// tree is what the command started, as far as this process can reach it.
type tree interface {
	signal(sig unix.Signal) // to everything
	pass(sig unix.Signal)   // from the caller: to the command, which decides for the rest
	wait() error            // until the command has ended; it stays a zombie
	end() (usage, error)    // kills what is left and reaps the command
	members() []member      // what lives, for measuring
	spent() time.Duration   // processor time of what members no longer shows
}

// usage is what the kernel counted.
type usage struct {
	status     unix.WaitStatus
	user, syst time.Duration
	peak       int64 // bytes
}

func (u *usage) add(r *unix.Rusage) {
	u.user += time.Duration(r.Utime.Nano())
	u.syst += time.Duration(r.Stime.Nano())
	u.peak = max(u.peak, int64(r.Maxrss)<<10) // Linux counts KiB
}

// group is the tree of a library run: a process group of its own. The zombie
// of the command keeps the group's number from being used again.
type group struct{ pid int }

func (g group) signal(sig unix.Signal) { _ = unix.Kill(-g.pid, sig) }
func (g group) pass(sig unix.Signal)   { _ = unix.Kill(-g.pid, sig) }
func (g group) wait() error            { _, err := await(unix.P_PID, g.pid); return err }

func (g group) members() []member    { return membersOf(groupMembers(g.pid)) }
func (g group) spent() time.Duration { return 0 }

func (g group) end() (usage, error) {
	g.signal(unix.SIGKILL)
	var u usage
	var r unix.Rusage
	if _, err := wait4(g.pid, &u.status, 0, &r); err != nil {
		return u, err
	}
	u.add(&r)
	return u, nil
}

// reaper is the tree of a supervisor: everything that descends from it, because
// a subreaper inherits orphans.
type reaper struct {
	pid  int
	ours map[int]bool  // children that were here before the command
	rest usage         // of orphans
	was  time.Duration // processor time of children that ended before the command began
}

// longestSweep bounds the killing of what is left; only processes that the
// kernel cannot end (a hung file system) take that long.
const longestSweep = 10 * time.Second

// children lists the children that this process has already: it may have been
// exec'ed by a shell with jobs. They are not ours to end.
func children() map[int]bool {
	var info unix.Siginfo
	if unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD {
		return nil
	}
	have := map[int]bool{}
	for _, pid := range childrenOf(unix.Getpid()) {
		have[pid] = true
	}
	return have
}

func (t *reaper) members() []member    { return membersOf(t.descendants()) }
func (t *reaper) spent() time.Duration { return childrenTime() - t.was }

// childrenTime is the processor time of all children that this process has
// waited for.
func childrenTime() time.Duration {
	var r unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_CHILDREN, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func (t *reaper) pass(sig unix.Signal) { _ = unix.Kill(t.pid, sig) }

func (t *reaper) signal(sig unix.Signal) {
	for _, pid := range t.descendants() {
		_ = unix.Kill(pid, sig)
	}
}

func (t *reaper) wait() error {
	for {
		pid, err := await(unix.P_ALL, 0)
		if err != nil || pid == t.pid {
			return err
		}
		t.reap(pid)
	}
}

func (t *reaper) reap(pid int) bool {
	var status unix.WaitStatus
	var r unix.Rusage
	got, err := wait4(pid, &status, unix.WNOHANG, &r)
	if err != nil || got <= 0 {
		return false
	}
	t.rest.add(&r)
	return true
}

func (t *reaper) end() (usage, error) {
	var u usage
	var r unix.Rusage
	if _, err := wait4(t.pid, &u.status, 0, &r); err != nil {
		return u, err
	}
	u.add(&r)
	err := t.sweep()
	u.user, u.syst, u.peak = u.user+t.rest.user, u.syst+t.rest.syst, max(u.peak, t.rest.peak)
	return u, err
}

// sweep kills until nothing is left. A process that forks and exits in a loop
// is met again and again until one of its lives is shorter than a round.
func (t *reaper) sweep() error {
	deadline := time.Now().Add(longestSweep)
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err == unix.ECHILD {
			return nil
		}
		left := t.descendants()
		if len(left) == 0 {
			return nil
		}
		for _, pid := range left {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		reaped := false
		for t.reap(-1) {
			reaped = true
		}
		if reaped {
			pause = 50 * time.Microsecond
		}
		if time.Now().After(deadline) {
			return &StepError{"end process " + strconv.Itoa(left[0]), unix.ETIMEDOUT}
		}
		time.Sleep(pause)
	}
}

// descendants lists the tree from the top, without what was here before.
func (t *reaper) descendants() []int {
	var all []int
	for _, pid := range childrenOf(unix.Getpid()) {
		if !t.ours[pid] {
			all = append(all, pid)
		}
	}
	for i := 0; i < len(all); i++ {
		all = append(all, childrenOf(all[i])...)
	}
	return all
}

// childrenOf reads /proc/PID/task/*/children.
func childrenOf(pid int) []int {
	dir := "/proc/" + strconv.Itoa(pid) + "/task/"
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	tasks, _ := f.Readdirnames(-1)
	var pids []int
	for _, task := range tasks {
		text, err := os.ReadFile(dir + task + "/children")
		if err != nil {
			continue
		}
		for _, field := range bytes.Fields(text) {
			if n, err := strconv.Atoi(string(field)); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
}

// await blocks until a child has ended, without reaping it.
func await(kind, id int) (int, error) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(kind, id, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return siginfoPid(&info), err
		}
	}
}

func wait4(pid int, status *unix.WaitStatus, options int, r *unix.Rusage) (int, error) {
	for {
		got, err := unix.Wait4(pid, status, options, r)
		if err != unix.EINTR {
			return got, err
		}
	}
}
