//go:build amd64 || arm64

package spawn

import (
	"bytes"
	"errors"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A command without pid 1 must start with no handler of Go, with nothing
// blocked, and with what the caller ignores, whether clone3 is there or not;
// and a signal that arrives meanwhile must not run a handler of Go in the child.
func TestExecHasNoHandlers(t *testing.T) {
	signal.Ignore(unix.SIGUSR2)
	defer signal.Reset(unix.SIGUSR2)
	in := make(chan os.Signal, 1)
	signal.Notify(in, unix.SIGWINCH)
	defer signal.Stop(in)
	if !clearsHandlers() {
		t.Log("no clone3 here: only the other way is tried")
	}
	ignored := ignoredHere(t)
	was := clone3.Load()
	defer clone3.Store(was)
	for _, way := range []int32{was, refused} {
		clone3.Store(way)
		stop := make(chan struct{})
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = unix.Kill(0, unix.SIGWINCH) // to the group, the child among it
					time.Sleep(20 * time.Microsecond)
				}
			}
		}()
		for range 100 {
			out := output(t, "/bin/cat", "/proc/self/status")
			for _, want := range []string{
				"\nSigBlk:\t0000000000000000\n", ignored, "\nSigCgt:\t0000000000000000\n",
			} {
				if !strings.Contains(out, want) {
					t.Fatalf("way %d: no %q in %s", way, want, out)
				}
			}
		}
		close(stop)
	}
}

// ignoredHere is the line that says what this process ignores: SIGUSR2, and what
// whoever started the test ignores (nohup).
func ignoredHere(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if hex, ok := strings.CutPrefix(line, "SigIgn:\t"); ok {
			mask, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
			if err != nil || mask&(1<<(unix.SIGUSR2-1)) == 0 {
				t.Fatalf("%q, %v", line, err)
			}
			return "\n" + line
		}
	}
	t.Fatal("no SigIgn")
	return ""
}

// output runs a command without pid 1.
func output(t *testing.T, argv ...string) string {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	pipes, err := NewPipes(0)
	if err != nil {
		t.Fatal(err)
	}
	defer pipes.Close()
	p := NewPlan()
	p.Call("standard output", unix.SYS_DUP3, []uintptr{write.Fd(), 1, 0})
	p.ParentIsHere()
	p.CloseOnExec()
	p.Exec(argv[0], argv, nil)
	pid, err := p.Start(0, pipes)
	if err != nil {
		t.Fatal(err)
	}
	write.Close()
	var text bytes.Buffer
	_, _ = text.ReadFrom(read)
	var status unix.WaitStatus
	for {
		if _, err := unix.Wait4(pid, &status, 0, nil); err != unix.EINTR {
			break
		}
	}
	if status.ExitStatus() != 0 {
		t.Fatalf("%q ended with %#x", argv, uint32(status))
	}
	return text.String()
}

// A child whose parent is another process executes nothing. The kernel gives an
// orphan another one; CLONE_PARENT does the same without the race.
func TestParentIsHere(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer clone3.Store(clone3.Swap(refused)) // it has no CLONE_PARENT with a signal at the end
	made := t.TempDir() + "/made"
	for _, tt := range []struct {
		flags uintptr
		want  error
	}{{0, nil}, {unix.CLONE_PARENT, unix.ESTALE}} {
		pipes, err := NewPipes(0)
		if err != nil {
			t.Fatal(err)
		}
		defer pipes.Close()
		p := NewPlan()
		p.ParentIsHere()
		p.Call("make a directory", unix.SYS_MKDIRAT, []uintptr{Cwd, p.Str(made), 0o700})
		p.Exec("/bin/true", []string{"true"}, nil)
		pid, err := p.Start(tt.flags, pipes)
		if !errors.Is(err, tt.want) {
			t.Errorf("flags %#x: %v, want %v", tt.flags, err, tt.want)
		}
		if err == nil {
			_, _ = unix.Wait4(pid, nil, 0, nil)
		}
		if there := os.Remove(made) == nil; there != (tt.want == nil) {
			t.Errorf("flags %#x: the step after it was done: %v", tt.flags, there)
		}
	}
}
