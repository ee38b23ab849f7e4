//go:build amd64 || arm64

package under

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/bound"
	"github.com/sbx-run/sbx/sandbox/layout"
	"github.com/sbx-run/sbx/sandbox/proc"
	"github.com/sbx-run/sbx/sandbox/spawn"
)

// NewInit makes the process of ours that a program executes from an anonymous file.
func NewInit() (*spawn.Init, error) {
	i, err := spawn.NewInit()
	if err == nil && i.FD < 0 {
		err = errors.New("this host runs no anonymous files (vm.memfd_noexec is 2)")
	}
	return i, err
}

// Run is one command on its way.
type Run struct {
	Init    *spawn.Init
	Profile sandbox.Profile
	Command sandbox.Command
	Path    string     // of the command's file
	Streams [3]uintptr // its descriptors 0, 1 and 2
	Dir     string     // where our process goes; empty: the program sees to that
	Filter  []byte     // that our process loads; nil: none
	Bounds  bound.Bounds
	Hold    *bound.Hold

	Program string   // that confines
	Env     []string // its environment, which is not the command's
	// Tidies says that the program takes away what it left on the host once our
	// process has ended. It gets to do so: it is not killed with the caller, whose
	// end our process learns by the lifeline.
	Tidies bool
	// Options says what the program is told before the command line of our process,
	// once all descriptors are open. Keep lists those that go along.
	Options func(*Run) ([]string, error)
	Keep    []int
	// Steps, when it is set, appends to the plan before the program is executed.
	Steps func(*spawn.Plan)
	// Ready looks at what the program has made, and finds our process: it is there,
	// and waits. With an error nothing of the command runs. Sent comes before that.
	Ready func(r *Run, program int) (pid int, err error)
	Sent  func()
	// Writable is for Ready to set: where the command may write, parents before children.
	Writable []string

	stderr, order, words int
	domain               int // the Landlock ruleset that our process enters; -1: this kernel has none that holds writing
	said                 *os.File
	pipes                *spawn.Pipes
	pid                  int // of our process
}

// SetupError is what the program said when it ended before the command began.
type SetupError struct{ Program, Said string }

func (e *SetupError) Error() string {
	if e.Said == "" {
		return e.Program + " ended before the command began, and said nothing"
	}
	return e.Program + ": " + e.Said
}

// Start starts the command. The error of a program that ended is a *SetupError.
// release is called when the command was waited for.
func (r *Run) Start(release func()) (proc.Spawned, error) {
	var err error
	if r.pipes, err = spawn.NewPipes(spawn.WithInit | spawn.WithRelease); err != nil {
		return proc.Spawned{}, err
	}
	r.stderr, r.order, r.words, r.domain = -1, -1, -1, -1
	pid, err := r.start()
	r.close()
	if err != nil {
		r.pipes.Close()
		return proc.Spawned{}, StepError(err)
	}
	ended := func() (proc.Ended, bool) {
		e, ok := r.pipes.Ending()
		return proc.Ended{Status: syscall.WaitStatus(e.Status), PeakBytes: e.PeakBytes}, ok
	}
	done := func() {
		r.pipes.Close()
		release()
	}
	return proc.Spawned{PID: pid, Inner: r.pid, Ended: ended, Release: done}, nil
}

func (r *Run) start() (int, error) {
	if err := r.open(); err != nil {
		return 0, err
	}
	options, err := r.Options(r)
	if err != nil {
		return 0, err
	}
	p := r.plan(options)
	if r.Profile.Identity != nil {
		defer spawn.KeepDumpable()()
	}
	pid, err := p.Start(0, r.pipes)
	if err == nil && r.pid == 0 {
		err = r.unready(pid)
	}
	return pid, err
}

// open makes what goes along. The program's own words go elsewhere than to the
// command's standard error, which our process gets on another number.
func (r *Run) open() error {
	var err error
	if r.stderr, err = unix.FcntlInt(r.Streams[2], unix.F_DUPFD_CLOEXEC, 3); err != nil {
		return err
	}
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	r.said, r.words = os.NewFile(uintptr(fds[0]), r.Program), fds[1]
	if err = r.confine(); err != nil {
		return err
	}
	r.order, err = spawn.NewOrder(r.Path, r.Dir, r.Command.Argv, r.Command.Env, r.Filter, r.domain)
	return err
}

