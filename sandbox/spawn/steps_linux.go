//go:build amd64 || arm64

package spawn

import (
	"errors"
	"math"
	"strconv"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Cwd is AT_FDCWD as an argument.
const Cwd = ^uintptr(99)

// DieWithParent asks for SIGKILL at the end of the thread that calls Start. It
// does not hold over a change of credentials.
func (p *Plan) DieWithParent() {
	p.Call("die with the caller", unix.SYS_PRCTL, []uintptr{unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL)})
}

// ParentLives fails when the parent has died before DieWithParent could hold. It
// goes by the lifeline: in a new pid namespace the parent has no number.
func (p *Plan) ParentLives(pipes *Pipes) {
	if pipes.Lifeline < 0 {
		p.fail(errors.New("plan: there is no lifeline"))
	}
	for _, fd := range pipes.ParentEnds() {
		p.Call("close the caller's end of a pipe", unix.SYS_CLOSE, []uintptr{uintptr(fd)})
	}
	poll := &unix.PollFd{Fd: int32(pipes.Lifeline), Events: unix.POLLIN}
	p.Call("the caller lives", unix.SYS_PPOLL, []uintptr{Ptr(p, poll), 1, Ptr(p, new(unix.Timespec)), 0, 0}, WantZero)
}

// ParentIsHere is ParentLives for a child in the pid namespace of the caller: an
// orphan has another parent.
func (p *Plan) ParentIsHere() {
	mine, its := new(uint64), new(uint64)
	*mine = uint64(unix.Getpid())
	p.Call("find the parent", unix.SYS_GETPPID, nil, Store(p.Word(its)))
	p.Same("the caller lives", mine, its)
}

// AwaitRelease waits for Pipes.Release.
func (p *Plan) AwaitRelease(pipes *Pipes) {
	got, none := new(uint64), new(uint64)
	p.Call("wait for the caller", unix.SYS_READ, []uintptr{uintptr(pipes.Go), Ptr(p, new(uint64)), 1}, Store(p.Word(got)))
	p.Differ("the caller is there", got, none)
}

// Latch holds a child back until the caller has made up its mind. The two share
// their memory, so that it takes no descriptor.
type Latch struct{ word *uint64 }

// Wait appends the steps that hold the child back. Its caller must open the latch
// or kill it; set DieWithParent before.
func (p *Plan) Wait(what string) Latch {
	l, open := Latch{new(uint64)}, uint64(latchOpen)
	word := Ptr(p, l.word)
	p.Call(what, unix.SYS_FUTEX, []uintptr{word, futexWaitPrivate, 0, 0}, IgnoreError) // EAGAIN: it is open already
	p.Same(what, l.word, &open)
	return l
}

// Open lets the child go on.
func (l Latch) Open() {
	atomic.StoreUint64(l.word, latchOpen)
	_, _, _ = syscall.RawSyscall(unix.SYS_FUTEX, uintptr(unsafe.Pointer(l.word)), futexWakePrivate, 1)
}

const (
	latchOpen        = 1
	futexWaitPrivate = 0 | 128 // linux/futex.h
	futexWakePrivate = 1 | 128
)

// Stdio makes the three files 0, 1 and 2.
func (p *Plan) Stdio(files [3]uintptr) {
	var moved [3]*Ref
	for to, from := range files { // out of the way of each other
		if from < 3 && from != uintptr(to) {
			r := p.NewRef()
			p.Call("move standard stream "+strconv.Itoa(to)+" away", unix.SYS_FCNTL, []uintptr{from, unix.F_DUPFD_CLOEXEC, 3}, Store(r))
			moved[to] = &r
		}
	}
	for to, from := range files {
		what := "standard stream " + strconv.Itoa(to)
		switch {
		case moved[to] != nil:
			p.Call(what, unix.SYS_DUP3, []uintptr{0, uintptr(to), 0}, Load(*moved[to]))
		case from == uintptr(to):
			p.Call(what, unix.SYS_FCNTL, []uintptr{from, unix.F_SETFD, 0})
		default:
			p.Call(what, unix.SYS_DUP3, []uintptr{from, uintptr(to), 0})
		}
	}
}

