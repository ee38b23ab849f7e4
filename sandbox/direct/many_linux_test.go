//go:build amd64 || arm64

package direct_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// runsVar is how many runs TestFullManyRuns makes; 2000 is what is promised.
const runsVar = "SBX_TEST_RUNS"

// Whenever sbx is killed, nothing is left, at once.
func TestFullKilledAtRandom(t *testing.T) {
	r := newRoom(t, full)
	before, namespaces := mountinfo(t), mountNamespaces(t)
	rounds := 200
	if testing.Short() {
		rounds = 20
	}
	const atOnce = 10 * time.Second // measured: some milliseconds; a busy machine took two seconds, and what outlives sbx stays for minutes
	up, looked, longest := 0, 0, time.Duration(0)
	for i := range rounds {
		m := marker()
		r.profile.Network = []sandbox.Network{sandbox.NetworkNone, sandbox.NetworkHost}[i%2]
		cmd, _ := r.supervised(orders{Argv: []string{"sh", "-c", "trap '' TERM HUP INT; setsid sleep " + m + " & (setsid sh -c 'sleep " + m + " & sleep " + m + "' &) ; sleep " + m}})
		check(t, cmd.Start())
		time.Sleep(time.Duration(rand.IntN(60_000)) * time.Microsecond)
		// To look takes so long that the command may be up afterwards: now and then only.
		if i%4 == 0 {
			looked++
			if alive(t, m) > 1 { // the orders are in the supervisor's environment, not in its arguments
				up++
			}
		}
		check(t, cmd.Process.Kill())
		_ = cmd.Wait()
		killed := time.Now()
		for alive(t, m) > 0 {
			if time.Since(killed) > atOnce {
				t.Errorf("round %d: %d processes live %v after sbx", i, alive(t, m), time.Since(killed))
				endAll(t, m)
			}
			time.Sleep(time.Millisecond)
		}
		longest = max(longest, time.Since(killed))
	}
	if up == 0 {
		t.Errorf("control: the command was never up in %d rounds", looked)
	}
	if after := mountinfo(t); after != before {
		t.Errorf("the mounts of the host changed:\n%s", after)
	}
	for name := range mountNamespaces(t) {
		if !namespaces[name] && holds(t, name, r.dir) {
			t.Errorf("the mount namespace %s of a run is left", name)
		}
	}
	t.Logf("%d rounds; the command was up in %d of %d that were looked at; the last process was gone %v after sbx", rounds, up, looked, longest)
}

// mountNamespaces lists those of all processes that can be looked at.
func mountNamespaces(t *testing.T) map[string]bool {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/ns/mnt")
	check(t, err)
	found := map[string]bool{}
	for _, l := range links {
		if name, err := os.Readlink(l); err == nil {
			found[name] = true
		}
	}
	return found
}

// holds says that a process in a mount namespace sees mounts in a room. Others
// make namespaces on this machine, too.
func holds(t *testing.T, namespace, dir string) bool {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/ns/mnt")
	check(t, err)
	for _, l := range links {
		if name, err := os.Readlink(l); err == nil && name == namespace {
			text, _ := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(l)), "mountinfo"))
			if bytes.Contains(text, []byte(" "+dir+"/")) {
				return true
			}
		}
	}
	return false
}

// 64 at once, again and again: none fails, and each answer is its own. The child
// uses memory of this process, so the collector is made to work all the time.
func TestFullManyRuns(t *testing.T) {
	r := newRoom(t, full)
	s := r.confined()
	runs := 256
	if n, err := strconv.Atoi(os.Getenv(runsVar)); err == nil {
		runs = n
	}
	if testing.Short() {
		runs = 64
	}
	for _, percent := range []int{100, 1} {
		t.Run(fmt.Sprintf("GOGC=%d", percent), func(t *testing.T) {
			defer debug.SetGCPercent(debug.SetGCPercent(percent))
			var all sync.WaitGroup
			numbers := make(chan int)
			began := time.Now()
			for range 64 {
				all.Go(func() {
					for n := range numbers {
						oneOfMany(t, r, s, n)
					}
				})
			}
			for n := range runs {
				numbers <- n
			}
			close(numbers)
			all.Wait()
			t.Logf("%d runs, 64 at once, in %v", runs, time.Since(began).Round(time.Millisecond))
		})
	}
	if left := children(t); left != "" {
		t.Errorf("processes are left: %s", left)
	}
}

func oneOfMany(t *testing.T, r *room, s sandbox.Session, n int) {
	var out bytes.Buffer
	text := strings.Repeat(strconv.Itoa(n)+" ", 100)
	got, err := s.Run(context.Background(), sandbox.Command{
		Argv: []string{"sh", "-c", "cat; exit " + strconv.Itoa(n%100)}, Env: r.env(), Stdin: strings.NewReader(text), Stdout: &out,
	})
	if err != nil || got.Ending != sandbox.Exited || got.ExitCode != n%100 || out.String() != text {
		t.Errorf("run %d: %+v, %v, %d bytes", n, got, err, out.Len())
	}
}
