package container_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/containerd"
	"github.com/sbx-run/sbx/sandbox/docker"
	"github.com/sbx-run/sbx/sandbox/probes"
)

const victimVar = "SBX_TEST_VICTIM"

// victim is what a test kills.
type victim struct {
	Engine  string
	Profile sandbox.Profile
}

// beVictim runs a command that only a signal ends.
func beVictim(text string) int {
	var v victim
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s, err := newBackend(v.Engine, options()).Open(context.Background(), v.Profile)
	if err == nil {
		_, err = s.Run(context.Background(), sandbox.Command{Argv: []string{"sh", "-c", "sleep 600 & sleep 600; true", v.Profile.Workspace}})
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// victim is a process that has started such a command.
func (r *room) victim() *exec.Cmd {
	r.Helper()
	self, err := os.Executable()
	check(r, err)
	text, err := json.Marshal(victim{r.engine, r.profile})
	check(r, err)
	c := exec.Command(self)
	c.Env = append(os.Environ(), victimVar+"="+string(text))
	check(r, c.Start())
	if !await(func() bool { return len(commandsWith(r, r.workspace)) > 0 }) {
		r.Fatal("no process of the command is seen")
	}
	return c
}

// A maker that is killed, whenever that is, leaves nothing: a container that
// runs ends with the connection, one that was never started is removed by the
// next run.
func TestKilledAtRandom(t *testing.T) {
	runs := 100
	if testing.Short() {
		runs = 10
	}
	eachEngine(t, func(r *room) {
		self, err := os.Executable()
		check(r, err)
		text, err := json.Marshal(victim{r.engine, r.profile})
		check(r, err)
		count := runs
		if someRows(r.engine) != nil {
			count = min(runs, 40)
		}
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for range count / 4 {
					c := exec.Command(self)
					c.Env = append(os.Environ(), victimVar+"="+string(text))
					if err := c.Start(); err != nil {
						r.Error(err)
						return
					}
					time.Sleep(time.Duration(rand.IntN(900)) * time.Millisecond)
					_ = c.Process.Kill()
					_ = c.Wait()
				}
			})
		}
		group.Wait()
		r.gone() // what runs ends by itself
		r.sweptByNext()
	})
}

// gone waits until no command of the room runs any more.
func (r *room) gone() {
	r.Helper()
	if !await(func() bool { return len(commandsWith(r, r.workspace)) == 0 }) {
		r.Errorf("they go on: %q", commandsWith(r, r.workspace))
	}
}

// sweptByNext is the end of a test that killed somebody: what is left then, the next
// run removes. What an engine was just making may appear later: the one after it.
func (r *room) sweptByNext() {
	r.Helper()
	for range 6 {
		s, err := r.backend().Open(r.Context(), r.profile)
		check(r, err)
		r.run(s, "true")
		check(r, s.Close())
		if awaitFor(patience/6, func() bool { return r.leftNow() == "" }) {
			return
		}
	}
	r.Errorf("left behind: %s", r.leftNow())
}

// commandsWith are the processes of this machine with a word among their
// arguments, by what they were started with.
func commandsWith(t testing.TB, word string) []string {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	check(t, err)
	var found []string
	for _, line := range lines {
		text, err := os.ReadFile(line)
		if args := strings.Split(string(text), "\x00"); err == nil && slices.Contains(args, word) {
			found = append(found, strings.Join(args, " "))
		}
	}
	return found
}

// The reaper takes what its maker cannot use any more, and nothing else.
func TestReaper(t *testing.T) {
	eachEngine(t, func(r *room) {
		uid := fmt.Sprintf("run.sbx.uid=%d", os.Geteuid())
		dead := r.create(uid, "run.sbx.kind=run", "run.sbx.owner=1:1:1:another-boot")
		others := r.create("run.sbx.uid=4242", "run.sbx.kind=run", "run.sbx.owner=1:1:1:another-boot")
		unknown := r.create(uid, "run.sbx.kind=run", "run.sbx.owner=")
		s := r.open()
		r.run(s, "true")
		r.run(s, "true")
		await(func() bool { return !slices.Contains(r.containers(), dead) })
		left := r.containers()
		if slices.Contains(left, dead) || !slices.Contains(left, others) || !slices.Contains(left, unknown) {
			r.Errorf("left: %s; dead %s, another's %s, unknown %s", left, dead, others, unknown)
		}
		r.remove(others, unknown)
		r.leavesNothing()
	})
}

