package direct_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/testuser"
)

func TestEndings(t *testing.T) { eachTier(t, testEndings) }

func testEndings(r *room) {
	t := r.T
	s := r.confined()
	check(t, os.WriteFile(r.workspace+"/script", []byte("#!/no/such/interpreter\n"), 0o755))
	check(t, os.WriteFile(r.workspace+"/data", []byte("no program"), 0o755))
	check(t, os.WriteFile(r.workspace+"/plain", []byte("no program"), 0o644))
	check(t, os.WriteFile(r.home+"/.ssh/tool", []byte("#!/bin/sh\n"), 0o755))
	for _, tt := range []struct {
		argv   []string
		ending sandbox.Ending
		code   int
	}{
		{[]string{"sh", "-c", "exit 0"}, sandbox.Exited, 0},
		{[]string{"sh", "-c", "exit 1"}, sandbox.Exited, 1},
		{[]string{"sh", "-c", "exit 42"}, sandbox.Exited, 42},
		{[]string{"sh", "-c", "exit 126"}, sandbox.Exited, 126},
		{[]string{"sh", "-c", "exit 127"}, sandbox.Exited, 127},
		{[]string{"sh", "-c", "exit 255"}, sandbox.Exited, 255},
		{[]string{"sh", "-c", "kill -KILL $$"}, sandbox.Signaled, 137},
		{[]string{"sh", "-c", "kill -TERM $$"}, sandbox.Signaled, 143},
		{[]string{"no-such-program"}, sandbox.NotFound, 127},
		{[]string{"./no-such-program"}, sandbox.NotFound, 127},
		{[]string{"./script"}, sandbox.NotExec, 126},
		{[]string{"./data"}, sandbox.NotExec, 126},
		{[]string{"./plain"}, sandbox.NotExec, 126},
		{[]string{"./a"}, sandbox.NotExec, 126}, // a directory
		{[]string{r.home + "/.ssh/tool"}, sandbox.NotExec, 126},
	} {
		_, got := r.run(s, tt.argv...)
		if got.Ending != tt.ending || got.ExitCode != tt.code {
			t.Errorf("%q: %s %d, want %s %d", tt.argv, got.Ending, got.ExitCode, tt.ending, tt.code)
		}
		_, got = r.runSupervised(orders{Argv: tt.argv})
		if got.Ending != tt.ending || got.ExitCode != tt.code {
			t.Errorf("supervised %q: %s %d, want %s %d", tt.argv, got.Ending, got.ExitCode, tt.ending, tt.code)
		}
	}
	huge := strings.Repeat("x", 4<<20)
	if _, err := s.Run(context.Background(), sandbox.Command{Argv: []string{"true", huge}, Env: r.env()}); !errors.Is(err, sandbox.ErrStart) || !errors.Is(err, unix.E2BIG) {
		t.Errorf("arguments too long: %v", err)
	}
	if _, err := s.Run(context.Background(), sandbox.Command{Argv: []string{"true"}, Dir: r.dir + "/absent"}); !errors.Is(err, sandbox.ErrStart) {
		t.Errorf("directory that is not there: %v", err)
	}
}

func TestResultIsFilled(t *testing.T) { eachTier(t, testResultIsFilled) }

func testResultIsFilled(r *room) {
	t := r.T
	var out, diag bytes.Buffer
	got, err := r.confined().Run(context.Background(), sandbox.Command{
		Argv: []string{"sh", "-c", "cat; echo no >&2; pwd; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"}, Env: r.env(),
		Dir: r.workspace + "/a", Stdin: strings.NewReader("in\n"), Stdout: &out, Stderr: &diag,
	})
	check(t, err)
	if out.String() != "in\n"+r.workspace+"/a\n" || diag.String() != "no\n" {
		t.Errorf("stdout %q, stderr %q", out.String(), diag.String())
	}
	if got.BytesOut == nil || *got.BytesOut != int64(out.Len()+diag.Len()) {
		t.Errorf("bytes out %v, want %d", got.BytesOut, out.Len()+diag.Len())
	}
	if got.Backend != "direct" || got.Tier != r.confinedTier() || got.Wall <= 0 || got.User+got.System <= 0 || got.PeakBytes < 1<<20 {
		t.Errorf("result %+v", got)
	}
	if gapNamed(got.Gaps, sandbox.WritesConfined) || gapNamed(got.Gaps, sandbox.DaemonsEnd) == r.isFull() {
		t.Errorf("gaps %+v", got.Gaps)
	}
}

