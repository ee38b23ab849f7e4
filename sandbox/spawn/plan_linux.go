//go:build amd64 || arm64

package spawn

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Flags of a step.
const (
	flagIgnore  = 1 << iota // an error is no error
	flagNonZero             // any result but 0 is an error
	flagLoad                // argument 0 is the address of the argument
	flagLoad2               // argument 2 is
	flagWant                // the only good result is the errno in last
	flagSkip                // what is not there or out of reach skips the next steps, as many as last says
)

// Numbers of steps that are no system calls: they compare the two words that
// their first two arguments point to.
const (
	ifEqual  = ^uintptr(0)     // fails with EPERM when they are equal
	ifDiffer = ^uintptr(0) - 1 // fails with ESTALE when they differ
)

// step is one system call. Its layout is known to the assembly.
type step struct {
	nr    uintptr
	a     [6]uintptr
	out   uintptr // address where the result is stored, or 0
	flags uintptr
	last  uintptr
}

// Plan is the set-up as a table: what Start does is what String prints.
type Plan struct {
	steps []step
	names []string // what each step is for
	keep  []any    // what the addresses in steps point to
	err   error
	// placed is the program of pid 1, when it is a file of the run.
	placed *Ref
	// AfterClone is called when the child exists and goes through its steps. An
	// error kills it.
	AfterClone func(pid int) error
}

// maxSteps bounds a plan: more would be a mistake.
const maxSteps = 1 << 16

// NewPlan returns an empty plan.
func NewPlan() *Plan { return NewPlanFor(24) }

// NewPlanFor returns an empty plan with room for so many steps: a plan that grows
// is copied.
func NewPlanFor(steps int) *Plan {
	return &Plan{steps: make([]step, 0, steps), names: make([]string, 0, steps), keep: make([]any, 0, steps)}
}

// Include appends the steps of another plan, which must not change after it.
func (p *Plan) Include(other *Plan) {
	if other.err != nil {
		p.fail(other.err)
	}
	p.steps, p.names, p.keep = append(p.steps, other.steps...), append(p.names, other.names...), append(p.keep, other)
}

// Ref names the result of a step, or another word that is known only when the
// plan runs.
type Ref struct{ p *uintptr }

// NewRef returns a word for the result of a step.
func (p *Plan) NewRef() Ref {
	r := Ref{new(uintptr)}
	p.keep = append(p.keep, r.p)
	return r
}

// Str keeps a string for the child and returns its address, NUL-terminated.
func (p *Plan) Str(s string) uintptr {
	b, err := syscall.BytePtrFromString(s)
	if err != nil {
		p.fail(fmt.Errorf("plan %q: %w", s, err))
		b = new(byte)
	}
	p.keep = append(p.keep, b)
	return uintptr(unsafe.Pointer(b))
}

// Bytes keeps bytes for the child and returns their address.
func (p *Plan) Bytes(b []byte) uintptr {
	if len(b) == 0 {
		b = []byte{0}
	}
	p.keep = append(p.keep, &b[0])
	return uintptr(unsafe.Pointer(&b[0]))
}

// Ptr keeps a value for the child and returns its address. The value must hold
// no Go pointers that are not kept too.
func Ptr[T any](p *Plan, v *T) uintptr {
	p.keep = append(p.keep, v)
	return uintptr(unsafe.Pointer(v))
}

func (p *Plan) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// Opt changes a step.
type Opt func(*step)

// IgnoreError goes on whatever the step returns.
func IgnoreError(s *step) { s.flags |= flagIgnore }

// WantZero makes a non-zero result an error.
func WantZero(s *step) { s.flags |= flagNonZero }

// Load takes argument 0 from a word that an earlier step stored.
func Load(r Ref) Opt {
	return func(s *step) { s.a[0], s.flags = uintptr(unsafe.Pointer(r.p)), s.flags|flagLoad }
}

// Store keeps the result for a later step.
func Store(r Ref) Opt {
	return func(s *step) { s.out = uintptr(unsafe.Pointer(r.p)) }
}

// Load2 takes argument 2 from a word that an earlier step stored.
func Load2(r Ref) Opt {
	return func(s *step) { s.a[2], s.flags = uintptr(unsafe.Pointer(r.p)), s.flags|flagLoad2 }
}

// Want makes this errno the only good result: the call must be refused.
func Want(errno syscall.Errno) Opt {
	return func(s *step) { s.last, s.flags = uintptr(errno), s.flags|flagWant }
}

// SkipAbsent leaves out the next n steps when the call says that a file is not
// there or cannot be reached (ENOENT, EACCES, ENOTDIR, ELOOP), or that the
// descriptor is none because an earlier step was such a call (EBADF).
func SkipAbsent(n int) Opt {
	return func(s *step) { s.last, s.flags = uintptr(n), s.flags|flagSkip }
}

// Word names a word of the caller's, which the plan keeps.
func (p *Plan) Word(w *uint64) Ref {
	p.keep = append(p.keep, w)
	return Ref{(*uintptr)(unsafe.Pointer(w))}
}

