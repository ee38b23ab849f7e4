package testuser

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// recorder keeps what a test of its own would fail with.
type recorder struct {
	testing.TB
	failed   []string
	cleanups []func()
}

func (r *recorder) Errorf(format string, args ...any) { r.failed = append(r.failed, format) }
func (r *recorder) Error(args ...any)                 { r.failed = append(r.failed, "error") }
func (r *recorder) Cleanup(f func())                  { r.cleanups = append(r.cleanups, f) }

func (r *recorder) end() {
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
}

func start(t *testing.T, u User, script string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: u.Credential()}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// Two tests at once have two accounts, each with a new home.
func TestEachHasOne(t *testing.T) {
	if pool, _ := lookup(poolName + "1"); pool.Name == "" {
		t.Skip("there are no accounts: scripts/test-machine.sh make")
	}
	a, b := Take(t), Take(t)
	if a.Name == b.Name || a.UID == b.UID {
		t.Errorf("%+v and %+v", a, b)
	}
	for _, u := range []User{a, b} {
		if err := start(t, u, `cd `+u.Home+` && test "$(stat -c %u .)" = "$(id -u)" && touch f .profile`).Wait(); err != nil {
			t.Errorf("%s: %v", u.Home, err)
		}
	}
}

// What a test leaves fails it, and the next one does not find it.
func TestLeftoversAreFoundAndGo(t *testing.T) {
	r := &recorder{TB: t}
	u := Take(r)
	patience = 200 * time.Millisecond
	defer func() { patience = 5 * time.Second }()
	file := filepath.Join("/var/tmp", "sbx-left-"+u.Name)
	if err := start(t, u, "touch "+file+" $HOME; touch "+u.Home+"/f").Wait(); err != nil {
		t.Fatal(err)
	}
	left := start(t, u, "exec sleep 1000")
	if found := strings.Join(u.left(), "\n"); !strings.Contains(found, "sleep 1000") || !strings.Contains(found, file) {
		t.Errorf("left: %s", found)
	}
	go func() { _ = left.Wait() }()
	r.end()
	if len(r.failed) != 2 {
		t.Errorf("the test failed with %q", r.failed)
	}
	if found := u.left(); len(found) > 0 {
		t.Errorf("still there: %q", found)
	}
	if _, err := os.Lstat(u.Home); err == nil {
		t.Errorf("%s is still there", u.Home)
	}
}

// The control: a test that leaves nothing passes.
func TestNothingLeft(t *testing.T) {
	r := &recorder{TB: t}
	u := Take(r)
	if err := start(t, u, "touch "+u.Home+"/f").Wait(); err != nil {
		t.Fatal(err)
	}
	r.end()
	if len(r.failed) > 0 {
		t.Errorf("the test failed with %q", r.failed)
	}
}
