//go:build amd64 || arm64

package pid1

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/filter"
	"github.com/sbx-run/sbx/sandbox/landlock"
	"github.com/sbx-run/sbx/sandbox/proc"
)

// exitTrouble is the status of a first process that could not do its work. It
// never stands for the command's: that one travels in the answer.
const exitTrouble = 125

// Main is the program in the container. args are without the program's name.
func Main(args []string) int {
	// Nothing of the command may look into this process, which holds the
	// connection.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	// A signal of the terminal reaches this process too, and is not for it. It is
	// caught, not ignored: what is ignored the command would inherit.
	catchSignals()
	spareThreads()
	err := errors.New("usage: sbx-init once|serve")
	if len(args) == 1 {
		switch args[0] {
		case ModeOnce:
			err = atSocket(func(c *Conn) error { return serveOne(c) })
		case ModeServe:
			err = atSocket(serve)
		case modeExec:
			err = execHere()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbx-init: error:", err)
		return exitTrouble
	}
	return 0
}

func atSocket(work func(*Conn) error) error {
	fd, err := dial(SocketDir + "/" + SocketName)
	if err != nil {
		return fmt.Errorf("connect to sbx: %w", err)
	}
	c, err := newConn(fd)
	if err != nil {
		return err
	}
	defer c.Close()
	return work(c)
}

// execHere serves the connection that a serving process handed over as
// descriptor 3.
func execHere() error {
	unix.CloseOnExec(3)
	c, err := newConn(3)
	if err != nil {
		return err
	}
	defer c.Close()
	return serveOne(c)
}

// serveOne takes one order, runs it and answers.
func serveOne(c *Conn) error {
	m, files, err := c.receive()
	if err != nil {
		return err
	}
	defer closeFiles(files)
	if m.Order == nil || len(files) != 3 {
		return errors.New("take order: it is not complete")
	}
	o := *m.Order
	if o.Listener {
		if err := offerListener(c); err != nil {
			return c.send(message{Answer: &Answer{Error: "make the listener of the proxy: " + err.Error()}})
		}
	}
	if wanted(o.Terminal) {
		host, err := o.openTerminal(files)
		if err != nil {
			return c.send(message{Answer: &Answer{Error: "open terminal: " + err.Error()}})
		}
		err = c.send(message{Ready: true}, host)
		_ = host.Close()
		if err != nil {
			return err
		}
	}
	answer := o.run(c, files)
	return c.send(message{Answer: &answer})
}

func wanted(of [3]bool) bool { return of[0] || of[1] || of[2] }

// run runs the command and, meanwhile, hears the host.
func (o Order) run(c *Conn, files []*os.File) Answer {
	signals := make(chan os.Signal, 16)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for {
			m, files, err := c.receive()
			closeFiles(files)
			if err != nil || m.End {
				return // the host is gone, or its caller is
			}
			if m.Signal > 0 {
				signals <- syscall.Signal(m.Signal)
			}
		}
	}()
	program, err := filter.Program(o.Filters...)
	if err == nil {
		err = o.checkPlaces()
	}
	if err == nil {
		err = limitFiles(o.Limits)
	}
	domain := -1
	if err == nil {
		abi, _ := landlock.ABI()
		domain, err = enclose(abi, [3]uintptr{files[0].Fd(), files[1].Fd(), files[2].Fd()})
	}
	if err != nil {
		return Answer{Error: err.Error()}
	}
	if domain >= 0 {
		defer unix.Close(domain)
	}
	result, err := proc.Run(context.Background(), proc.Job{
		Command: sandbox.Command{
			Argv: o.Argv, Env: o.environment(), Dir: o.Dir, Stdin: files[0], Stdout: files[1], Stderr: files[2],
			Timeout: o.Timeout, Grace: o.Grace, Orphaned: gone, Signals: signals,
		},
		Dir: o.Dir, Supervisor: true, NoCore: true, Limits: o.Limits, Group: o.group(),
		Prepare: func(t proc.Thread) error { return confine(domain, program, filter.ThreadShield(t.ID)) },
	})
	if o.Limits.TempBytes > 0 && result.Limit == "" && o.tempFull() {
		result.Limit = sandbox.OverTemp
	}
	a := Answer{Result: result}
	if err != nil {
		a.Error, a.Lost = err.Error(), errors.Is(err, sandbox.ErrLost)
	}
	return a
}

