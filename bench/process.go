//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// process is a program started with fork and exec alone, so that little of the
// harness is in the figure.
type process struct {
	argv []string
	env  []string
	dir  string
	in   string // file of standard input; empty: the null device
}

// run returns the time from fork until the process is reaped.
func (p process) run() (time.Duration, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	fd, stdin := null.Fd(), null.Fd()
	if p.in != "" {
		in, err := os.Open(p.in)
		if err != nil {
			return 0, err
		}
		defer in.Close()
		stdin = in.Fd()
	}
	start := time.Now()
	pid, err := syscall.ForkExec(p.argv[0], p.argv, &syscall.ProcAttr{Dir: p.dir, Env: p.env, Files: []uintptr{stdin, fd, fd}})
	if err != nil {
		return 0, err
	}
	status, err := reap(pid)
	took := time.Since(start)
	if err != nil {
		return 0, err
	}
	return took, succeeded(status)
}

func reap(pid int) (syscall.WaitStatus, error) {
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &status, 0, nil)
		if !errors.Is(err, syscall.EINTR) {
			return status, err
		}
	}
}

// succeeded makes an error of any end but exit 0: a refusal is fast, and must
// not pass for a figure.
func succeeded(status syscall.WaitStatus) error {
	if status.Signaled() {
		return fmt.Errorf("ended by signal %d", status.Signal())
	}
	if code := status.ExitStatus(); code != 0 {
		return fmt.Errorf("exit status %d", code)
	}
	return nil
}

// candidate runs argv in the workspace with the environment of the run.
func (o options) candidate(name string, argv ...string) candidate {
	p := process{argv: argv, env: o.env(), dir: o.workspace()}
	return candidate{name: name, run: p.run}
}

const (
	plainTrue = "/bin/true"
	emptyGo   = "empty Go program"
	sbxExec   = "sbx exec --tier landlock -- /bin/true"
	sbxFull   = "sbx exec -- /bin/true (tier full)"
	bwrapTrue = "bwrap /bin/true"
)

// wholeProcess compares one confined command with other ways to run it.
func wholeProcess(w io.Writer, o options) error {
	ws := o.workspace()
	candidates := []candidate{
		o.candidate(plainTrue, "/bin/true"),
		o.candidate(emptyGo, o.helper("empty")),
		o.candidate("Go os/exec of /bin/true", o.helper("spawn"), "/bin/true"),
		o.candidate(sbxExec, o.sbx, "exec", "--tier", "landlock", "--workspace", ws, "--", "/bin/true"),
		o.candidate(sbxFull, o.sbx, "exec", "--backend", "direct", "--workspace", ws, "--", "/bin/true"),
	}
	if bwrap, err := exec.LookPath("bwrap"); err == nil {
		candidates = append(candidates, o.candidate(bwrapTrue, bwrap, "--unshare-all", "--ro-bind", "/", "/",
			"--dev", "/dev", "--proc", "/proc", "--bind", ws, ws, "/bin/true"))
	}
	if firejail, err := exec.LookPath("firejail"); err == nil {
		candidates = append(candidates, o.candidate("firejail --noprofile /bin/true", firejail, "--quiet", "--noprofile", "/bin/true"))
	}
	return compare(w, "A whole process, fork to reaped", o.rounds, candidates, []bound{
		{of: sbxExec, by: bwrapTrue, atMost: 1.1}, {of: sbxFull, by: bwrapTrue, atMost: 1.1},
	})
}

// startUp measures the subcommands that start no child.
func startUp(w io.Writer, o options) error {
	const check, hook = "sbx check 'ls -la'", "sbx hook claude-code"
	event := filepath.Join(o.dir, "event.json")
	const text = `{"session_id":"s","cwd":"/home/dev/app","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls -la"}}`
	if err := os.WriteFile(event, []byte(text), 0o600); err != nil {
		return err
	}
	asked := process{argv: []string{o.sbx, "hook", "claude-code"}, env: o.env(), dir: o.workspace(), in: event}
	return compare(w, "Start-up without a child", o.rounds, []candidate{
		o.candidate(emptyGo, o.helper("empty")),
		o.candidate(check, o.sbx, "check", "ls -la"),
		{name: hook, run: asked.run},
		o.candidate("sbx --version", o.sbx, "--version"),
	}, []bound{
		{of: check, by: emptyGo, atMost: 1.7},
		{of: hook, by: emptyGo, atMost: 1.8},
	})
}
