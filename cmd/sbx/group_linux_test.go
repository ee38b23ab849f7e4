package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A command that signals process group 0 ends itself, not sbx and its caller, who
// are in that group: no pid namespace keeps it from meaning them.
func TestGroupSignalStaysInside(t *testing.T) {
	s := newSeat(t)
	run := func(dir string, argv ...string) (string, error) {
		// What follows is the caller, who has a word to say afterwards.
		cmd := exec.Command("sh", append([]string{"-c", `"$@"; echo "caller lives: $?"`, "sh"}, argv...)...)
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH")}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	kill := []string{"sh", "-c", "kill -9 0"}
	if out, err := run(s.workspace, kill...); err == nil || strings.Contains(out, "lives") {
		t.Fatalf("control: %v, %s", err, out)
	}
	ways := hiders(t)
	if _, err := exec.LookPath("firejail"); err == nil && os.Geteuid() == 0 { // it refuses users that /etc/passwd does not have
		ways = append(ways, []string{"--backend", "firejail"})
	}
	for _, way := range ways {
		args := append([]string{filepath.Join(os.Getenv(binVar), "sbx"), "exec", "--workspace", s.workspace}, way...)
		if plan, err := run(s.workspace, append(args, "--dry-run", "--", "true")...); err != nil || strings.Contains(plan, `{"control":"signals"`) {
			t.Logf("%v: not on this kernel, %v", way, err) // which is said
			continue
		}
		out, err := run(s.workspace, append(append(args, "--"), kill...)...)
		if err != nil || !strings.Contains(out, "caller lives: 137") {
			t.Errorf("%v: %v, want the command killed and nobody else:\n%s", way, err, out)
		}
	}
}