// sent closes what the program has now.
func (r *Run) sent() {
	closeAll(&r.stderr, &r.order, &r.words)
	if r.Sent != nil {
		r.Sent()
	}
}

func closeAll(fds ...*int) {
	for _, fd := range fds {
		if *fd >= 0 {
			_ = unix.Close(*fd)
			*fd = -1
		}
	}
}

func (r *Run) close() {
	r.sent()
	closeAll(&r.domain)
	if r.said != nil {
		_ = r.said.Close()
	}
}

// Descriptors lists what our process needs and the program must leave open.
func (r *Run) Descriptors() []int {
	list := []int{r.pipes.Errors, r.pipes.Lifeline, r.pipes.Status, r.pipes.Go, r.Init.FD, r.order, r.stderr}
	if r.domain >= 0 {
		list = append(list, r.domain)
	}
	return list
}

// plan is the table up to what executes the program. It gets all signals
// blocked, so that one from the terminal, which is for the command, does not end
// it.
func (r *Run) plan(options []string) *spawn.Plan {
	p := spawn.NewPlan()
	r.Bounds.Enter(p, r.Hold)
	if !r.Profile.Supervisor {
		p.Call("enter new process group", unix.SYS_SETPGID, []uintptr{0, 0})
	}
	p.Stdio([3]uintptr{r.Streams[0], r.Streams[1], uintptr(r.words)})
	if i := r.Profile.Identity; i != nil {
		p.Become(i.UID, i.GID, i.Groups)
	}
	if !r.Tidies {
		p.DieWithParent()
	}
	p.ParentLives(r.pipes)
	p.Call("change directory", unix.SYS_CHDIR, []uintptr{p.Str("/")})
	bound.Usual(p)
	r.Bounds.SetEach(p)
	p.CloseOnExec(append(r.Descriptors(), r.Keep...)...)
	if r.Steps != nil {
		r.Steps(p)
	}
	args := append(options, "--", "/proc/self/fd/"+strconv.Itoa(r.Init.FD))
	p.ExecBlocked(r.Program, append(args, r.pipes.InitArguments(r.stderr, r.order)[1:]...), r.Env)
	p.AfterClone = r.prepare
	return p
}

// prepare waits for our process, which waits for us. When the program ends before
// that, Start tells why, or unready.
func (r *Run) prepare(program int) error {
	r.sent()
	if !r.pipes.Ready() {
		return nil
	}
	pid, err := r.Ready(r, program)
	if err == nil {
		err = r.enclose(pid)
	}
	if err == nil {
		err = limitProcesses(pid, r.Hold.Processes())
	}
	if err != nil {
		r.refuse()
		return err
	}
	r.pid = pid
	return r.pipes.Release()
}

func limitProcesses(pid int, n uint64) error {
	if n == 0 {
		return nil
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: n, Max: n}, nil); err != nil {
		return &proc.StepError{Step: "limit the number of processes", Err: err}
	}
	return nil
}

// tidyMillis is how long a program may take to tidy up after a command that does
// not begin, before it is killed.
const tidyMillis = 2000

// refuse ends our process, which waits, and lets a program that tidies up do so.
func (r *Run) refuse() {
	if !r.Tidies {
		return
	}
	r.pipes.Refuse()
	ends := []unix.PollFd{{Fd: int32(r.said.Fd())}} // its standard error hangs up
	for {
		if _, err := unix.Poll(ends, tidyMillis); err != unix.EINTR {
			return
		}
	}
}

// unready is the error of a program that ended before our process began.
func (r *Run) unready(pid int) error {
	for {
		if _, err := unix.Wait4(pid, nil, 0, nil); err != unix.EINTR {
			break
		}
	}
	const longest = 4096
	said, _ := io.ReadAll(io.LimitReader(r.said, longest))
	first, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
	name := r.Program[strings.LastIndexByte(r.Program, '/')+1:]
	return &SetupError{name, strings.TrimPrefix(first, name+": ")}
}

