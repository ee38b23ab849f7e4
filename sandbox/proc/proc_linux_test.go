package proc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

func TestMain(m *testing.M) {
	if script := os.Getenv("SBX_SUPERVISE"); script != "" {
		r, err := Run(context.Background(), Job{
			Command: sandbox.Command{Argv: []string{"sh", "-c", script}, Stdout: os.Stdout, Stderr: os.Stderr}, Dir: "/", Supervisor: true,
		})
		if err != nil {
			r.ExitCode = 125
		}
		os.Exit(r.ExitCode)
	}
	os.Exit(m.Run())
}

// A shell that started jobs may turn itself into a supervisor: its jobs are not
// the command's.
func TestEarlierChildrenAreLeftAlone(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `sleep 1 & echo $!; exec "$0"`, exe)
	cmd.Env = append(os.Environ(), "SBX_SUPERVISE=setsid sleep 600 & echo $!; exit 4")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 4 {
		t.Fatalf("%v %q", err, out)
	}
	job, daemon, ok := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if !ok {
		t.Fatalf("%q", out)
	}
	if _, err := os.Stat("/proc/" + job); err != nil {
		t.Errorf("the shell's own job was ended: %v", err)
	}
	if _, err := os.Stat("/proc/" + daemon); err == nil {
		t.Error("the daemon of the command lives")
	}
}

// A reader that never ends must not keep the result back.
func TestInputThatBlocks(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	got, err := Run(context.Background(), Job{Command: sandbox.Command{Argv: []string{"sh", "-c", "exit 6"}, Stdin: r}, Dir: "/"})
	if err != nil || got.ExitCode != 6 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestOneWriterForBoth(t *testing.T) {
	var both bytes.Buffer // not safe for two goroutines: -race would tell
	_, err := Run(context.Background(), Job{
		Command: sandbox.Command{Argv: []string{"sh", "-c", "for i in 1 2 3 4 5 6 7 8; do echo $i; echo $i >&2; done"}, Stdout: &both, Stderr: &both}, Dir: "/",
	})
	if want := "1\n1\n2\n2\n3\n3\n4\n4\n5\n5\n6\n6\n7\n7\n8\n8\n"; err != nil || both.String() != want {
		t.Errorf("%q, %v", both.String(), err)
	}
}

func TestEnvironmentIsComplete(t *testing.T) {
	t.Setenv("SBX_CANARY", "leaked")
	var out bytes.Buffer
	_, err := Run(context.Background(), Job{Command: sandbox.Command{Argv: []string{"/usr/bin/env"}, Stdout: &out}, Dir: "/"})
	if err != nil || out.Len() != 0 {
		t.Errorf("an empty environment holds %q, %v", out.String(), err)
	}
}

func TestStepIsNamed(t *testing.T) {
	_, err := Run(context.Background(), Job{
		Command: sandbox.Command{Argv: []string{"true"}}, Dir: "/",
		Prepare: func(Thread) error { return &StepError{"take a step", unix.EPERM} },
	})
	if !errors.Is(err, sandbox.ErrStart) || !errors.Is(err, unix.EPERM) || !strings.Contains(err.Error(), "take a step: operation not permitted") {
		t.Error(err)
	}
}

// What a thread did to itself must not be found on another, the main thread
// included: the runtime parks that one for ever.
func TestThreadsEnd(t *testing.T) {
	for range 50 {
		err := OnThread(func(Thread) error {
			if unix.Gettid() == unix.Getpid() {
				t.Error("the main thread was taken")
			}
			return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	deadline := time.Now().Add(10 * time.Second)
	for marked(t) && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if marked(t) {
		t.Error("a thread that was changed lives on")
	}
}

func marked(t *testing.T) bool {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range tasks {
		text, _ := os.ReadFile("/proc/self/task/" + e.Name() + "/status")
		if bytes.Contains(text, []byte("NoNewPrivs:\t1")) {
			return true
		}
	}
	return false
}

func TestTerminalSends(t *testing.T) {
	if TerminalSends(unix.SIGTERM) {
		t.Error("a terminal does not send TERM")
	}
}
