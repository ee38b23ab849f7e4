package direct_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/direct"
)

// bombs of a kind that a limit has to stop. Each carries the marker among its
// arguments, so that the host sees how many there are.
const (
	// bash goes on when it cannot fork; dash ends, and the bomb is soon over.
	forkBomb   = `exec bash -c 'f(){ f "$@" | f "$@" & }; f "$@"; sleep 60' "$@" "$@"`
	shortBomb  = `f(){ f "$@" | f "$@"; }; f "$@"`
	memoryBomb = `exec python3 -c 'import sys, time
held = [b"x" * (1 << 20) for _ in range(int(sys.argv[2]))]
time.sleep(2)' "$@"`
)

// memoryChild is memoryBomb without exec.
var memoryChild = strings.TrimPrefix(memoryBomb, "exec ")

// bomb is the argv of a bomb with a marker.
func bomb(text, m string, args ...string) []string {
	return append([]string{"sh", "-c", text, "sh", m}, args...)
}

// how are the ways in which limits are held: with control groups, where this
// user has them, and measured.
func eachHold(t *testing.T, test func(r *room, groups bool)) {
	for _, groups := range []bool{true, false} {
		if groups && os.Geteuid() != 0 {
			continue // the two are the same
		}
		for _, tier := range []string{full, landlock} {
			t.Run(fmt.Sprintf("%s/groups=%v", tier, groups), func(t *testing.T) { test(newRoom(t, tier), groups) })
		}
	}
}

// limited runs a command under limits as a supervisor, while the host counts.
func (r *room) limited(groups bool, l sandbox.Limits, argv ...string) (string, sandbox.Result) {
	r.Helper()
	r.profile.Limits = l
	return r.runSupervised(orders{Argv: argv, Timeout: time.Minute, Ungrouped: !groups})
}

// most looks at the host while a test runs: the largest number of processes with
// a marker, and how much memory they held together.
type most struct {
	processes int
	bytes     int64
}

func watchHost(t *testing.T, m string) (stop func() most) {
	quit, done := make(chan struct{}), make(chan most)
	go func() {
		var seen most
		for {
			select {
			case <-quit:
				done <- seen
				return
			case <-time.After(5 * time.Millisecond):
			}
			pids := living(t, m)
			var bytes int64
			for _, pid := range pids {
				text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
				if f := strings.Fields(string(text)); len(f) > 2 {
					all, _ := strconv.ParseInt(f[1], 10, 64)
					shared, _ := strconv.ParseInt(f[2], 10, 64)
					bytes += (all - shared) * int64(os.Getpagesize())
				}
			}
			seen.processes, seen.bytes = max(seen.processes, len(pids)), max(seen.bytes, bytes)
		}
	}()
	return func() most { close(quit); return <-done }
}

func python(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
}

// A fork bomb is ended, and never was many processes more than its limit.
func TestForkBomb(t *testing.T) { eachHold(t, testForkBomb) }

func testForkBomb(r *room, groups bool) {
	t := r.T
	const limit = 40
	if !groups && os.Geteuid() == 0 {
		// Root is not counted by the kernel, and forks faster than it can be ended.
		r.profile.Limits = sandbox.Limits{Processes: limit}
		_, err := direct.NewUngrouped(r.tier).Open(context.Background(), r.profile)
		var gap *sandbox.GapError
		if !errors.As(err, &gap) || gap.Gaps[0].Control != sandbox.LimitProcesses {
			t.Errorf("a limit that cannot be held: %v", err)
		}
		return
	}
	m := marker()
	stop := watchHost(t, m)
	out, got := r.limited(groups, sandbox.Limits{Processes: limit}, bomb(forkBomb, m)...)
	seen := stop()
	if got.Ending != sandbox.OverProcesses || got.Limit != sandbox.OverProcesses || got.ExitCode != 137 {
		t.Errorf("ended by %s, %s, %d\n%s", got.Ending, got.Limit, got.ExitCode, out[:min(len(out), 300)])
	}
	if bound := limit + limit/2 + 16 + 1; seen.processes > bound {
		t.Errorf("the host saw %d processes at a time, the bound is %d", seen.processes, bound)
	}
	if n := alive(t, m); n != 0 {
		t.Errorf("%d processes are left", n)
	}
	// A bomb that ends by itself can end between two looks where no control group
	// counts, and the gap limits-exact says so; the tier landlock has no quick way to
	// look at all.
	exact, tries := 3, 3
	if !groups {
		exact, tries = 1, 20
	}
	for noticed := 0; noticed < exact && (groups || r.tier != landlock); tries-- {
		out, got := r.limited(groups, sandbox.Limits{Processes: limit}, bomb(shortBomb, m)...)
		if got.Ending == sandbox.OverProcesses && got.Limit == sandbox.OverProcesses {
			noticed++
		} else if groups || tries == 1 {
			t.Errorf("a bomb that ends by itself: %s, %s, %d\n%s", got.Ending, got.Limit, got.ExitCode, out[:min(len(out), 300)])
			break
		}
	}
	// Up to the limit nothing is refused.
	_, got = r.limited(groups, sandbox.Limits{Processes: limit}, "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do sleep 0.2 & done; wait")
	if got.Ending != sandbox.Exited || got.ExitCode != 0 || got.Limit != "" {
		t.Errorf("16 processes of %d: %+v", limit, got)
	}
}

