package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tree is a host made of ordinary directories. Making a group puts the files of
// the kernel into it, removing one needs them gone.
type tree struct {
	*testing.T
	Host
	made []string
}

func newTree(t *testing.T, mountinfo, self string) *tree {
	x := &tree{T: t, Host: Host{root: t.TempDir()}}
	x.write("/proc/self/mountinfo", mountinfo)
	x.write("/proc/self/cgroup", self)
	x.mkdir = func(dir string) error {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		rel := strings.TrimPrefix(dir, x.root)
		x.made = append(x.made, rel)
		for name, text := range map[string]string{
			"cgroup.procs": "", "memory.max": "max", "memory.swap.max": "max", "pids.max": "max", "memory.events": "low 0\noom_kill 0\n",
			"pids.events": "max 0\n", "cpu.stat": "usage_usec 0\n", "memory.limit_in_bytes": "-1", "memory.oom_control": "oom_kill 0\n", "cpuacct.usage": "0",
		} {
			x.write(filepath.Join(rel, name), text)
		}
		return nil
	}
	x.rmdir = func(dir string) error { return os.RemoveAll(dir) }
	return x
}

func (x *tree) write(name, text string) {
	x.Helper()
	if err := os.MkdirAll(filepath.Dir(x.root+name), 0o755); err != nil {
		x.Fatal(err)
	}
	if err := os.WriteFile(x.root+name, []byte(text), 0o644); err != nil {
		x.Fatal(err)
	}
}

func (x *tree) read(name string) string {
	x.Helper()
	text, err := os.ReadFile(x.root + name)
	if err != nil {
		x.Fatal(err)
	}
	return string(text)
}

const unified = "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"

