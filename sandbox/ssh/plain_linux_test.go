package ssh_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/ssh"
)

// foreign is a machine for which there is no sbx: it says that it has another
// processor.
func foreign(t *testing.T, mode ssh.Mode, lines ...string) *machine {
	t.Helper()
	m := prepare(t, mode)
	m.extra = strings.Join(lines, "\n") + "\n"
	check(t, os.Mkdir(m.dir+"/bin", 0o755))
	check(t, os.WriteFile(m.dir+"/bin/uname", []byte("#!/bin/sh\ncase $1 in -m) echo armv7l;; *) echo Linux;; esac\n"), 0o755))
	m.vars = " PATH=" + m.dir + "/bin:" + m.path()
	m.serve("127.0.0.1")
	m.profile.Accept = sandbox.Controls()
	return m
}

// clean says that no plan, which holds an environment, is left.
func (m *machine) clean() {
	m.Helper()
	if !eventually(func() bool {
		left, err := filepath.Glob("/tmp/.sbx-*")
		return err == nil && !slices.ContainsFunc(left, func(path string) bool {
			info, err := os.Stat(path)
			return err == nil && int(info.Sys().(*syscall.Stat_t).Uid) == os.Getuid()
		})
	}) {
		m.Error("a plan is left there")
	}
}

// Without an sbx there a command runs only for who has accepted by name that nothing
// is held.
func TestPlainIsRefused(t *testing.T) {
	m := foreign(t, ssh.Shared)
	all := sandbox.DefaultRequired()
	for name, accept := range map[string][]sandbox.Control{"nothing": nil, "all but one": all[1:]} {
		m.profile.Accept = accept
		result, err := m.open().Run(context.Background(), sandbox.Command{Argv: []string{"touch", "ran"}})
		var gaps *sandbox.GapError
		if !errors.As(err, &gaps) || len(gaps.Gaps) != len(all)-len(accept) || !strings.Contains(err.Error(), "armv7l") || result.Ending != sandbox.NotStarted {
			t.Errorf("%s: %v, %+v", name, err, result)
		}
	}
	m.profile.Accept = sandbox.Controls()
	m.profile.ReadOnly = true
	if _, err := m.open().Run(context.Background(), sandbox.Command{Argv: []string{"touch", "ran"}}); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("read-only: %v", err)
	}
	m.profile.ReadOnly = false
	m.options.Workspace = ssh.Sync
	if _, err := m.open().Run(context.Background(), sandbox.Command{Argv: []string{"touch", "ran"}}); !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "no workspace is carried") {
		t.Errorf("sync: %v", err)
	}
	m.options.Workspace = ssh.Shared
	if _, err := os.Stat(m.profile.Workspace + "/ran"); err == nil {
		t.Error("it ran")
	}
	m.profile.Accept = all // each by its name
	_, result := m.run(m.open(), "touch", "ran")
	if _, err := os.Stat(m.profile.Workspace + "/ran"); err != nil || len(result.Enforced) != 0 {
		t.Errorf("the control: %v, %+v", err, result)
	}
	for _, c := range sandbox.Controls() {
		if (sandbox.Limits{}).Speaks(c) && !slices.ContainsFunc(result.Gaps, func(g sandbox.Gap) bool { return g.Control == c }) {
			t.Errorf("the record says nothing of %s", c)
		}
	}
	found, err := m.backend().Probe(context.Background())
	if err != nil || len(found.Enforced) != 0 || len(found.Gaps) == 0 {
		t.Errorf("%v, %+v", err, found)
	}
	// An sbx that is there is used, on the connection that stands, too.
	check(t, os.Symlink(os.Getenv(programVar), m.dir+"/bin/sbx"))
	if _, result := m.run(m.open(), "true"); !slices.Contains(result.Enforced, sandbox.WritesConfined) {
		t.Errorf("%+v", result)
	}
	m.clean()
}