// Memory is bounded for one process, and for many that are small by themselves.
func TestMemoryBomb(t *testing.T) { eachHold(t, testMemoryBomb) }

func testMemoryBomb(r *room, groups bool) {
	t := r.T
	python(t)
	const limit = 96 << 20
	many := `for i in 1 2 3 4 5 6 7 8 9 10; do (` + memoryBomb + `) & done; wait`
	for name, argv := range map[string][]string{
		"one": bomb(memoryBomb, "", "3000"), "many": bomb(many, "", "40"),
	} {
		m := marker()
		argv[4] = m
		stop := watchHost(t, m)
		_, got := r.limited(groups, sandbox.Limits{MemoryBytes: limit}, argv...)
		seen := stop()
		if got.Ending != sandbox.OverMemory || got.Limit != sandbox.OverMemory || got.ExitCode != 137 {
			t.Errorf("%s: ended by %s, %s, %d", name, got.Ending, got.Limit, got.ExitCode)
		}
		if seen.bytes > limit+400<<20 {
			t.Errorf("%s: the host saw %d MiB", name, seen.bytes>>20)
		}
		if n := alive(t, m); n != 0 {
			t.Errorf("%s: %d processes are left", name, n)
		}
	}
	// The control: without a limit the host sees more.
	m := marker()
	stop := watchHost(t, m)
	_, got := r.limited(groups, sandbox.Limits{}, bomb(many, m, "20")...)
	if seen := stop(); got.ExitCode != 0 || seen.bytes < limit {
		t.Errorf("the control: the host saw %d MiB, %+v", seen.bytes>>20, got)
	}
	// What stays below the limit goes on, also when several processes share it.
	shared := `exec python3 -c 'import os
held = b"x" * (50 << 20)
pids = [os.fork() for _ in range(4)] if True else 0
import time; time.sleep(0.3); os._exit(0)' "$@"`
	_, got = r.limited(groups, sandbox.Limits{MemoryBytes: limit}, bomb(shared, m)...)
	if got.Ending != sandbox.Exited || got.ExitCode != 0 {
		t.Errorf("16 processes that share 50 MiB: %+v", got)
	}
}

// Files in the run's own file systems are memory.
func TestMemoryInFiles(t *testing.T) { eachHold(t, testMemoryInFiles) }

func testMemoryInFiles(r *room, groups bool) {
	if !r.isFull() {
		return // the tier has none
	}
	t := r.T
	const limit = 64 << 20
	fill := "for i in 1 2 3; do dd if=/dev/zero of=/dev/shm/$i bs=1048576 count=30 2>/dev/null; done; sleep 5"
	_, got := r.limited(groups, sandbox.Limits{MemoryBytes: limit}, "sh", "-c", fill)
	if got.Ending != sandbox.OverMemory {
		t.Errorf("90 MiB in /dev/shm: %+v", got)
	}
	out, got := r.limited(groups, sandbox.Limits{MemoryBytes: limit}, "sh", "-c", "dd if=/dev/zero of=/dev/shm/x bs=1048576 count=30 2>/dev/null; echo done")
	if got.Ending != sandbox.Exited || out != "done\n" {
		t.Errorf("30 MiB in /dev/shm: %+v %q", got, out)
	}
}

// Files in memory without a name are memory, whether they are mapped or not.
func TestMemoryInNamelessFiles(t *testing.T) { eachHold(t, testMemoryInNamelessFiles) }

func testMemoryInNamelessFiles(r *room, groups bool) {
	t := r.T
	python(t)
	const limit = 96 << 20
	write := `import os, time
for i in range(%d):
    f = os.memfd_create("x")
    os.write(f, b"x" * (20 << 20))
time.sleep(1)`
	_, got := r.limited(groups, sandbox.Limits{MemoryBytes: limit}, "sh", "-c", `exec python3 -c "$1"`, "sh", fmt.Sprintf(write, 10))
	if got.Ending != sandbox.OverMemory {
		t.Errorf("200 MiB: %+v", got)
	}
	_, got = r.limited(groups, sandbox.Limits{MemoryBytes: limit}, "sh", "-c", `exec python3 -c "$1"`, "sh", fmt.Sprintf(write, 1))
	if got.Ending != sandbox.Exited || got.ExitCode != 0 {
		t.Errorf("20 MiB: %+v", got)
	}
}