// What is nobody's is listed, and goes when it is told to; nothing else does.
func TestSweep(t *testing.T) {
	eachEngine(t, func(r *room) {
		switch r.engine { // it is asked without a profile
		case docker.Docker:
			r.Setenv("DOCKER_HOST", host(r.engine))
		case containerd.Name:
			r.Setenv("CONTAINERD_ADDRESS", host(r.engine))
		}
		uid := fmt.Sprintf("run.sbx.uid=%d", os.Geteuid())
		others := r.create("run.sbx.uid=4242", "run.sbx.kind=run", "run.sbx.owner=1:1:1:another-boot")
		sweeper := r.backend().(sandbox.Sweeper)
		for _, remove := range []bool{false, true} {
			var dead string
			var listed, have []string
			// A run of another package's tests may take what is nobody's, too.
			for range 10 {
				dead = r.create(uid, "run.sbx.kind=run", "run.sbx.owner=1:1:1:another-boot")
				var err error
				listed, err = sweeper.Sweep(r.Context(), remove)
				check(r, err)
				if have = r.containers(); slices.Contains(listed, dead) && slices.Contains(have, dead) != remove {
					break
				}
			}
			if !slices.Contains(listed, dead) || slices.Contains(have, dead) == remove || slices.Contains(listed, others) || !slices.Contains(have, others) {
				r.Errorf("remove %v: listed %q, there are %q; dead %s, another's %s", remove, listed, have, dead, others)
			}
		}
		r.remove(others)
	})
}

// Many at once, without a failure.
func TestManyAtOnce(t *testing.T) {
	eachEngine(t, func(r *room) {
		s := r.open()
		var group sync.WaitGroup
		for i := range 32 {
			group.Go(func() {
				out, result := r.run(s, "sh", "-c", fmt.Sprintf("echo %d; exit %d", i, i))
				if out != fmt.Sprintf("%d\n", i) || result.ExitCode != i {
					r.Errorf("%d: %q, %+v", i, out, result)
				}
			})
		}
		group.Wait()
		r.leavesNothing()
	})
}

// someRows are rows of each kind: what holds in a container is made by the same code
// for each engine, so the whole suite is for one of them. SBX_TEST_ROWS=all tries all.
func someRows(engine string) []string {
	if engine == docker.Docker || os.Getenv("SBX_TEST_ROWS") == "all" {
		return nil
	}
	return []string{
		"P00", "P01", "P02", "P03", "P04", "P07", "P11", "P13", "P21", "P26", "P29", "P31", "P38", "N10", "N11", "N12", "N16", "N20", "N21", "N22", "P45", "P47",
		"P49", "P50a", "P52a", "P54d", "P56d", "P61", "P64", "P65h", "P67", "P68", "P69", "P71", "P72", "P73", "P74", "P76", "P77a", "P79", "P80", "P86a", "P86g", "N60",
	}
}

// The conformance suite: nothing is open that is not named.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes")
	}
	eachEngine(t, func(r *room) {
		self, err := os.Executable()
		check(r, err)
		switch r.engine { // the suite asks what is installed before it has a profile
		case docker.Docker:
			r.Setenv("DOCKER_HOST", host(r.engine))
		case containerd.Name:
			r.Setenv("CONTAINERD_ADDRESS", host(r.engine))
		}
		var env []string
		for _, entry := range os.Environ() {
			if strings.HasPrefix(entry, "SBX_TEST_") || strings.HasPrefix(entry, "CONTAINER") || strings.HasPrefix(entry, "DOCKER_HOST=") || strings.HasPrefix(entry, "XDG_RUNTIME_DIR=") {
				env = append(env, entry)
			}
		}
		c := r.profile.Container
		c.Image = tools
		only := someRows(r.engine)
		report, err := probes.Run(r.Context(), r.backend(), probes.Options{Helper: []string{self}, Only: only, Parallel: 4, Container: c, Environ: env, Proxy: os.Getenv(proxyVar)})
		check(r, err)
		r.Log(report.Summary())
		held := 0
		for _, o := range report.Outcomes {
			switch {
			case o.Status == probes.NotHeld, o.Refused && o.Want == "works":
				r.Errorf("%s %s: %s (%s)", o.ID, o.Try, o.Observed, o.Why)
			case o.Status == probes.Held:
				held++
			}
		}
		if held < 200 && only == nil || held < 60 {
			r.Errorf("only %d rows were held", held)
		}
		open := map[sandbox.Control]bool{}
		for _, g := range report.Gaps {
			open[g.Control] = true
		}
		if !slices.Contains(report.Enforced, sandbox.WritesConfined) || open[sandbox.NetworkOff] {
			r.Errorf("enforced %v, gaps %v", report.Enforced, report.Gaps)
		}
	})
}
