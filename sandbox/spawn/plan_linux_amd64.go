//go:build linux && amd64

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
)

// equal is the number of a step that is no system call: it fails when the two
// words that its first two arguments point to are equal.
const equal = ^uintptr(0)

// step is one system call. Its layout is known to the assembly.
type step struct {
	nr    uintptr
	a     [6]uintptr
	out   uintptr // address where the result is stored, or 0
	flags uintptr
	_     uintptr
}

// Plan is the set-up as a table: what Start does is what String prints.
type Plan struct {
	steps []step
	names []string // what each step is for
	texts []string // the same with its arguments, for people
	keep  []any    // what the addresses in steps point to
	err   error
}

// maxSteps is the fixed capacity of a plan: addresses of its elements are taken.
const maxSteps = 4096

// NewPlan returns an empty plan.
func NewPlan() *Plan {
	return &Plan{steps: make([]step, 0, maxSteps)}
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
	p.keep = append(p.keep, a, b)
	p.add(step{nr: equal, a: [6]uintptr{uintptr(unsafe.Pointer(a)), uintptr(unsafe.Pointer(b))}}, what)
}

func (p *Plan) add(s step, what string) {
	if len(p.steps) == cap(p.steps) {
		p.fail(fmt.Errorf("plan %q: more than %d steps", what, maxSteps))
		return
	}
	p.steps = append(p.steps, s)
	p.names = append(p.names, what)
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
	fail  [2]uint64 // written to errfd: index and errno
}

// Child is a started program: pid 1 of its namespaces.
type Child struct {
	PID int
}

// stackSize is what the child gets for itself; the assembly hardly uses it.
const stackSize = 16 << 10

// Start clones a child with the given CLONE_NEW* flags, lets it go through the
// plan, and returns when the last step, an execve, succeeded. errfd is the
// child's number of the write end of a pipe made by the caller with O_CLOEXEC;
// errs is the read end. The calling thread must be locked and must live until
// the child was waited for when the plan sets a parent-death signal.
func (p *Plan) Start(flags uintptr, errfd, errs int) (*Child, error) {
	if p.err != nil {
		unix.Close(errfd)
		return nil, p.err
	}
	stack, err := unix.Mmap(-1, 0, stackSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		unix.Close(errfd)
		return nil, fmt.Errorf("map stack: %w", err)
	}
	defer unix.Munmap(stack)
	c := &context{steps: unsafe.SliceData(p.steps), n: uintptr(len(p.steps)), errfd: uintptr(errfd)}
	top := uintptr(unsafe.Pointer(&stack[0])) + stackSize - 64

	var all, old [1]uint64
	all[0] = ^uint64(0)
	sigmask(&all, &old)
	pid, errno := rawClone(unix.CLONE_VM|flags|uintptr(unix.SIGCHLD), top, c)
	sigmask(&old, nil)
	unix.Close(errfd)
	if errno != 0 {
		return nil, &StepError{Step: "make namespaces", Index: -1, Errno: syscall.Errno(errno)}
	}

	var report [16]byte
	n, err := readFull(errs, report[:])
	runtime.KeepAlive(c)
	runtime.KeepAlive(p)
	if err == nil && n == 0 {
		return &Child{PID: int(pid)}, nil
	}
	var ws unix.WaitStatus
	for {
		if _, werr := unix.Wait4(int(pid), &ws, 0, nil); werr != unix.EINTR {
			break
		}
	}
	if err != nil || n != 16 {
		return nil, fmt.Errorf("read report of the child (%d bytes): %w", n, err)
	}
	words := (*[2]uint64)(unsafe.Pointer(&report[0]))
	return nil, p.stepError(int(words[0]), syscall.Errno(words[1]))
}

func (p *Plan) stepError(index int, errno syscall.Errno) error {
	e := &StepError{Index: index, Errno: errno}
	switch {
	case index >= 0 && index < len(p.names):
		e.Step = p.names[index]
	case index == initExec:
		e.Step = "execute the command"
	case index == initClone:
		e.Step = "start the command below pid 1"
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
