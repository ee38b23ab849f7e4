//go:build linux && amd64

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
	"unsafe"

	"golang.org/x/sys/unix"
)

const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWPID

// run starts argv below pid 1 in user, pid, mount, ipc and uts namespaces.
func run(t *testing.T, i *Init, stdout *os.File, tweak func(*Plan), argv ...string) (status unix.WaitStatus, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var ends [3][2]int
	for k := range ends {
		if err := unix.Pipe2(ends[k][:], unix.O_CLOEXEC); err != nil {
			return 0, err
		}
	}
	errs, lifeline, stat := ends[0], ends[1], ends[2]
	defer unix.Close(errs[0])
	defer unix.Close(lifeline[1])
	defer unix.Close(stat[0])

	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/mnt", &st); err != nil {
		return 0, err
	}
	p := NewPlan()
	mine, its := new(uint64), new(unix.Stat_t)
	*mine = st.Ino
	p.Call("die with the caller", unix.SYS_PRCTL, []uintptr{unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL)})
	p.Call("unshare mounts", unix.SYS_UNSHARE, []uintptr{unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS})
	p.Call("look at the mount namespace", unix.SYS_NEWFSTATAT, []uintptr{unixAtFdcwd, p.Str("/proc/self/ns/mnt"), Ptr(p, its), 0})
	p.Differ("SAFETY: a new mount namespace", mine, &its.Ino)
	if stdout != nil {
		p.Call("standard output", unix.SYS_DUP3, []uintptr{stdout.Fd(), 1, 0})
	}
	if tweak != nil {
		tweak(p)
	}
	p.Call("close descriptors on exec", unix.SYS_CLOSE_RANGE, []uintptr{3, ^uintptr(0) >> 32, unix.CLOSE_RANGE_CLOEXEC})
	for _, fd := range []int{errs[1], lifeline[0], stat[1]} {
		p.Call("keep a pipe", unix.SYS_FCNTL, []uintptr{uintptr(fd), unix.F_SETFD, 0})
	}
	p.Exec(i, errs[1], lifeline[0], stat[1], 0, argv[0], argv, []string{"A=1"})
	child, err := p.Start(namespaces, errs[1], errs[0])
	unix.Close(lifeline[0])
	unix.Close(stat[1])
	if err != nil {
		return 0, err
	}
	var ws unix.WaitStatus
	for {
		if _, err := unix.Wait4(child.PID, &ws, 0, nil); err != unix.EINTR {
			break
		}
	}
	var raw uint32
	b := (*[4]byte)(unsafe.Pointer(&raw))[:]
	if n, _ := readFull(stat[0], b); n == 4 {
		return unix.WaitStatus(raw), nil
	}
	return ws, errors.New("no status from pid 1")
}

const unixAtFdcwd = ^uintptr(99) // AT_FDCWD, -100

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
	if !errors.As(err, &step) || step.Step != "execute the command" || step.Errno != unix.ENOENT {
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
		p.Call("open", unix.SYS_OPENAT, []uintptr{unixAtFdcwd, p.Str("/dev/null"), unix.O_RDONLY}, Store(r))
		p.Call("close it", unix.SYS_CLOSE, nil, Load(r))
		p.Call("close it twice", unix.SYS_CLOSE, nil, Load(r), IgnoreError)
	}, "/bin/true")
	if err != nil {
		t.Errorf("stored result: %v", err)
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
	if len(image) > 1024 {
		t.Errorf("pid 1 has %d bytes", len(image))
	}
	t.Logf("pid 1 has %d bytes", len(image))
}