// CloseOnExec marks all descriptors above 2 but those kept.
func (p *Plan) CloseOnExec(keep ...int) {
	p.Call("close descriptors above 2 on exec", unix.SYS_CLOSE_RANGE, []uintptr{3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC})
	for _, fd := range keep {
		p.Call("keep a pipe for pid 1", unix.SYS_FCNTL, []uintptr{uintptr(fd), unix.F_SETFD, 0})
	}
}

// Limit sets one resource limit of the child.
func (p *Plan) Limit(what string, resource int, soft, hard uint64) {
	p.Call(what, unix.SYS_PRLIMIT64, []uintptr{0, uintptr(resource), Ptr(p, &unix.Rlimit{Cur: soft, Max: hard}), 0})
}

// sigaction is the kernel's struct sigaction.
type sigaction struct{ handler, flags, restorer, mask uint64 }

const (
	signals      = 64
	handlerNone  = 0 // SIG_DFL
	handlerQuiet = 1 // SIG_IGN
)

// Exec appends the last steps of a plan without pid 1: signals are let through,
// and the command is executed. What the caller ignores stays ignored.
func (p *Plan) Exec(path string, argv, env []string) { p.ExecLater()(path, argv, env) }

// ExecLater is Exec of what fill is called with, in AfterClone at the latest: a Latch
// has to hold the child back until then.
func (p *Plan) ExecLater() (fill func(path string, argv, env []string)) {
	if !clearsHandlers() {
		p.clearHandlers()
	}
	p.Call("let signals through", unix.SYS_RT_SIGPROCMASK, []uintptr{unix.SIG_SETMASK, Ptr(p, new(uint64)), 0, 8})
	p.Call(StepExec, unix.SYS_EXECVE, nil)
	last := len(p.steps) - 1
	return func(path string, argv, env []string) {
		a := &p.steps[last].a
		a[0], a[1], a[2] = p.Str(path), p.vector(argv), p.vector(env)
	}
}

// ExecBlocked appends the last step of a plan whose program gets all signals
// blocked: one that waits for a pid 1 of ours and must not end before it.
func (p *Plan) ExecBlocked(path string, argv, env []string) {
	p.Call("execute "+path, unix.SYS_EXECVE, []uintptr{p.Str(path), p.vector(argv), p.vector(env)})
}

// Become changes the credentials. A later DieWithParent is needed: the change
// takes it back.
func (p *Plan) Become(uid, gid uint32, groups []uint32) {
	var list uintptr
	if len(groups) > 0 {
		list = Ptr(p, &append([]uint32(nil), groups...)[0])
	}
	u, g := uintptr(uid), uintptr(gid)
	p.Call("take groups", unix.SYS_SETGROUPS, []uintptr{uintptr(len(groups)), list})
	p.Call("take group "+strconv.Itoa(int(gid)), unix.SYS_SETRESGID, []uintptr{g, g, g})
	p.Call("take user "+strconv.Itoa(int(uid)), unix.SYS_SETRESUID, []uintptr{u, u, u})
}

// clearHandlers takes the handlers of Go away, which the child must not run.
func (p *Plan) clearHandlers() {
	none := Ptr(p, new(sigaction))
	for sig := uintptr(1); sig <= signals; sig++ {
		var have sigaction
		_, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, sig, 0, uintptr(unsafe.Pointer(&have)), 8, 0, 0)
		if errno != 0 || have.handler == handlerNone || have.handler == handlerQuiet {
			continue
		}
		p.Call("default action of signal "+strconv.Itoa(int(sig)), unix.SYS_RT_SIGACTION, []uintptr{sig, none, 0, 8})
	}
}
