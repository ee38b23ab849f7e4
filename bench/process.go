//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	if err == nil {
		err = succeeded(status)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", strings.Join(p.argv, " "), err)
	}
	return took, nil
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
	plainTrue    = "/bin/true"
	emptyGo      = "empty Go program"
	spawnTrue    = "Go os/exec of /bin/true"
	floorTrue    = "floor in C, confined as tier full"
	sbxLandlock  = "sbx exec --tier landlock -- /bin/true"
	sbxFull      = "sbx exec --tier full -- /bin/true"
	sbxPreview   = "sbx exec --preview --tier full -- /bin/true"
	bwrapBare    = "bwrap --unshare-all, / and workspace only"
	bwrapTrue    = "bwrap --unshare-all, the mounts of tier full"
	firejailTrue = "firejail, options that come nearest"
)

// wholeProcess compares one confined command with other ways to run it.
func wholeProcess(w io.Writer, o options) error {
	ws := o.workspace()
	spots, err := o.layout()
	if err != nil {
		return err
	}
	candidates := []candidate{
		o.candidate(plainTrue, "/bin/true"),
		o.candidate(emptyGo, o.helper("empty")),
		o.candidate(spawnTrue, o.helper("spawn"), "/bin/true"),
		o.candidate(sbxLandlock, o.sbx, "exec", "--tier", "landlock", "--workspace", ws, "--", "/bin/true"),
		o.candidate(sbxFull, o.sbx, "exec", "--tier", "full", "--workspace", ws, "--", "/bin/true"),
	}
	// Nothing is written, so that this is what the preview costs a command by itself.
	candidates = append(candidates, o.candidate(sbxPreview, o.sbx, "exec", "--preview", "--discard", "--tier", "full", "--workspace", ws, "--", "/bin/true"))
	others := map[string][]string{
		bwrapBare:    {"bwrap", "--unshare-all", "--new-session", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", ws, ws},
		bwrapTrue:    o.bwrapLike(spots),
		firejailTrue: o.firejailLike(spots),
	}
	if o.sameFloor(spots) == nil {
		words, err := o.floorArgs(spots)
		if err != nil {
			return err
		}
		others[floorTrue] = append(append([]string{o.helper("floor")}, words...), "--")
	}
	var missing []string
	for _, name := range []string{floorTrue, bwrapBare, bwrapTrue, firejailTrue} {
		c, err := o.other(name, others[name])
		if err != nil {
			missing = append(missing, fmt.Sprintf("  %s: not measured here: %v\n", name, err))
			continue
		}
		candidates = append(candidates, c)
	}
	err = compare(w, "A whole process, fork to reaped, "+o.who(), o.rounds, candidates, []bound{
		{of: sbxFull, by: bwrapTrue, atMost: 1.1},
		{of: sbxFull, by: firejailTrue, atMost: 0.4},
		{of: sbxLandlock, by: bwrapTrue, atMost: 1},
		{of: sbxLandlock, by: bwrapBare, atMost: 1.1},
		{of: sbxPreview, by: sbxFull, atMost: 1.5},
		{of: sbxFull, by: floorTrue},
		{of: floorTrue, by: plainTrue},
	})
	fmt.Fprint(w, strings.Join(missing, ""))
	return err
}

// other is a candidate that this machine may not have: it is tried first.
func (o options) other(name string, wrapper []string) (candidate, error) {
	if len(wrapper) == 0 {
		return candidate{}, errNoFloor
	}
	path, err := exec.LookPath(wrapper[0])
	if err != nil {
		return candidate{}, err
	}
	argv := append(append([]string{path}, wrapper[1:]...), "/bin/true")
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = o.env(), o.workspace()
	if said, err := cmd.CombinedOutput(); err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
		return candidate{}, fmt.Errorf("%w: %s", err, first)
	}
	c := o.candidate(name, argv...)
	c.foreign = argv[0] != o.sbx
	return c, nil
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
