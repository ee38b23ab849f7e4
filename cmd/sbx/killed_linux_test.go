package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// processes lists those that carry a word among their arguments.
func processes(t *testing.T, word string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && bytes.Contains(text, []byte(word)) {
			found = append(found, f)
		}
	}
	return found
}

// sbx is killed at random moments. No process is left, at once; what was in its
// own temp directory is gone after the next start; a run that lives keeps its own.
func TestKilledAtRandom(t *testing.T) {
	if ok, err := condition("direct"); err != nil || !ok {
		t.Skip("the direct backend cannot confine here", err)
	}
	rounds := 100
	if testing.Short() {
		rounds = 10
	}
	dir := scriptsRoot(t)
	for _, name := range []string{"home", "ws"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	command := func(script string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(os.Getenv(binVar), "sbx"), "exec", "--temp", "run", "--", "sh", "-c", script)
		cmd.Dir = filepath.Join(dir, "ws")
		cmd.Env = []string{"HOME=" + filepath.Join(dir, "home"), "PATH=" + searchPath(), "XDG_CACHE_HOME=" + filepath.Join(dir, "home", "cache")}
		return cmd
	}
	temps := func() []string {
		found, err := filepath.Glob(filepath.Join(dir, "home", "cache", "sbx", "*", "sbx-run-*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	live := command("echo mine >$TMPDIR/f; echo x >ready; until test -e end; do sleep 0.05; done; cat $TMPDIR/f")
	var said strings.Builder
	live.Stdout = &said
	if err := live.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = live.Process.Kill(); _ = live.Wait() })
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "ws", "ready")); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatal("the run that is to live does not start")
		}
	}

	left, longest := 0, time.Duration(0)
	for i := range rounds {
		mark := fmt.Sprintf("500.%d%03d", time.Now().UnixNano(), i)
		cmd := command("echo x >$TMPDIR/f; trap '' TERM; setsid sleep " + mark + " & sleep " + mark)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(80_000)) * time.Microsecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		killed := time.Now()
		left = max(left, len(temps())-1)
		for found := processes(t, mark); len(found) > 0; found = processes(t, mark) {
			if time.Since(killed) > 20*time.Second {
				t.Fatalf("round %d: %q live", i, found)
			}
			time.Sleep(time.Millisecond)
		}
		longest = max(longest, time.Since(killed))
	}
	if out, err := command("true").CombinedOutput(); err != nil {
		t.Errorf("the next start: %v %s", err, out)
	}
	if found := temps(); len(found) != 1 {
		t.Errorf("temp directories of one run that lives: %q", found)
	}
	if left == 0 {
		t.Error("control: no run that was killed left a temp directory")
	}
	if err := os.WriteFile(filepath.Join(dir, "ws", "end"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := live.Wait(); err != nil || said.String() != "mine\n" {
		t.Errorf("the run that lives: %v, %q", err, said.String())
	}
	if found := temps(); len(found) != 0 {
		t.Errorf("left: %q", found)
	}
	if text, err := os.ReadFile("/proc/self/mountinfo"); err != nil || bytes.Contains(text, []byte(dir)) {
		t.Errorf("a mount is left, %v", err)
	}
	t.Logf("%d rounds; the last process was gone %v after sbx", rounds, longest)
}
