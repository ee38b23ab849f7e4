package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/sandbox"
)

// pseudoTerminal opens a terminal and the side that reads what is shown on it.
func pseudoTerminal(t *testing.T) (reader, terminal *os.File) {
	t.Helper()
	reader, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { reader.Close() })
	fd := int(reader.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { terminal.Close() })
	return reader, terminal
}

// Colour is for a terminal only, and NO_COLOR and a dumb one say no.
func TestColorOnTerminal(t *testing.T) {
	reader, terminal := pseudoTerminal(t)
	for _, tc := range []struct {
		env   []string
		color bool
	}{
		{[]string{"TERM=xterm"}, true},
		{[]string{"TERM=xterm", "NO_COLOR="}, true},
		{[]string{"TERM=xterm", "NO_COLOR=1"}, false},
		{[]string{"TERM=dumb"}, false},
	} {
		cmd := exec.Command(filepath.Join(os.Getenv(binVar), "sbx"), "check", "--cwd", "/srv/app", "rm -rf build")
		cmd.Env, cmd.Stdout = append([]string{"HOME=/nonexistent"}, tc.env...), terminal
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		var shown strings.Builder
		for !strings.Contains(shown.String(), "guard: ") || !strings.HasSuffix(shown.String(), "\n") {
			var buf [4096]byte
			n, err := reader.Read(buf[:])
			if err != nil {
				t.Fatalf("%v after %q", err, shown.String())
			}
			shown.Write(buf[:n])
		}
		if got := strings.Contains(shown.String(), "\x1b["); got != tc.color || !strings.Contains(shown.String(), "deletes") {
			t.Errorf("%v: %q", tc.env, shown.String())
		}
	}
}

// What to try after a failure is told to a person at a terminal only, and not
// where the status is an answer or something was recorded.
func TestHintAfterAFailure(t *testing.T) {
	_, terminal := pseudoTerminal(t)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	failed := func(code int) sbx.Result {
		return sbx.Result{Result: sandbox.Result{Ending: sandbox.Exited, ExitCode: code, Backend: "direct"}}
	}
	refused, unlistened, killed, unconfined, told := failed(1), failed(1), failed(137), failed(1), failed(1)
	refused.Denials = []sandbox.Denial{{Operation: sandbox.DeniedWrite, Layer: sandbox.LayerMount}}
	unlistened.Gaps = []sandbox.Gap{{Control: sandbox.DenialsExplained}}
	killed.Ending = sandbox.Signaled
	unconfined.Backend, told.Backend = "none", "bwrap"
	const tell, tellReads = "--explain-denials tells", "--explain-denials=reads"
	for _, tt := range []struct {
		program string
		explain sandbox.Explain
		result  sbx.Result
		err     *os.File
		wrapped bool
		want    string
	}{
		{"make", sandbox.ExplainNone, failed(2), terminal, false, tell},
		{"make", sandbox.ExplainWrites, failed(2), terminal, false, tellReads},
		{"make", sandbox.ExplainReads, failed(2), terminal, false, ""},
		{"make", sandbox.ExplainNone, failed(0), terminal, false, ""},
		{"make", sandbox.ExplainNone, failed(126), terminal, false, ""},
		{"make", sandbox.ExplainNone, failed(2), null, false, ""},
		{"make", sandbox.ExplainNone, failed(2), terminal, true, ""},
		{"make", sandbox.ExplainNone, killed, terminal, false, ""},
		{"make", sandbox.ExplainNone, unconfined, terminal, false, ""},
		{"make", sandbox.ExplainNone, told, terminal, false, ""},
		{"make", sandbox.ExplainWrites, refused, terminal, false, ""},
		{"make", sandbox.ExplainWrites, unlistened, terminal, false, ""},
		{"/usr/bin/grep", sandbox.ExplainNone, failed(1), terminal, false, ""},
		{"/usr/bin/grep", sandbox.ExplainNone, failed(2), terminal, false, tell},
	} {
		c := newExecCall("exec")
		c.request.Argv, c.explain.value, c.wrapping = []string{tt.program}, tt.explain, tt.wrapped
		got := c.moreToTell(&streams{err: tt.err}, tt.result)
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s %d: %q, want %q", tt.program, tt.result.ExitCode, got, tt.want)
		}
	}
}
