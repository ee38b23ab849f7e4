package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// hiders are the ways of confinement that hide files of this host.
func hiders(t *testing.T) [][]string {
	t.Helper()
	ways := [][]string{{"--tier", "landlock"}}
	for name, way := range map[string][]string{"full": {"--tier", "full"}, "bwrap": {"--backend", "bwrap"}} {
		if have, err := condition(name); err != nil {
			t.Fatal(err)
		} else if have {
			ways = append(ways, way)
		}
	}
	return ways
}

// A home directory that is mounted a second time does not show its credentials
// there, under any way of confinement.
func TestHiddenInSecondMount(t *testing.T) {
	s := newSeat(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	second := filepath.Join(filepath.Dir(s.home), "second")
	if err := os.Mkdir(second, 0o755); err != nil {
		t.Fatal(err)
	}
	s.put(t, ".netrc", "canary-of-netrc")
	s.put(t, "open", "readable")
	for _, way := range hiders(t) {
		// The first cat is the control.
		script := `mount --make-rprivate / && mount --bind "$HOME" "$1" && cat "$1/.netrc" || exit 99
shift
exec "$@"`
		args := append([]string{"-c", script, "sh", second, filepath.Join(os.Getenv(binVar), "sbx"), "exec", "--workspace", s.workspace}, way...)
		args = append(args, "--", "sh", "-c", `cat "$0/open"; cat "$0/.netrc" "$1/.netrc"; true`, second, s.home)
		cmd := exec.Command("sh", args...)
		cmd.Env = []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH")}
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Count(string(out), "canary-of-netrc") != 1 || !strings.Contains(string(out), "readable") {
			t.Errorf("%v: %v, want the canary once, from the control:\n%s", way, err, out)
		}
	}
}

// A link in the workspace that leads into itself, where something hidden should
// be, uncovers nothing else.
func TestHiddenBesideRingOfLinks(t *testing.T) {
	s := newSeat(t)
	s.put(t, ".netrc", "canary-of-netrc")
	dots := filepath.Join(s.workspace, "dot")
	if err := os.Mkdir(dots, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{filepath.Join(s.home, ".config"): dots, filepath.Join(dots, "gh"): "gh/more"} {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	netrc := filepath.Join(s.home, ".netrc")
	if text, err := os.ReadFile(netrc); err != nil || !strings.Contains(string(text), "canary") { // control
		t.Fatalf("%q, %v", text, err)
	}
	for _, way := range hiders(t) {
		args := append([]string{"exec", "--workspace", s.workspace, "--accept-gap", "credentials-hidden"}, way...)
		cmd := exec.Command(filepath.Join(os.Getenv(binVar), "sbx"), append(args, "--", "sh", "-c", `echo began; cat "$0"; true`, netrc)...)
		cmd.Env = []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "began") || strings.Contains(string(out), "canary") {
			t.Errorf("%v: %v, want no canary:\n%s", way, err, out)
		}
	}
}