// limitFiles bounds the files of this process, which writes none, so that the command
// begins with the limit. One that is set when it has begun comes too late for what it
// has started by then, and not each engine sets those that it is asked for.
func limitFiles(l sandbox.Limits) error {
	for _, r := range proc.ResourceLimits(sandbox.Limits{FileBytes: l.FileBytes}) {
		if err := unix.Setrlimit(r.Resource, &unix.Rlimit{Cur: r.Soft, Max: r.Hard}); err != nil {
			return &proc.StepError{Step: r.What, Err: err}
		}
	}
	return nil
}

// tempFull reports a temp directory in which there is no room for another page.
func (o Order) tempFull() bool {
	dirs := []string{"/tmp", "/var/tmp"}
	for _, entry := range o.Env {
		if dir, ok := strings.CutPrefix(entry, "TMPDIR="); ok {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil && st.Type == unix.TMPFS_MAGIC && st.Bavail == 0 {
			return true
		}
	}
	return false
}

// group is nil without limits: then nothing has to be watched.
func (o Order) group() proc.Group {
	if len(o.Limits.Asked()) == 0 {
		return nil
	}
	return ownGroup{o.Limits}
}

// checkPlaces refuses to run the command among mounts of something else. Each
// place has a mount of its own, so that there is none elsewhere, either: a name that
// is a link for a moment leads the engine to mount another directory, or in another
// place. Where the kernel (before 5.8) or what stands for it does not tell mount
// points, only the former is found.
func (o Order) checkPlaces() error {
	for _, p := range o.Places {
		var st unix.Statx_t
		err := unix.Statx(unix.AT_FDCWD, p.Path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO, &st)
		if err != nil {
			return fmt.Errorf("look at mount: %w", &os.PathError{Op: "statx", Path: p.Path, Err: err})
		}
		now := Place{p.Path, unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino}
		if now != p || st.Attributes_mask&^st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0 {
			return fmt.Errorf("%q was replaced by something else while the container was made", p.Path)
		}
	}
	return nil
}

// environment is the order's under the image's PATH: the host's names places
// that the image need not have.
func (o Order) environment() []string {
	path := os.Getenv("PATH")
	env := make([]string, 0, len(o.Env)+1)
	for _, entry := range o.Env {
		if path == "" || !strings.HasPrefix(entry, "PATH=") {
			env = append(env, entry)
		}
	}
	if path != "" {
		env = append(env, "PATH="+path)
	}
	return env
}

// enclose makes a Landlock ruleset that lets the command write in the container, and to
// the files of the host that it was given for writing as streams. Where there is none
// (domain -1: an older kernel, or the engine refuses the calls) a stream that could be
// written otherwise is refused.
func enclose(abi int, streams [3]uintptr) (domain int, err error) {
	if !landlock.HoldsStreams(abi) {
		return -1, landlock.CheckStreams(streams, uint32(os.Geteuid()), "in this container nothing refuses that (Landlock of Linux 6.2 or newer does)", func(string) bool { return false })
	}
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open the container's root: %w", err)
	}
	defer unix.Close(root)
	if domain, err = landlock.Writes(0); err != nil {
		return -1, err
	}
	if err = landlock.AllowBelow(domain, root); err == nil {
		err = landlock.AllowStreams(domain, streams)
	}
	if err != nil {
		_ = unix.Close(domain)
		return -1, err
	}
	return domain, nil
}

// confine restricts the thread that starts the command. The engine was told to
// do the first two as well; here nothing depends on it.
func confine(domain int, programs ...[]byte) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return &proc.StepError{Step: "set no_new_privs", Err: err}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return &proc.StepError{Step: "drop capabilities", Err: err}
	}
	if domain >= 0 {
		if err := landlock.Restrict(domain); err != nil {
			return &proc.StepError{Step: "enter landlock domain", Err: err}
		}
	}
	code := filter.Load(programs...)
	load := unix.SockFprog{Len: uint16(len(code)), Filter: (*unix.SockFilter)(unsafe.Pointer(&code[0]))}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&load)))
	runtime.KeepAlive(code)
	if errno != 0 {
		return &proc.StepError{Step: "load system call filter", Err: errno}
	}
	return nil
}

// spareThreads makes the threads that this process may need before a command
// can use up the container's processes: the runtime ends a program that gets
// no thread.
func spareThreads() {
	for range 8 {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			time.Sleep(time.Millisecond)
		}()
	}
}
