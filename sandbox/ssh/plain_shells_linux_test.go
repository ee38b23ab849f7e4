package ssh

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/ssh/wire"
)

// The two texts and a plan mean the same to whatever sh there is.
func TestPlainInEveryShell(t *testing.T) {
	ws, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, shell := range []string{"dash", "bash --posix", "busybox sh", "mksh", "ksh", "zsh --emulate sh"} {
		words := strings.Fields(shell)
		if _, err := exec.LookPath(words[0]); err != nil {
			continue
		}
		tried++
		for _, end := range plainEnds {
			t.Run(words[0]+", "+end.name, func(t *testing.T) {
				t.Parallel()
				endPlain(t, ws, words, end)
			})
		}
	}
	if tried == 0 {
		t.Fatal("no shell was tried")
	}
}

// plainEnd is a way in which a command there comes to its end.
type plainEnd struct {
	name string
	line string // what the keeper is told; empty: its input ends
	want string // what it says last
}

var plainEnds = []plainEnd{
	{"by itself", "quit\n", "status 3\n"},
	{"a signal", "signal TERM\n", "status 143\n"},
	{"time is over", "end 1\n", "status 143\n"},
	{"it is left", "", ""},
	{"and is silent", "silence", ""},
}

// plainPart is one of the two texts, run as sshd does.
func plainPart(t *testing.T, shell []string, id, text string) (c *exec.Cmd, in io.WriteCloser, out io.Reader) {
	t.Helper()
	c = exec.Command(shell[0], append(slices.Clone(shell[1:]), "-c", strings.ReplaceAll(strings.ReplaceAll(text, "ID", id), "\n", ""))...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.WaitDelay = 10 * time.Second // what is left has the streams
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if out, err = c.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	return c, in, out
}

func startPart(t *testing.T, c *exec.Cmd, out io.Reader, want string) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(out, got); err != nil || string(got) != want {
		t.Fatalf("%q, %v", got, err)
	}
}

func endPlain(t *testing.T, ws string, shell []string, end plainEnd) {
	id := fmt.Sprintf("test-%d-%x", os.Getpid(), strings.Join(shell, " ")+end.name)
	odd := []string{"", "a\nb\n", "\x01\x81\xff", "'\\012%", "-n", "*"}
	script := `printf '%s\0' "$@"; sleep 100 & setsid sleep 100 & wait`
	switch end.name {
	case "by itself":
		script = `printf '%s\0' "$@"; exit 3`
	case "a signal":
		script = `printf '%s\0' "$@"; sleep 100 & wait`
	}
	text, err := plan(wire.Order{Profile: sandbox.Profile{Workspace: ws}, Argv: wire.Words(append([]string{"sh", "-c", script, id}, odd...)), Env: wire.Words([]string{"A=\xff'"})})
	if err != nil {
		t.Fatal(err)
	}
	keeper, in, said := plainPart(t, shell, id, keep)
	startPart(t, keeper, said, "take\n")
	_, _ = io.WriteString(in, text+".\n"+strconv.Itoa(strings.Count(text, "\n"))+"\n")
	if _, err := io.ReadFull(said, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	command, _, out := plainPart(t, shell, id, start)
	var errs bytes.Buffer
	command.Stderr = &errs
	startPart(t, command, out, strings.Join(odd, "\x00")+"\x00")
	dir := os.TempDir() + "/.sbx-" + id
	if end.name == "by itself" {
		awaitFile(t, dir+"/status", "3\n")
	}
	if end.line != "silence" {
		_, _ = io.WriteString(in, end.line)
	}
	switch end.line {
	case "signal TERM\n":
		awaitFile(t, dir+"/status", "143\n")
		_, _ = io.WriteString(in, "quit\n")
	case "":
		_ = in.Close()
	}
	last, _ := io.ReadAll(said)
	_, _ = keeper.Wait(), command.Wait()
	if _, err := os.Stat(dir); err == nil {
		t.Error("the plan is left")
	}
	if errs.Len() > 0 || !strings.HasSuffix(string(last), end.want) {
		t.Errorf("%q, said %q", errs.String(), last)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left, _ := exec.Command("pgrep", "-f", id).Output()
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("processes are left: %q", left)
		}
	}
}

func awaitFile(t *testing.T, path, want string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if text, _ := os.ReadFile(path); string(text) == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not come", path)
		}
	}
}