// Under version 2 a group that holds processes cannot hand controllers on, so
// the run's group lies beside ours.
func TestVersion2(t *testing.T) {
	x := newTree(t, unified, "0::/user.slice/app.slice/term.scope\n")
	x.write("/sys/fs/cgroup/user.slice/app.slice/term.scope/cgroup.subtree_control", "")
	x.write("/sys/fs/cgroup/user.slice/app.slice/term.scope/memory.max", "max\n")
	x.write("/sys/fs/cgroup/user.slice/app.slice/cgroup.subtree_control", "cpu memory pids\n")
	g, err := x.Make(Want{MemoryBytes: 1 << 30, Processes: 7, CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(x.made) != 1 || filepath.Dir(x.made[0]) != "/sys/fs/cgroup/user.slice/app.slice" || len(g.Doors()) != 1 {
		t.Fatalf("made %v", x.made)
	}
	at := x.made[0]
	if x.read(at+"/memory.max") != "1073741824" || x.read(at + "/memory.swap.max")[:1] != "0" || x.read(at + "/pids.max")[:1] != "7" {
		t.Error("limits are not set")
	}
	if err := enter(g, 1234); err != nil || x.read(at+"/cgroup.procs") != "1234" {
		t.Errorf("%v, entered %q", err, x.read(at+"/cgroup.procs"))
	}
	if g.Exhausted() || g.Crowded() || g.CPUTime() != 0 || !g.Has(Memory) || !g.Has(PIDs) || !g.Has(CPU) {
		t.Error("something is reached at once")
	}
	x.write(at+"/memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\n")
	x.write(at+"/pids.events", "max 3\n")
	x.write(at+"/cpu.stat", "usage_usec 1500\nuser_usec 1000\n")
	if !g.Exhausted() || !g.Crowded() || g.CPUTime().Microseconds() != 1500 {
		t.Error("what is reached is not seen")
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(x.root + at); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the group is there after Close: %v", err)
	}
}

// Where a controller cannot be had nothing is made; what is left of the wish is
// what Able says.
func TestVersion2WithoutController(t *testing.T) {
	x := newTree(t, unified, "0::/a\n")
	x.write("/sys/fs/cgroup/a/cgroup.subtree_control", "pids\n")
	x.write("/sys/fs/cgroup/cgroup.subtree_control", "pids\n")
	want := Want{MemoryBytes: 1 << 20, Processes: 3, CPU: true}
	if g, err := x.Make(want); err == nil {
		t.Errorf("made %+v", g)
	}
	if got := x.Able(want); got != (Want{Processes: 3, CPU: true}) {
		t.Errorf("able to %+v", got)
	}
	for _, dir := range x.made {
		if _, err := os.Stat(x.root + dir); err == nil {
			t.Errorf("%s is left", dir)
		}
	}
}

// Who leaves a group with a limit gets rid of the limit.
func TestVersion2StaysBelowALimit(t *testing.T) {
	x := newTree(t, unified, "0::/slice/job\n")
	x.write("/sys/fs/cgroup/slice/job/cgroup.subtree_control", "")
	x.write("/sys/fs/cgroup/slice/cgroup.subtree_control", "memory pids\n")
	for file, text := range map[string]string{"memory.max": "1000000\n", "pids.max": "5\n", "cpu.max": "50000 100000\n", "memory.high": "1\n"} {
		x.write("/sys/fs/cgroup/slice/job/"+file, text)
		if g, err := x.Make(Want{Processes: 3}); err == nil {
			t.Errorf("%s %s: made %v", file, text, g.dirs)
		}
		x.write("/sys/fs/cgroup/slice/job/"+file, "max\n")
	}
	x.write("/sys/fs/cgroup/slice/job/cpu.max", "max 100000\n")
	g, err := x.Make(Want{Processes: 3})
	if err != nil {
		t.Fatalf("the control: %v", err)
	}
	_ = g.Close()
}

// Version 1: a child of ours in each hierarchy, also where two controllers share
// one, where only a part of it is mounted, and where both versions are there.
func TestVersion1(t *testing.T) {
	x := newTree(t, `31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct
33 31 0:30 /docker/ab /sys/fs/cgroup/mem\040ory rw - cgroup cgroup rw,memory
34 31 0:31 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
35 31 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
`, "4:cpu,cpuacct:/x\n3:memory:/docker/ab/y\n2:pids:/\n1:name=systemd:/\n0::/z\n")
	for _, dir := range []string{"/sys/fs/cgroup/cpu,cpuacct/x", "/sys/fs/cgroup/mem ory/y", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/unified/z"} {
		x.write(dir+"/cgroup.procs", "")
	}
	g, err := x.Make(Want{MemoryBytes: 4096, Processes: 2, CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for _, dir := range x.made {
		dirs = append(dirs, filepath.Dir(dir))
	}
	slices.Sort(dirs)
	if want := []string{"/sys/fs/cgroup/cpu,cpuacct/x", "/sys/fs/cgroup/mem ory/y", "/sys/fs/cgroup/pids"}; !slices.Equal(dirs, want) {
		t.Errorf("made %v", dirs)
	}
	for _, d := range g.dirs {
		if d.controllers[0] == Memory && x.read(d.path+"/memory.limit_in_bytes") != "4096" {
			t.Error("no limit of memory")
		}
	}
	x.write(g.dirs[0].path+"/cpuacct.usage", "1700\n")
	if g.CPUTime() != 1700 {
		t.Errorf("time %v", g.CPUTime())
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	// A group that lies outside of what is mounted cannot be reached.
	x.write("/proc/self/cgroup", "3:memory:/docker/abc\n2:pids:/../up\n")
	for _, w := range []Want{{MemoryBytes: 4096}, {Processes: 2}} {
		if g, err := x.Make(w); err == nil {
			t.Errorf("%+v: made %+v", w, g.dirs)
		}
	}
}

// Nothing is made where nothing is mounted, or nothing can be written.
func TestNoHierarchy(t *testing.T) {
	x := newTree(t, "31 23 0:28 / / rw - ext4 /dev/vda rw\nbroken line\n", "")
	if got := x.Able(Want{1 << 20, 3, true}); got != (Want{}) {
		t.Errorf("able to %+v", got)
	}
	x = newTree(t, unified, "0::/\n")
	x.write("/sys/fs/cgroup/cgroup.subtree_control", "memory pids\n")
	x.mkdir = func(string) error { return unix.EROFS }
	if got := x.Able(Want{1 << 20, 3, true}); got != (Want{}) {
		t.Errorf("read-only: able to %+v", got)
	}
}

func TestNames(t *testing.T) {
	name := groupName()
	o, ok := ownerOf(name)
	if !ok || o != self() || o.gone() || o.started == 0 || o.pidNS == 0 {
		t.Errorf("%s: %+v, gone %v", name, o, o.gone())
	}
	if other := groupName(); other == name {
		t.Error("two groups have one name")
	}
	for _, bad := range []string{"", "sbx-", "sbx-1-2-3-4", "sbx-1-2-3-4-5-6", "sbx-a-2-3-4-5", "sbx--1-2-3-4", "sbx-test-eng1-docker", "x" + name} {
		if o, ok := ownerOf(bad); ok {
			t.Errorf("%q: %+v", bad, o)
		}
	}
}

// The reaper takes what a dead process of ours left, and nothing else.
func TestReap(t *testing.T) {
	x := newTree(t, unified, "0::/own\n")
	x.write("/sys/fs/cgroup/own/cgroup.subtree_control", "memory pids\n")
	x.write("/sys/fs/cgroup/beside/cgroup.procs", "")
	me := self()
	named := func(o owner, n int) string {
		return fmt.Sprintf("sbx-%d-%d-%d-%d-%d", o.uid, o.pidNS, o.pid, o.started, n)
	}
	dead, reused, elsewhere, other := me, me, me, me
	dead.pid = deadPID(t)
	reused.started++ // the number is another process's now
	elsewhere.pid, elsewhere.pidNS = dead.pid, 1
	other.pid, other.uid = dead.pid, me.uid+1
	in := func(dir, name string) string { return "/sys/fs/cgroup/" + dir + "/" + name }
	locked := in("own", named(dead, 7))
	for _, dir := range []string{
		in("own", named(dead, 1)), in("own", named(reused, 2)), in("beside", named(dead, 3)),
		in("own", named(me, 4)), in("own", named(elsewhere, 5)), in("own", named(other, 6)), locked, in("own", "sbx-test-docker"), in("own", "job"),
	} {
		x.write(dir+"/cgroup.procs", "")
	}
	lock, err := os.Open(x.root + locked)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	g, err := x.Make(Want{Processes: 1})
	if err != nil {
		t.Fatal(err)
	}
	for dir, stays := range map[string]bool{
		in("own", named(dead, 1)): false, in("own", named(reused, 2)): false, in("beside", named(dead, 3)): false,
		in("own", named(me, 4)): true, in("own", named(elsewhere, 5)): true, in("own", named(other, 6)): true,
		locked: true, in("own", "sbx-test-docker"): true, in("own", "job"): true, g.dirs[0].path: true,
	} {
		if _, err := os.Stat(x.root + dir); (err == nil) != stays {
			t.Errorf("%s: stays %v, want %v", dir, err == nil, stays)
		}
	}
	_ = g.Close()
}

// deadPID is the number of a process that has ended.
func deadPID(t *testing.T) int {
	t.Helper()
	for pid := 1 << 22; pid > 1; pid-- {
		if unix.Kill(pid, 0) == unix.ESRCH {
			return pid
		}
	}
	t.Fatal("every number is a process")
	return 0
}

// On this host: what is asked for is held, a process that enters is counted, and
// the group is gone after Close.
func TestHere(t *testing.T) {
	want := Want{MemoryBytes: 64 << 20, Processes: 50, CPU: true}
	if got := (Host{}).Able(want); got != want {
		require(t, fmt.Sprintf("able to %+v only", got))
	}
	testReal(t, Host{}, want)
}

// The same under version 2 alone. Where version 1 has the other controllers, time
// can be counted still.
func TestHereVersion2(t *testing.T) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	h := Host{self: t.TempDir()}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for name, all := range map[string]string{"mountinfo": string(text), "cgroup": string(own)} {
		var kept string
		for line := range strings.Lines(all) {
			if name == "cgroup" || strings.Contains(line, " - cgroup2 ") {
				kept += line
			}
		}
		if err := os.WriteFile(h.self+"/"+name, []byte(kept), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := h.Able(Want{CPU: true}); got != (Want{CPU: true}) {
		require(t, "no group of version 2 can be made")
	}
	testReal(t, h, Want{CPU: true})
}

// enter moves a process in by the doors.
func enter(g *Group, pid int) error {
	for _, fd := range g.Doors() {
		if _, err := unix.Write(fd, []byte(strconv.Itoa(pid))); err != nil {
			return err
		}
	}
	return nil
}

func require(t *testing.T, why string) {
	t.Helper()
	if strings.Contains(os.Getenv("SBX_REQUIRE"), "cgroup") {
		t.Fatal(why)
	}
	t.Skip(why)
}

func testReal(t *testing.T, h Host, want Want) {
	g, err := h.Make(want)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	p, err := os.StartProcess("/bin/sh", []string{"sh", "-c", "i=0; while :; do i=$((i+1)); done"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	if err := enter(g, p.Pid); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(p.Pid) + "/cgroup")
	if n := strings.Count(string(text), filepath.Base(g.dirs[0].path)); n != len(g.dirs) {
		t.Errorf("entered %d of %d groups:\n%s", n, len(g.dirs), text)
	}
	for end := time.Now().Add(10 * time.Second); g.CPUTime() < 10*time.Millisecond; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after 10 s of a loop the group has used %v", g.CPUTime())
		}
	}
	dirs := g.dirs
	ended := make(chan *os.ProcessState)
	go func() { s, _ := p.Wait(); ended <- s }()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if s := <-ended; !s.Sys().(syscall.WaitStatus).Signaled() {
		t.Errorf("the process in the group ended by itself: %v", s)
	}
	for _, d := range dirs {
		if _, err := os.Stat(d.path); err == nil {
			t.Errorf("%s is left", d.path)
		}
	}
}