// What may pass by itself does not lead to a run without confinement.
func TestPlainOnlyWhereNoCopyWillDo(t *testing.T) {
	m := newMachine(t, ssh.Shared)
	m.profile.Accept = sandbox.Controls()
	for name, c := range map[string]struct {
		self string
		runs bool
	}{
		"it fails":            {"#!/bin/sh\nexit 3\n", false},
		"nothing is executed": {"#!/etc/passwd\n", true}, // as on a file system without programs
	} {
		m.options.Self = m.dir + "/self"
		check(t, os.WriteFile(m.options.Self, []byte(c.self), 0o755))
		result, err := m.open().Run(context.Background(), sandbox.Command{Argv: []string{"true"}})
		if c.runs != (err == nil) || !c.runs && (!errors.Is(err, sandbox.ErrUnavailable) || result.Ending != sandbox.NotStarted) {
			t.Errorf("%s: %v, %+v", name, err, result)
		}
		if left, _ := filepath.Glob(m.home + "/.cache/sbx/far/*/.sbx.*"); len(left) > 0 {
			t.Errorf("%s: left behind: %q", name, left)
		}
	}
	m.options.Program = m.home + "/nowhere/sbx"
	if _, err := m.open().Run(context.Background(), sandbox.Command{Argv: []string{"true"}}); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("a program that is named and missing: %v", err)
	}
	m.clean()
}

func TestPlainCrossesExactly(t *testing.T) {
	m := foreign(t, ssh.Shared)
	s := m.open()
	ws := m.profile.Workspace
	check(t, os.MkdirAll(ws+"/a 'b'\n", 0o755))
	check(t, os.WriteFile(ws+"/a=b", []byte("#!/bin/sh\necho \"[$A]\"\n"), 0o755))
	words := []string{"", " ", "'", `"`, "`id`", "$(id)", "$HOME", "*", "a\nb", "\n\n", ".", "\\", "\\012", "%s", "!!", "\x01\x7f\x81\x88\xff\xfe", "é", "-", "--", "-n", "~", ";", "quit", strings.Repeat("long \n", 8000)}
	env := []string{"PLAIN=x", "QUOTE='\"", "LINES=a\nb\n", "EMPTY=", "BYTES=\xff", "HASH=#", "EQUAL=a=b", "A=of here", "TMPDIR=" + m.profile.Private.Temp, "LC_ALL=C.UTF-8"}
	var out, errs bytes.Buffer
	argv := append([]string{"sh", "-c", `pwd -P; for w; do printf '%s\0' "$w"; done; for v in PLAIN QUOTE LINES EMPTY BYTES HASH EQUAL A; do eval "printf '%s\0' \"\$v=\$$v\""; done; cat >&2; echo "${TMPDIR-none} $LC_ALL"; exit 255`, "sh"}, words...)
	in := bytes.Repeat([]byte("a\x00b\xff\r\n~.\nquit\n"), 100_000)
	result, err := s.Run(context.Background(), sandbox.Command{Argv: argv, Env: env, Dir: ws + "/a 'b'\n", Stdin: bytes.NewReader(in), Stdout: &out, Stderr: &errs})
	check(t, err)
	want := ws + "/a 'b'\n\n" + strings.Join(append(slices.Clone(words), env[:8]...), "\x00") + "\x00none C.UTF-8\n"
	if out.String() != want {
		t.Errorf("have %.300q", out.String())
	}
	if !bytes.Equal(errs.Bytes(), in) || result.ExitCode != 255 || result.Ending != sandbox.Exited {
		t.Errorf("%d bytes of %d, %+v", errs.Len(), len(in), result)
	}
	out.Reset()
	if _, err := s.Run(context.Background(), sandbox.Command{Argv: []string{"./a=b"}, Env: []string{"A=is set"}, Stdout: &out}); err != nil || out.String() != "[is set]\n" {
		t.Errorf("%v, %q", err, out.String())
	}
	for _, c := range []struct {
		argv   []string
		code   int
		ending sandbox.Ending
	}{
		{[]string{"true"}, 0, sandbox.Exited},
		{[]string{"sh", "-c", "kill -9 $$"}, 137, sandbox.Signaled},
		{[]string{"no-such-program"}, 127, sandbox.NotFound},
		{[]string{"/"}, 126, sandbox.NotExec},
	} {
		if text, got := m.run(s, c.argv...); got.ExitCode != c.code || got.Ending != c.ending || text != "" {
			t.Errorf("%q: %q, %+v", c.argv, text, got)
		}
	}
	if result, err := s.Run(context.Background(), sandbox.Command{Argv: []string{"true"}, Dir: ws + "/nowhere"}); !errors.Is(err, sandbox.ErrStart) {
		t.Errorf("a directory that is not there: %v, %+v", err, result)
	}
	// The script of a runtime lies outside of the workspace.
	script := m.dir + "/out/it's.sh"
	check(t, os.WriteFile(script, []byte("printf '%s\n' '\\012' \"$1\"\n"+strings.Repeat("# padding\n", 1000)), 0o600))
	m.profile.Read = []string{script}
	if text, _ := m.run(m.open(), "sh", script, "word"); text != "\\012\nword\n" {
		t.Errorf("%q", text)
	}
	m.clean()
}