// living lists the processes that carry a marker among their arguments.
func living(t *testing.T, marker string) []int {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	check(t, err)
	var pids []int
	for _, f := range lines {
		if text, err := os.ReadFile(f); err == nil && bytes.Contains(text, []byte(marker)) {
			pid, err := strconv.Atoi(strings.Split(f, "/")[2])
			check(t, err)
			pids = append(pids, pid)
		}
	}
	return pids
}

func alive(t *testing.T, marker string) int { t.Helper(); return len(living(t, marker)) }

// endAll kills what a test left on purpose.
func endAll(t *testing.T, marker string) {
	t.Helper()
	for _, pid := range living(t, marker) {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// marker is a number of seconds that no other process sleeps.
func marker() string { return fmt.Sprintf("%d.%09d", 300+os.Getpid()%600, time.Now().Nanosecond()) }

func TestTreeEndsWithTheCommand(t *testing.T) { eachTier(t, testTreeEndsWithTheCommand) }

func testTreeEndsWithTheCommand(r *room) {
	t := r.T
	s := r.confined()
	m := marker()
	started := fmt.Sprintf("sleep %s & nohup sleep %s >/dev/null 2>&1 & ", m, m)
	escaping := fmt.Sprintf("setsid sleep %s & (setsid sh -c 'sleep %s & sleep %s' &) ; setsid -f sleep %s;", m, m, m, m)

	r.run(s, "sh", "-c", started+"exit 3")
	// The others of the group are not our children: they are killed, but the
	// kernel takes them away in its own time.
	eventually(t, "the process group is gone", func() bool { return alive(t, m) == 0 })
	_, got := r.runSupervised(orders{Argv: []string{"sh", "-c", started + escaping + "sleep 0.1; exit 3"}})
	if n := alive(t, m); n != 0 || got.ExitCode != 3 {
		t.Errorf("supervised: %d processes are left, code %d", n, got.ExitCode)
	}
	// The control: the same daemons live when nobody ends them.
	cmd := exec.Command("sh", "-c", started+escaping+"sleep 0.1; exit 3")
	_ = cmd.Run()
	if alive(t, m) == 0 {
		t.Error("control: the daemons do not live unconfined")
	}
	endAll(t, m)
}

// A process that forks and exits for ever changes its number faster than a list
// of processes can be read.
func TestHopperLoses(t *testing.T) { eachTier(t, testHopperLoses) }

func testHopperLoses(r *room) {
	t := r.T
	hop := filepath.Join(r.workspace, "hop.py")
	check(t, os.WriteFile(hop, []byte("import os\nos.setsid()\nwhile True:\n  if os.fork(): os._exit(0)\n"), 0o644))
	if _, err := exec.LookPath("/usr/bin/python3"); err != nil {
		t.Skip(err)
	}
	_, got := r.runSupervised(orders{Argv: []string{"sh", "-c", "/usr/bin/python3 " + hop + " & sleep 0.3; exit 5"}})
	if got.ExitCode != 5 {
		t.Errorf("result %+v", got)
	}
	if n := alive(t, hop); n != 0 {
		t.Errorf("%d left", n)
	}
}

func TestTimeLimit(t *testing.T) { eachTier(t, testTimeLimit) }

func testTimeLimit(r *room) {
	t := r.T
	s := r.confined()
	m := marker()
	for name, script := range map[string]string{
		"heeds TERM":   "sleep " + m,
		"ignores TERM": "trap '' TERM; sleep " + m + "; sleep " + m,
		"is stopped":   "sleep " + m + " & kill -STOP $$",
	} {
		got, err := s.Run(context.Background(), sandbox.Command{
			Argv: []string{"sh", "-c", script}, Env: r.env(), Timeout: 200 * time.Millisecond, Grace: 200 * time.Millisecond,
		})
		if err != nil || got.Ending != sandbox.TimedOut {
			t.Errorf("%s: %+v, %v", name, got.Ending, err)
		}
		eventually(t, "the process group is gone", func() bool { return alive(t, m) == 0 })
		_, got = r.runSupervised(orders{Argv: []string{"sh", "-c", script + " & setsid " + script}, Timeout: 200 * time.Millisecond, Grace: 200 * time.Millisecond})
		if got.Ending != sandbox.TimedOut || alive(t, m) != 0 {
			t.Errorf("supervised: %s: %s, %d alive", name, got.Ending, alive(t, m))
		}
	}
	// TERM comes first: a command may clean up.
	var buffer bytes.Buffer
	var got sandbox.Result
	var err error
	for limit := 300 * time.Millisecond; limit < time.Minute; limit *= 4 {
		got, err = s.Run(context.Background(), sandbox.Command{
			Argv: []string{"sh", "-c", "trap 'echo cleaned; exit 9' TERM; while :; do sleep 0.05; done"}, Env: r.env(), Stdout: &buffer,
			Timeout: limit, Grace: time.Minute,
		})
		if got.ExitCode != 128+int(unix.SIGTERM) { // a slow machine has not come to the trap by the first
			break
		}
	}
	if err != nil || got.Ending != sandbox.TimedOut || got.ExitCode != 9 || buffer.String() != "cleaned\n" {
		t.Errorf("clean up: %+v %v %q", got, err, buffer.String())
	}
}

func TestCallerGoesAway(t *testing.T) { eachTier(t, testCallerGoesAway) }

func testCallerGoesAway(r *room) {
	t := r.T
	s := r.confined()
	m := marker()
	ctx, cancel := context.WithCancel(context.Background())
	orphaned := make(chan struct{})
	time.AfterFunc(100*time.Millisecond, cancel)
	time.AfterFunc(100*time.Millisecond, func() { close(orphaned) })
	for name, c := range map[string]struct {
		ctx      context.Context
		orphaned chan struct{}
	}{"context": {ctx, nil}, "orphaned": {context.Background(), orphaned}} {
		got, err := s.Run(c.ctx, sandbox.Command{
			Argv: []string{"sh", "-c", "trap '' TERM; sleep " + m + " & sleep " + m}, Env: r.env(), Orphaned: c.orphaned,
		})
		if name == "context" && errors.Is(err, context.Canceled) && errors.Is(err, sandbox.ErrStart) {
			continue // cancelled before it began: nothing ran
		}
		if err != nil || got.Ending != sandbox.Abandoned {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		eventually(t, "the process group is gone", func() bool { return alive(t, m) == 0 })
	}
	if _, err := s.Run(ctx, sandbox.Command{Argv: []string{"touch", r.workspace + "/ran"}, Env: r.env()}); !errors.Is(err, sandbox.ErrStart) {
		t.Errorf("cancelled before: %v", err)
	}
	if _, err := os.Stat(r.workspace + "/ran"); err == nil {
		t.Error("a cancelled run ran")
	}
}

func TestSupervisorIsKilled(t *testing.T) { eachTier(t, testSupervisorIsKilled) }

func testSupervisorIsKilled(r *room) {
	t := r.T
	m := marker()
	cmd, _ := r.supervised(orders{Argv: []string{"sleep", m}})
	check(t, cmd.Start())
	eventually(t, "the command runs", func() bool { return alive(t, m) > 0 })
	check(t, cmd.Process.Kill())
	_ = cmd.Wait()
	eventually(t, "the command is gone", func() bool { return alive(t, m) == 0 })
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 1000 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("not: %s", what)
}

func TestSignalsArePassedOn(t *testing.T) { eachTier(t, testSignalsArePassedOn) }

func testSignalsArePassedOn(r *room) {
	t := r.T
	signals := make(chan os.Signal, 1)
	out, in, err := os.Pipe()
	check(t, err)
	defer out.Close()
	go func() { // the command says when it is ready
		_, _ = io.ReadFull(out, make([]byte, 6))
		signals <- syscall.SIGUSR1
	}()
	got, err := r.confined().Run(context.Background(), sandbox.Command{
		Argv: []string{"sh", "-c", "trap 'exit 7' USR1; echo ready; while :; do sleep 0.05; done"}, Env: r.env(),
		Stdout: in, Signals: signals, Timeout: time.Minute,
	})
	check(t, in.Close())
	if err != nil || got.ExitCode != 7 || got.BytesOut != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestOutputThatADaemonHolds(t *testing.T) { eachTier(t, testOutputThatADaemonHolds) }

func testOutputThatADaemonHolds(r *room) {
	t := r.T
	m := marker()
	defer endAll(t, m)
	out, got := r.run(r.confined(), "sh", "-c", "setsid sleep "+m+" & echo done; sleep 0.05")
	if out != "done\n" || got.ExitCode != 0 {
		t.Errorf("%q %+v", out, got)
	}
}

func TestLargeOutput(t *testing.T) { eachTier(t, testLargeOutput) }

func testLargeOutput(r *room) {
	t := r.T
	const size = 20 << 20
	var out countWriter
	got, err := r.confined().Run(context.Background(), sandbox.Command{
		Argv: []string{"sh", "-c", fmt.Sprintf("head -c %d /dev/zero; head -c %d /dev/zero >&2", size, size)}, Env: r.env(), Stdout: &out, Stderr: &out,
	})
	if err != nil || out.n != 2*size || got.BytesOut == nil || *got.BytesOut != 2*size {
		t.Errorf("%d bytes, %v", out.n, err)
	}
	broken := &brokenWriter{}
	if _, err := r.confined().Run(context.Background(), sandbox.Command{Argv: []string{"yes"}, Env: r.env(), Stdout: broken}); !errors.Is(err, errBroken) {
		t.Errorf("a writer that fails: %v", err)
	}
}

type countWriter struct{ n int }

func (w *countWriter) Write(p []byte) (int, error) { w.n += len(p); return len(p), nil }

type brokenWriter struct{}

var errBroken = errors.New("broken")

func (*brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestManyAtOnce(t *testing.T) { eachTier(t, testManyAtOnce) }

func testManyAtOnce(r *room) {
	t := r.T
	s := r.confined()
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			var out bytes.Buffer
			got, err := s.Run(context.Background(), sandbox.Command{
				Argv: []string{"sh", "-c", fmt.Sprintf("echo %d; cat /proc/self/status | grep -c NoNewPrivs:.1; exit %d", i, i)}, Env: r.env(),
				Stdin: strings.NewReader("x"), Stdout: &out,
			})
			if err != nil || got.ExitCode != i || out.String() != strconv.Itoa(i)+"\n1\n" {
				t.Errorf("%d: %+v, %v, %q", i, got, err, out.String())
			}
		})
	}
	all.Wait()
	// This process is as it was.
	if got := answer(act("status", []string{"NoNewPrivs", "0"})); got != "ok" {
		t.Error(got)
	}
	eventually(t, "no thread is confined", func() bool {
		tasks, _ := filepath.Glob("/proc/self/task/*/status")
		for _, f := range tasks {
			if text, err := os.ReadFile(f); err == nil && !bytes.Contains(text, []byte("Seccomp:\t0")) {
				return false
			}
		}
		return len(tasks) > 0
	})
	if n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || n != 1 {
		t.Errorf("dumpable is %d, %v", n, err)
	}
}

func TestWorkspaceIsReplaced(t *testing.T) { eachTier(t, testWorkspaceIsReplaced) }

func testWorkspaceIsReplaced(r *room) {
	t := r.T
	s := r.confined()
	check(t, os.Rename(r.workspace, r.dir+"/old"))
	check(t, os.Symlink("/", r.workspace))
	if _, err := s.Run(context.Background(), sandbox.Command{Argv: []string{"true"}, Env: r.env()}); !errors.Is(err, sandbox.ErrStart) {
		t.Errorf("a workspace that became a link: %v", err)
	}
	r.profile.Workspace = r.workspace
	if _, err := r.backendOpen(); err == nil {
		t.Error("a workspace that is a link was opened")
	}
}

// Root works as somebody else where the workspace belongs to somebody else.
func TestIdentity(t *testing.T) { eachTier(t, testIdentity) }

func testIdentity(r *room) {
	t := r.T
	if os.Geteuid() != 0 {
		r.profile.Identity = &sandbox.Identity{UID: 1, GID: 1}
		if _, err := r.backendOpen(); !errors.Is(err, sandbox.ErrUnavailable) {
			t.Errorf("an ordinary user took another identity: %v", err)
		}
		return
	}
	u := testuser.Take(t)
	uid, gid := uint32(u.UID), uint32(u.GID)
	check(t, os.Chown(r.workspace, int(uid), int(gid)))
	r.profile.Identity = &sandbox.Identity{UID: uid, GID: gid, Groups: []uint32{gid}, Name: u.Name}
	s := r.confined()
	for _, supervised := range []bool{false, true} {
		name := fmt.Sprintf("%s/by-%v", r.workspace, supervised)
		argv := []string{"sh", "-c", "id -u; id -G; touch " + name + "; grep CapBnd /proc/self/status"}
		var out string
		var got sandbox.Result
		if supervised {
			out, got = r.runSupervised(orders{Argv: argv})
		} else {
			out, got = r.run(s, argv...)
		}
		want := fmt.Sprintf("%d\n%d\nCapBnd:\t0000000000000000\n", uid, gid)
		if out != want || got.Identity == nil || got.Identity.UID != uid {
			t.Errorf("%q, want %q, identity %+v", out, want, got.Identity)
		}
		var st unix.Stat_t
		if err := unix.Stat(name, &st); err != nil || st.Uid != uid || st.Gid != gid {
			t.Errorf("%s belongs to %d:%d, %v", name, st.Uid, st.Gid, err)
		}
	}
	probe := r.dir + "/probe" // the test binary, where the other user gets to it
	text, err := os.ReadFile(self(t))
	check(t, err)
	check(t, os.WriteFile(probe, text, 0o755))
	for _, f := range []string{"/etc/shadow", r.home + "/.netrc", "/proc/" + strconv.Itoa(os.Getpid()) + "/environ"} {
		if out, _ := r.run(s, probe, "read", f); !oneOf("EACCES|ENOENT", out) {
			t.Errorf("read %s: %s", f, out)
		}
	}
	if out, _ := r.run(s, probe, "read", "/etc/passwd"); out != "ok" {
		t.Errorf("control: read /etc/passwd: %s", out)
	}
	if os.Geteuid() != 0 || unix.Getuid() != 0 {
		t.Error("this process changed its identity")
	}
	if n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || n != 1 {
		t.Errorf("dumpable is %d, %v", n, err)
	}
}

// Root must not read the homes of others, whose files may be open to everybody.
func TestRootAndOtherHomes(t *testing.T) { eachTier(t, testRootAndOtherHomes) }

func testRootAndOtherHomes(r *room) {
	t := r.T
	if os.Geteuid() != 0 {
		t.Skip("only root is kept from other homes by sbx itself")
	}
	dir, err := os.MkdirTemp("/home", "sbx-test-")
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	check(t, os.Chmod(dir, 0o755))
	name := dir + "/file"
	check(t, os.WriteFile(name, []byte("open"), 0o644))
	if got := r.do(r.unconfined(), "read", name); got != "ok" {
		t.Fatalf("control: %s", got)
	}
	if got := r.do(r.confined(), "read", name); got != "EACCES" {
		t.Errorf("read in another home: %s", got)
	}
}