// StepError translates the error of a step.
func StepError(err error) error {
	var step *spawn.StepError
	if errors.As(err, &step) {
		return &proc.StepError{Step: step.Step, Err: step.Errno}
	}
	return err
}

// Await waits for a child that does its steps and ends.
func Await(p *spawn.Plan, pipes *spawn.Pipes) error {
	p.Call("end", unix.SYS_EXIT_GROUP, []uintptr{0})
	child, err := p.Start(0, pipes)
	if err != nil {
		return StepError(err)
	}
	for {
		if _, err := unix.Wait4(child, nil, 0, nil); err != unix.EINTR {
			return nil
		}
	}
}

// Serve lets a child of ours enter the network of a process, make the sockets of
// the proxy there and send them to it, and waits until the proxy serves.
func Serve(pid int, gate Gate, sockets func(*spawn.Plan)) error {
	if err := within(pid, "net", unix.CLONE_NEWNET, sockets); err != nil {
		return err
	}
	gate.CloseChild()
	return gate.Ready()
}

// Apart takes care that nothing that the host mounts from now on appears among the
// mounts of a process, where it could be written. Programs that lay out mounts
// leave that open, so that removable media appear.
//
// What it gives is the mountinfo of the process afterwards.
func Apart(pid int) (mountinfo string, err error) {
	name := "/proc/" + strconv.Itoa(pid) + "/mountinfo"
	text, err := readProc(name)
	if err != nil {
		return "", fmt.Errorf("look at the mounts of the command: %w", err)
	}
	if !layout.Propagates(text) {
		return text, nil
	}
	// A program may have mounted something over the root that its command does not see.
	root, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("open the command's root: %w", err)
	}
	defer unix.Close(root)
	err = within(pid, "mnt", unix.CLONE_NEWNS, func(p *spawn.Plan) {
		p.Call("go to the command's root", unix.SYS_FCHDIR, []uintptr{uintptr(root)})
		p.Call("make mounts private", unix.SYS_MOUNT, []uintptr{0, p.Str("."), 0, unix.MS_REC | unix.MS_PRIVATE, 0})
	})
	if err != nil {
		return "", err
	}
	if text, err = readProc(name); err != nil {
		return "", fmt.Errorf("look at the mounts of the command: %w", err)
	}
	if layout.Propagates(text) {
		return "", errors.New("the mounts of the command cannot be made private")
	}
	return text, nil
}

// readProc reads a file of /proc in few calls: its size is not known, and package
// os begins with little, and the kernel writes the file anew for each call.
func readProc(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text := bytes.NewBuffer(make([]byte, 0, 32<<10))
	_, err = text.ReadFrom(f)
	return text.String(), err
}

// within lets a child of ours enter a namespace of a process and go through steps.
func within(pid int, kind string, flag uintptr, steps func(*spawn.Plan)) error {
	space, err := os.Open("/proc/" + strconv.Itoa(pid) + "/ns/" + kind)
	if err != nil {
		return fmt.Errorf("open a namespace of the command: %w", err)
	}
	defer space.Close()
	owner, err := unix.IoctlRetInt(int(space.Fd()), unix.NS_GET_USERNS)
	if err != nil {
		return fmt.Errorf("find the owner of the command's namespace: %w", err)
	}
	defer unix.Close(owner)
	pipes, err := spawn.NewPipes(0)
	if err != nil {
		return err
	}
	defer pipes.Close()
	p := spawn.NewPlan()
	p.DieWithParent()
	if !isOurs(owner) { // one cannot enter where one is
		p.Call("enter the user namespace of the command", unix.SYS_SETNS, []uintptr{uintptr(owner), unix.CLONE_NEWUSER})
	}
	p.Call("enter the command's namespace ("+kind+")", unix.SYS_SETNS, []uintptr{space.Fd(), flag})
	steps(p)
	return Await(p, pipes)
}

// isOurs says whether a user namespace is the one of this process.
func isOurs(space int) bool {
	var its, ours unix.Stat_t
	return unix.Fstat(space, &its) == nil && unix.Stat("/proc/self/ns/user", &ours) == nil && its.Ino == ours.Ino
}

// Gate is what Serve needs of a running proxy.
type Gate interface {
	CloseChild()
	Ready() error
}