func TestPlainLimitsAndSignals(t *testing.T) {
	m := foreign(t, ssh.Shared)
	s := m.open()
	signals := make(chan os.Signal, 1)
	r, w, err := os.Pipe()
	check(t, err)
	go func() {
		_, _ = r.Read(make([]byte, 6))
		signals <- syscall.SIGUSR1
	}()
	result, err := s.Run(context.Background(), sandbox.Command{
		Argv: []string{"sh", "-c", "trap 'exit 9' USR1; echo ready; while :; do sleep 0.05; done"}, Stdout: w, Signals: signals, Timeout: time.Minute,
	})
	if err != nil || result.ExitCode != 9 {
		t.Errorf("%v, %+v", err, result)
	}
	result, err = s.Run(context.Background(), sandbox.Command{Argv: tree(mark(t)), Timeout: 300 * time.Millisecond, Grace: time.Second})
	if err != nil || result.Ending != sandbox.TimedOut {
		t.Errorf("%v, %+v", err, result)
	}
	m.ends(mark(t), "the time limit")
	m.profile.Limits.OutputBytes = 1000
	if out, result := m.run(m.open(), "sh", "-c", "head -c 5000 /dev/zero; exit 3"); len(out) != 1000 || result.ExitCode != 3 || result.BytesCut != 4000 || !slices.Equal(result.Enforced, []sandbox.Control{sandbox.LimitOutput}) {
		t.Errorf("%d bytes, %+v", len(out), result)
	}
	// A reader that waits for ever, and one of the output that goes away.
	if result, err := s.Run(context.Background(), sandbox.Command{Argv: []string{"true"}, Stdin: r}); err != nil || result.ExitCode != 0 {
		t.Errorf("%v, %+v", err, result)
	}
	read, write, err := os.Pipe()
	check(t, err)
	check(t, read.Close())
	if result, err := s.Run(context.Background(), sandbox.Command{Argv: []string{"yes"}, Stdout: write, Timeout: time.Minute}); err != nil || result.Signal != int(syscall.SIGPIPE) {
		t.Errorf("%v, %+v", err, result)
	}
	m.clean()
}

// Whatever part is killed, the tree there is gone in time.
func TestPlainKilled(t *testing.T) {
	m := foreign(t, ssh.Shared)
	for name, kill := range map[string]func(pid int) error{
		"sbx here is killed":       func(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) },
		"sbx here is stopped":      func(pid int) error { return syscall.Kill(pid, syscall.SIGSTOP) },
		"the connection is killed": func(int) error { return syscall.Kill(m.master(), syscall.SIGKILL) },
	} {
		v := m.victim(mark(t))
		check(t, kill(v.Process.Pid))
		m.ends(mark(t), name)
		_ = v.Process.Kill()
		_ = v.Wait()
	}
	m.clean()
}

// Where a server takes one session only, nothing begins that nobody would look after.
func TestPlainTakesTwoSessions(t *testing.T) {
	m := foreign(t, ssh.Shared, "MaxSessions 1")
	var out, errs bytes.Buffer
	result, err := m.open().Run(context.Background(), sandbox.Command{Argv: []string{"touch", "ran"}, Stdout: &out, Stderr: &errs})
	if !errors.Is(err, sandbox.ErrStart) || result.Ending != sandbox.NotStarted {
		t.Errorf("%v, %+v, %q", err, result, errs.String())
	}
	if _, err := os.Stat(m.profile.Workspace + "/ran"); err == nil {
		t.Error("it ran")
	}
	m.clean()
}
