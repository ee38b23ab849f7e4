package proc

import (
	"math"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// child is a started command and the thread that started it.
type child struct {
	pid     int
	inner   int                  // see Spawned
	ended   func() (Ended, bool) // see Spawned
	temp    Temp
	release func() // ends what start left behind; after that PDEATHSIG no longer holds
}

// start runs the command from a thread of its own. What Prepare does to that
// thread (credentials, Landlock, filters) the command inherits; no other thread
// does, because the thread ends instead of going back to the runtime.
//
// The thread shares the command's Landlock domain and our memory at once, so to
// the kernel the command could ptrace it. Therefore this process is not
// dumpable for as long as the thread lives.
//
// In a library the thread has a private descriptor table, in which everything
// but 0, 1, 2 closes on exec, whatever the rest of the program opened. The table
// also holds copies of other runs' pipes, so the thread ends at once: nobody
// would see the end of those pipes otherwise. A supervisor marks its
// descriptors for all threads and keeps the thread, so that the command gets
// SIGKILL when the supervisor dies.
func start(j Job, path string, files []*os.File) (child, error) {
	if j.Spawn != nil {
		return spawn(j, path, files)
	}
	if j.Supervisor {
		if err := becomeSupervisor(j.NoCore); err != nil {
			return child{}, err
		}
	} else {
		startPoller()
	}
	fds := make([]uintptr, len(files))
	for i, f := range files {
		fds[i] = f.Fd() // also makes it blocking, which programs expect
	}
	attr := &syscall.ProcAttr{Dir: j.Dir, Env: j.Command.Env, Files: fds, Sys: &syscall.SysProcAttr{}}
	if i := j.Identity; i != nil {
		attr.Sys.Credential = &syscall.Credential{Uid: i.UID, Gid: i.GID, Groups: i.Groups}
	}
	if j.Supervisor {
		attr.Sys.Pdeathsig = syscall.SIGKILL
	} else {
		attr.Sys.Setpgid = true
	}
	if j.Prepare != nil {
		hideMemory()
	}

	started := make(chan startResult)
	hold := make(chan struct{})
	ownThread(func() {
		r := startHere(j, path, attr)
		started <- r
		if j.Supervisor {
			<-hold
		}
	})
	r := <-started
	settled := make(chan struct{})
	if j.Prepare != nil && !j.Supervisor {
		go func() {
			waitThread(r.tid)
			showMemory()
			close(settled)
		}()
	} else {
		close(settled)
	}
	runtime.KeepAlive(files)
	if r.err == nil && j.NoCore && !j.Supervisor {
		// Too late for the first instants of the command: limits belong to
		// processes, and ours must stay as they are.
		_ = unix.Prlimit(r.pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
	}
	if r.err == nil {
		r.err = holdLate(j, r.pid)
	}
	release := func() {
		close(hold)
		<-settled
	}
	if r.err != nil {
		release()
	}
	return child{r.pid, 0, nil, nil, release}, r.err
}

// spawn lets the job start the command. The thread is not changed by that, but
// the command may get SIGKILL when it ends, so it is kept.
func spawn(j Job, path string, files []*os.File) (child, error) {
	if j.Supervisor && !j.Init {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return child{}, &StepError{"become subreaper", err}
		}
	}
	var fds [3]uintptr
	for i, f := range files {
		fds[i] = f.Fd() // also makes it blocking, which programs expect
	}
	if !j.watched {
		// Nobody but us waits for the command: this goroutine can be the one
		// whose thread lives, and saves the way to another and back.
		runtime.LockOSThread()
		s, err := j.Spawn(path, fds)
		runtime.KeepAlive(files)
		release := func() {
			runtime.UnlockOSThread()
			if s.Release != nil {
				s.Release()
			}
		}
		if err != nil {
			release()
		}
		return child{s.PID, s.Inner, s.Ended, s.Temp, release}, err
	}
	started := make(chan error)
	hold := make(chan struct{})
	var s Spawned
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var err error
		s, err = j.Spawn(path, fds)
		started <- err
		<-hold
	}()
	err := <-started
	runtime.KeepAlive(files)
	release := func() {
		close(hold)
		if s.Release != nil {
			s.Release()
		}
	}
	if err != nil {
		release()
	}
	return child{s.PID, s.Inner, s.Ended, s.Temp, release}, err
}

type startResult struct {
	pid, tid int
	err      error
}

// startHere restricts the calling thread and starts the command from it.
func startHere(j Job, path string, attr *syscall.ProcAttr) startResult {
	r := startResult{tid: unix.Gettid()}
	if !j.Supervisor {
		if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_UNSHARE|unix.CLOSE_RANGE_CLOEXEC); err != nil {
			r.err = &StepError{"close descriptors", err}
			return r
		}
	}
	if j.Prepare != nil {
		if r.err = j.Prepare(Thread{r.tid}); r.err != nil {
			return r
		}
	}
	pid, err := syscall.ForkExec(path, j.Command.Argv, attr)
	if err != nil {
		r.err = &StepError{"execute", err}
		return r
	}
	r.pid = pid
	return r
}

// ownThread runs fn on a thread that ends with it. The main thread never ends
// (the runtime parks it, with all its restrictions and descriptors), so it is
// not taken.
func ownThread(fn func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			fn() // never unlocked: the thread ends with the goroutine
			return
		}
		begun := make(chan struct{})
		go func() { // cannot land here: this thread is locked and waits
			runtime.LockOSThread()
			close(begun)
			fn()
		}()
		<-begun
		runtime.UnlockOSThread()
	}()
}

// startPoller opens the runtime's epoll and eventfd before a thread takes its
// own copy of the descriptor table: the runtime may write to the eventfd from
// any thread, and ends the program when the number is unknown there.
var startPoller = sync.OnceFunc(func() {
	if r, w, err := os.Pipe(); err == nil {
		_ = r.Close()
		_ = w.Close()
	}
})

// becomeSupervisor claims the process for one run.
func becomeSupervisor(noCore bool) error {
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return &StepError{"close descriptors", err}
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return &StepError{"become subreaper", err}
	}
	if noCore {
		if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
			return &StepError{"limit core dumps", err}
		}
	}
	return nil
}

// memory counts the restricted threads that live. It is package state because
// what it guards belongs to the process.
var memory struct {
	sync.Mutex
	threads  int
	dumpable int
}

func hideMemory() {
	memory.Lock()
	defer memory.Unlock()
	if memory.threads++; memory.threads == 1 {
		memory.dumpable, _ = unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	}
}

func showMemory() {
	memory.Lock()
	defer memory.Unlock()
	if memory.threads--; memory.threads == 0 {
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, uintptr(memory.dumpable), 0, 0, 0)
	}
}

// waitThread returns when a thread of ours has ended; it was told to.
func waitThread(tid int) {
	for pid := unix.Getpid(); unix.Tgkill(pid, tid, 0) == nil; {
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 20_000}, nil)
	}
}

// OnThread runs fn on a thread that ends with it, and waits. What fn does to
// the thread touches no other.
func OnThread(fn func(Thread) error) error {
	startPoller()
	hideMemory()
	done := make(chan error)
	var tid int
	ownThread(func() {
		tid = unix.Gettid()
		done <- fn(Thread{tid})
	})
	err := <-done
	waitThread(tid)
	showMemory()
	return err
}
