//go:build amd64 || arm64

package spawn

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWPID

// run starts argv below pid 1 in user, pid, mount, ipc and uts namespaces.
func run(t *testing.T, i *Init, stdout *os.File, tweak func(*Plan), argv ...string) (status unix.WaitStatus, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pipes, err := NewPipes(WithInit)
	if err != nil {
		return 0, err
	}
	defer pipes.Close()
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/mnt", &st); err != nil {
		return 0, err
	}
	p := NewPlan()
	mine, its := new(uint64), new(unix.Stat_t)
	*mine = st.Ino
	p.DieWithParent()
	p.Call("unshare mounts", unix.SYS_UNSHARE, []uintptr{unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS})
	p.Call("look at the mount namespace", unix.SYS_NEWFSTATAT, []uintptr{Cwd, p.Str("/proc/self/ns/mnt"), Ptr(p, its), 0})
	p.Differ("SAFETY: a new mount namespace", mine, &its.Ino)
	if stdout != nil {
		p.Call("standard output", unix.SYS_DUP3, []uintptr{stdout.Fd(), 1, 0})
	}
	if tweak != nil {
		tweak(p)
	}
	p.ParentLives(pipes)
	p.CloseOnExec(pipes.Errors, pipes.Lifeline, pipes.Status)
	p.ExecInit(i, pipes, argv[0], argv, []string{"A=1"})
	pid, err := p.Start(namespaces, pipes)
	if err != nil {
		return 0, err
	}
	var pid1 unix.WaitStatus
	for {
		if _, err := unix.Wait4(pid, &pid1, 0, nil); err != unix.EINTR {
			break
		}
	}
	end, ok := pipes.Ending()
	if !ok {
		return 0, fmt.Errorf("no status from pid 1, which ended with %#x", uint32(pid1))
	}
	if end.PeakBytes == 0 {
		return 0, errors.New("no peak memory")
	}
	return end.Status, nil
}

func newInit(t *testing.T) *Init {
	t.Helper()
	i, err := NewInit()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { i.Close() })
	return i
}

func TestStatus(t *testing.T) {
	i := newInit(t)
	for _, c := range []struct {
		script string
		code   int
		signal syscall.Signal
	}{{"exit 0", 0, -1}, {"exit 42", 42, -1}, {"exit 255", 255, -1}, {"kill -TERM $$", -1, 15}, {"kill -SEGV $$", -1, 11}, {"kill -KILL $$", -1, 9}, {"kill -9 1; kill -TERM 1; kill -STOP 1; exit 7", 7, -1}} {
		ws, err := run(t, i, nil, nil, "/bin/sh", "-c", c.script)
		if err != nil {
			t.Fatalf("%s: %v", c.script, err)
		}
		if c.signal < 0 && ws.ExitStatus() != c.code || c.signal >= 0 && ws.Signal() != c.signal {
			t.Errorf("%s: status %#x", c.script, uint32(ws))
		}
	}
}

func TestPidOne(t *testing.T) {
	i := newInit(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		defer w.Close()
		_, err := run(t, i, w, nil, "/bin/sh", "-c", "echo $$ $PPID $A; (setsid sleep 300 &); exit 0")
		done <- err
	}()
	start := time.Now()
	out, _ := io.ReadAll(r)
	if err := <-done; err != nil || strings.TrimSpace(string(out)) != "2 1 1" {
		t.Errorf("%v, output %q", err, out)
	}
	if time.Since(start) > 100*time.Second {
		t.Error("the pipe was held open by a process that should be dead")
	}
}

func TestFailingSteps(t *testing.T) {
	i := newInit(t)
	_, err := run(t, i, nil, nil, "/no/such/program")
	var step *StepError
	if !errors.As(err, &step) || step.Step != StepExec || step.Errno != unix.ENOENT {
		t.Errorf("missing program: %v", err)
	}
	_, err = run(t, i, nil, func(p *Plan) {
		p.Call("mount nothing", unix.SYS_MOUNT, []uintptr{p.Str("x"), p.Str("/no/such/place"), p.Str("tmpfs"), 0, 0})
	}, "/bin/true")
	if !errors.As(err, &step) || step.Step != "mount nothing" || step.Errno != unix.ENOENT {
		t.Errorf("failing mount: %v", err)
	}
	_, err = run(t, i, nil, func(p *Plan) {
		v := new(uint64)
		p.Differ("equal words", v, v)
	}, "/bin/true")
	if !errors.As(err, &step) || step.Step != "equal words" {
		t.Errorf("equal words: %v", err)
	}
	_, err = run(t, i, nil, func(p *Plan) {
		r := p.NewRef()
		p.Call("open", unix.SYS_OPENAT, []uintptr{Cwd, p.Str("/dev/null"), unix.O_RDONLY}, Store(r))
		p.Call("close it", unix.SYS_CLOSE, nil, Load(r))
		p.Call("close it twice", unix.SYS_CLOSE, nil, Load(r), IgnoreError)
	}, "/bin/true")
	if err != nil {
		t.Errorf("stored result: %v", err)
	}
	_, err = run(t, i, nil, func(p *Plan) {
		p.Same("different words", new(uint64), func() *uint64 { v := uint64(1); return &v }())
	}, "/bin/true")
	if !errors.As(err, &step) || step.Step != "different words" || step.Errno != unix.ESTALE {
		t.Errorf("different words: %v", err)
	}
}