func TestProcessorTime(t *testing.T) { eachHold(t, testProcessorTime) }

func testProcessorTime(r *room, groups bool) {
	t := r.T
	const limit = 300 * time.Millisecond
	for name, text := range map[string]string{
		"one":                  "while :; do :; done",
		"many":                 "for i in 1 2 3; do while :; do :; done & done; wait",
		"that do not live on":  "while :; do (i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done); done",
		"that ignore signals":  "trap '' TERM XCPU; while :; do :; done",
		"after the first ends": "(while :; do :; done) & sleep 60",
	} {
		_, got := r.limited(groups, sandbox.Limits{CPUTime: limit}, "sh", "-c", text)
		if got.Ending != sandbox.OverCPU || got.Limit != sandbox.OverCPU || got.ExitCode != 137 {
			t.Errorf("%s: ended by %s, %s, %d", name, got.Ending, got.Limit, got.ExitCode)
		}
	}
	_, got := r.limited(groups, sandbox.Limits{CPUTime: limit}, "sleep", "0.5") // wall time is another thing
	if got.Ending != sandbox.Exited || got.ExitCode != 0 {
		t.Errorf("a command that sleeps: %+v", got)
	}
}

// As a library there is no supervisor: the run is a process group, or a pid
// namespace. What a limit ends is all of it.
func TestLimitsOfALibraryRun(t *testing.T) { eachTier(t, testLimitsOfALibraryRun) }

func testLimitsOfALibraryRun(r *room) {
	t := r.T
	python(t)
	r.profile.Accept = []sandbox.Control{sandbox.LimitProcesses, sandbox.LimitFileSize}
	for _, tt := range []struct {
		limits sandbox.Limits
		text   string
		want   sandbox.Ending
	}{
		{sandbox.Limits{MemoryBytes: 96 << 20}, "setsid " + memoryChild, sandbox.OverMemory},
		{sandbox.Limits{CPUTime: 200 * time.Millisecond}, "(while :; do :; done) & while :; do :; done", sandbox.OverCPU},
		{sandbox.Limits{DiskBytes: 8 << 20}, "while :; do dd if=/dev/zero of=f bs=65536 count=16; rm f; done", sandbox.OverDisk},
		{sandbox.Limits{OutputBytes: 8 << 20, OutputKill: true}, "yes & yes >&2", sandbox.OverOutput},
	} {
		m := marker()
		r.profile.Limits = tt.limits
		var out, diag counter
		got, err := r.confined().Run(context.Background(), sandbox.Command{
			Argv: bomb("("+tt.text+") & sleep "+m, m, "300"), Env: r.env(), Stdout: &out, Stderr: &diag, Timeout: time.Minute,
		})
		if err != nil || got.Ending != tt.want || got.Limit != tt.want || got.ExitCode != 137 {
			t.Errorf("%s: %+v, %v", tt.text, got, err)
		}
		eventually(t, "nothing is left", func() bool { return alive(t, m) == 0 })
	}
}

// What is measured is said to be, and a limit is required when it is asked for.
func TestLimitGaps(t *testing.T) { eachHold(t, testLimitGaps) }

func testLimitGaps(r *room, groups bool) {
	t := r.T
	b := direct.NewTier(r.tier)
	if !groups {
		b = direct.NewUngrouped(r.tier)
	}
	r.profile.Accept = []sandbox.Control{sandbox.LimitProcesses}
	for _, tt := range []struct {
		limits sandbox.Limits
		exact  bool
	}{
		{sandbox.Limits{}, true},
		{sandbox.Limits{MemoryBytes: 1 << 30}, groups},
		{sandbox.Limits{CPUTime: time.Minute}, groups},
		{sandbox.Limits{Processes: 10}, groups},
		{sandbox.Limits{FileBytes: 1 << 20}, true},
		{sandbox.Limits{OutputBytes: 1 << 20}, true},
		{sandbox.Limits{DiskBytes: 1 << 30}, false},
	} {
		r.profile.Limits = tt.limits
		s := r.open(b)
		plan, err := s.Plan(sandbox.Command{Argv: []string{"true"}})
		check(t, err)
		if gapNamed(plan.Gaps, sandbox.LimitsExact) == tt.exact {
			t.Errorf("%+v: exact %v, gaps %+v", tt.limits, tt.exact, plan.Gaps)
		}
		for _, c := range sandbox.LimitControls() {
			said := slices.Contains(plan.Enforced, c) || gapNamed(plan.Gaps, c)
			if said != tt.limits.Speaks(c) {
				t.Errorf("%+v: the plan speaks of %s: %v", tt.limits, c, said)
			}
		}
		_, got := r.run(s, "true")
		if got.ExitCode != 0 || !slices.Equal(got.Enforced, plan.Enforced) {
			t.Errorf("%+v: %+v", tt.limits, got)
		}
	}
	r.profile.Limits = sandbox.Limits{DiskBytes: 1 << 30}
	r.profile.Required = []sandbox.Control{sandbox.LimitsExact}
	if _, err := b.Open(context.Background(), r.profile); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("exact limits were required: %v", err)
	}
}