// Call appends a system call. what says in a few words what it is for, and
// stands in errors and in the printed plan.
func (p *Plan) Call(what string, nr uintptr, args []uintptr, opts ...Opt) {
	s := step{nr: nr}
	copy(s.a[:], args)
	for _, o := range opts {
		o(&s)
	}
	p.add(s, what)
}

// Differ appends a step that fails when two words are equal.
func (p *Plan) Differ(what string, a, b *uint64) {
	p.compare(what, ifEqual, a, b)
}

// Same appends a step that fails when two words differ.
func (p *Plan) Same(what string, a, b *uint64) { p.compare(what, ifDiffer, a, b) }

func (p *Plan) compare(what string, nr uintptr, a, b *uint64) {
	p.keep = append(p.keep, a, b)
	p.add(step{nr: nr, a: [6]uintptr{uintptr(unsafe.Pointer(a)), uintptr(unsafe.Pointer(b))}}, what)
}

func (p *Plan) add(s step, what string) {
	if len(p.steps) == maxSteps {
		p.fail(fmt.Errorf("plan %q: more than %d steps", what, maxSteps))
		return
	}
	p.steps = append(p.steps, s)
	p.names = append(p.names, what)
}

// LeaveOut replaces the steps whose names match picks by ones that do nothing.
// It is for tests, which prove with it that each step counts. A nil match picks
// none.
func (p *Plan) LeaveOut(match func(name string) bool) {
	for i, name := range p.names {
		if match != nil && match(name) {
			p.steps[i] = step{nr: unix.SYS_GETPID, flags: flagIgnore}
			p.names[i] = "left out: " + name
		}
	}
}

// Steps lists what each step is for, in order.
func (p *Plan) Steps() []string { return p.names }

func (p *Plan) String() string { return strings.Join(p.names, "\n") }

// StepError is a step that failed in the child. Nothing of the command ran.
type StepError struct {
	Step  string
	Index int
	Errno syscall.Errno
}

func (e *StepError) Error() string { return e.Step + ": " + e.Errno.Error() }
func (e *StepError) Unwrap() error { return e.Errno }

// context is what the child gets. Its layout is known to the assembly.
type context struct {
	steps *step
	n     uintptr
	errfd uintptr
	_     [2]uint64 // written to errfd by the assembly: index and errno
}

// stackSize is what the child gets for itself. The assembly uses none of it,
// and no signal can come: all are blocked.
const stackSize = 1024

// Start clones a child with the given CLONE_NEW* flags, lets it go through the
// plan, and returns its pid when the last step, an execve, succeeded. The
// calling thread must be locked, and must live until the child was waited for
// when the plan sets a parent-death signal.
func (p *Plan) Start(flags uintptr, pipes *Pipes) (pid int, err error) {
	defer pipes.started()
	if p.err != nil {
		return 0, p.err
	}
	c := &context{steps: unsafe.SliceData(p.steps), n: uintptr(len(p.steps)), errfd: uintptr(pipes.Errors)}
	stack := make([]uint64, stackSize/8)
	// On the heap, both: a goroutine's stack moves while the child uses them.
	p.keep = append(p.keep, c, &stack[0])

	var all, old [1]uint64
	all[0] = ^uint64(0)
	sigmask(&all, &old)
	child, errno := clone(flags, stack, c)
	sigmask(&old, nil)
	pipes.started()
	if errno != 0 {
		return 0, &StepError{Step: "make namespaces", Index: -1, Errno: syscall.Errno(errno)}
	}
	pid = int(child)
	var failed error
	if p.AfterClone != nil {
		if failed = p.AfterClone(pid); failed != nil {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	var report [16]byte
	n, err := readFull(pipes.errors, report[:])
	runtime.KeepAlive(p)
	words := (*[2]uint64)(unsafe.Pointer(&report[0]))
	if err == nil && failed == nil && (n == 0 || n == len(report) && words[0] == initBegun) {
		return pid, nil
	}
	for {
		if _, werr := unix.Wait4(pid, nil, 0, nil); werr != unix.EINTR {
			break
		}
	}
	switch {
	case failed != nil:
		return 0, failed
	case err != nil || n != len(report):
		return 0, fmt.Errorf("read report of the child (%d bytes): %w", n, err)
	}
	return 0, p.stepError(int(words[0]), syscall.Errno(words[1]))
}

func (p *Plan) stepError(index int, errno syscall.Errno) error {
	e := &StepError{Index: index, Errno: errno}
	switch {
	case index >= 0 && index < len(p.names):
		e.Step = p.names[index]
	case index == initExec:
		e.Step = StepExec
	case index == initClone:
		e.Step = "start the command below pid 1"
	case index == initOrder:
		e.Step = "change directory and load the system call filter"
	default:
		e.Step = fmt.Sprintf("step %d", index)
	}
	return e
}

func readFull(fd int, b []byte) (int, error) {
	n := 0
	for n < len(b) {
		k, err := unix.Read(fd, b[n:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || k == 0 {
			return n, err
		}
		n += k
	}
	return n, nil
}

func sigmask(set, old *[1]uint64) {
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
}