// A step may be wanted to fail, and may stand for others that make no sense
// without it.
func TestWantAndSkip(t *testing.T) {
	i := newInit(t)
	open := func(p *Plan, name string, o ...Opt) {
		p.Call("open", unix.SYS_OPENAT, []uintptr{Cwd, p.Str(name), unix.O_RDONLY | unix.O_CLOEXEC}, o...)
	}
	for _, tt := range []struct {
		name  string
		plan  func(*Plan)
		errno syscall.Errno
	}{
		{"wanted", func(p *Plan) { open(p, "/no/such/file", Want(unix.ENOENT)) }, 0},
		{"another", func(p *Plan) { open(p, "/no/such/file", Want(unix.EROFS)) }, unix.ENOENT},
		{"worked", func(p *Plan) { open(p, "/dev/null", Want(unix.ENOENT)) }, unix.EPERM},
		{"skipped", func(p *Plan) {
			open(p, "/no/such/file", SkipAbsent(2))
			open(p, "/no/such/file")
			open(p, "/no/such/file")
		}, 0},
		{"not skipped", func(p *Plan) { open(p, "/dev/null", SkipAbsent(1)); open(p, "/no/such/file") }, unix.ENOENT},
		{"skipped too little", func(p *Plan) {
			open(p, "/no/such/file", SkipAbsent(1))
			open(p, "/no/such/file")
			open(p, "/no/such/file")
		}, unix.ENOENT},
		{"third argument", func(p *Plan) {
			r, dir := p.NewRef(), p.NewRef()
			open(p, "/", Store(dir))
			p.Call("directory", unix.SYS_FCHDIR, nil, Load(dir))
			p.Call("number", unix.SYS_FCNTL, []uintptr{0, unix.F_DUPFD_CLOEXEC, 100}, Store(r))
			p.Call("copy", unix.SYS_FCNTL, []uintptr{0, unix.F_DUPFD_CLOEXEC, 0}, Load2(r), Want(unix.EINVAL))
		}, unix.EPERM},
	} {
		_, err := run(t, i, nil, tt.plan, "/bin/true")
		var step *StepError
		if tt.errno == 0 && err != nil || tt.errno != 0 && (!errors.As(err, &step) || step.Errno != tt.errno) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.errno)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	i := newInit(t)
	errs := make(chan error, 64)
	for k := range 64 {
		go func() {
			for n := range 4 {
				want := (k + n) % 100
				ws, err := run(t, i, nil, nil, "/bin/sh", "-c", fmt.Sprintf("exit %d", want))
				if err == nil && ws.ExitStatus() != want {
					err = fmt.Errorf("status %#x, want exit %d", uint32(ws), want)
				}
				if err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range 64 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestImage(t *testing.T) {
	image, err := initImage()
	if err != nil {
		t.Fatal(err)
	}
	if len(image) > 1280 {
		t.Errorf("pid 1 has %d bytes", len(image))
	}
	t.Logf("pid 1 has %d bytes", len(image))
}

// A child waits at a closed latch, and goes on when it is opened.
func TestLatch(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := func(mind func(Latch) error) (string, error) {
		pipes, err := NewPipes(0)
		if err != nil {
			t.Fatal(err)
		}
		defer pipes.Close()
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		p := NewPlan()
		p.DieWithParent()
		p.Stdio([3]uintptr{0, w.Fd(), 2})
		latch := p.Wait("wait for the test")
		p.CloseOnExec()
		p.Exec("/bin/echo", []string{"echo", "on"}, nil)
		p.AfterClone = func(int) error { return mind(latch) }
		pid, err := p.Start(0, pipes)
		w.Close()
		out, _ := io.ReadAll(r)
		if err == nil {
			_, err = unix.Wait4(pid, nil, 0, nil)
		}
		return string(out), err
	}
	for range 50 {
		if out, err := start(func(l Latch) error { l.Open(); return nil }); out != "on\n" || err != nil {
			t.Fatalf("opened at once: %q, %v", out, err)
		}
	}
	if out, err := start(func(l Latch) error { time.Sleep(20 * time.Millisecond); l.Open(); return nil }); out != "on\n" || err != nil {
		t.Fatalf("opened late: %q, %v", out, err)
	}
	no := errors.New("no")
	if out, err := start(func(Latch) error { time.Sleep(20 * time.Millisecond); return no }); out != "" || !errors.Is(err, no) {
		t.Fatalf("never opened: %q, %v", out, err)
	}
}