// ourGroups lists the control groups of a process.
func ourGroups(t *testing.T, pid int) []string {
	t.Helper()
	var found []string
	middle := fmt.Sprintf("-%d-", pid)
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), "sbx-0-") && strings.Contains(d.Name(), middle) {
			found = append(found, path)
		}
		return nil
	})
	return found
}

// Control groups are gone after a run, and what a killed supervisor leaves is
// taken away by the next run. Those of runs that live stay.
func TestControlGroupsAreGone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("without root there are none")
	}
	for _, tier := range []string{full, landlock} {
		t.Run(tier, func(t *testing.T) { testControlGroupsAreGone(newRoom(t, tier)) })
	}
}

func testControlGroupsAreGone(r *room) {
	t := r.T
	r.profile.Limits = sandbox.Limits{MemoryBytes: 1 << 30, Processes: 100, CPUTime: time.Minute}
	start := func(m string) *exec.Cmd {
		cmd, _ := r.supervised(orders{Argv: []string{"sh", "-c", "setsid sleep " + m + " & sleep " + m}})
		check(t, cmd.Start())
		eventually(t, "it runs", func() bool { return alive(t, m) >= 3 })
		return cmd
	}
	m, other := marker(), marker()
	killed, lives := start(m), start(other)
	defer func() {
		_ = lives.Process.Kill()
		_ = lives.Wait()
		endAll(t, other)
		r.limited(true, r.profile.Limits, "true")
		if left := ourGroups(t, lives.Process.Pid); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
	}()
	if n := len(ourGroups(t, killed.Process.Pid)); n == 0 {
		t.Fatal("the control: the run has no control group")
	}
	held := ourGroups(t, lives.Process.Pid)
	check(t, killed.Process.Kill())
	_ = killed.Wait()
	_, got := r.limited(true, r.profile.Limits, "true")
	if got.ExitCode != 0 {
		t.Errorf("%+v", got)
	}
	if left := ourGroups(t, killed.Process.Pid); len(left) != 0 {
		t.Errorf("the next run left %v", left)
	}
	if n := alive(t, m); n != 0 {
		t.Errorf("%d processes of the killed run are left", n)
	}
	if now := ourGroups(t, lives.Process.Pid); !slices.Equal(now, held) || alive(t, other) == 0 {
		t.Errorf("a run that lives had %v, has %v", held, now)
	}
	if left := ourGroups(t, os.Getpid()); len(left) != 0 {
		t.Errorf("this process has %v", left)
	}
}

// Many runs at once have a group each, and none is left.
func TestControlGroupsAtOnce(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("without root there are none")
	}
	r := newRoom(t, full)
	r.profile.Limits = sandbox.Limits{MemoryBytes: 256 << 20, Processes: 20}
	s := r.confined()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if _, got := r.run(s, "sh", "-c", "sleep 0.05; exit 7"); got.ExitCode != 7 || got.Limit != "" {
				t.Errorf("%+v", got)
			}
		})
	}
	all.Wait()
	if left := ourGroups(t, os.Getpid()); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

// A limit of the library's own process is not touched by that of a run.
func TestLimitsAreTheRunsAlone(t *testing.T) { eachTier(t, testLimitsAreTheRunsAlone) }

func testLimitsAreTheRunsAlone(r *room) {
	limits := func() (all [3]unix.Rlimit) {
		for i, which := range []int{unix.RLIMIT_FSIZE, unix.RLIMIT_CPU, unix.RLIMIT_NPROC} {
			check(r, unix.Getrlimit(which, &all[i]))
		}
		return all
	}
	before := limits()
	groups, _ := os.ReadFile("/proc/self/cgroup")
	r.profile.Accept = []sandbox.Control{sandbox.LimitProcesses, sandbox.LimitFileSize}
	r.profile.Limits = sandbox.Limits{FileBytes: 1 << 20, CPUTime: time.Second, Processes: 30, MemoryBytes: 1 << 28, OutputBytes: 1 << 20}
	out, got := r.run(r.confined(), "sh", "-c", "ulimit -f; ulimit -t")
	if got.ExitCode != 0 || r.tier != thread && out != "2048\n2\n" {
		r.Errorf("%q, %+v", out, got)
	}
	after, _ := os.ReadFile("/proc/self/cgroup")
	if limits() != before || string(groups) != string(after) {
		r.Error("this process has other limits or groups than before")
	}
}
