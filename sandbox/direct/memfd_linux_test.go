//go:build amd64 || arm64

package direct_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/direct"
)

// memfdVar says under which vm.memfd_noexec a test runs.
const memfdVar = "SBX_TEST_MEMFD_NOEXEC"

// Where anonymous files are not executable (vm.memfd_noexec), pid 1 still starts,
// for root and for an ordinary user. The setting belongs to a pid namespace, so
// the host's stays as it is.
func TestMemfdNoexec(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can set it; the run as root also tries it as an ordinary user")
	}
	need(t, full)
	const setting = "/proc/sys/vm/memfd_noexec"
	before, err := os.ReadFile(setting)
	if err != nil {
		t.Skipf("a kernel before 6.3: %v", err)
	}
	dir, err := os.MkdirTemp("/var/lib", "sbx-memfd-")
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	check(t, os.Chmod(dir, 0o755))
	check(t, os.Mkdir(dir+"/rooms", 0o777))
	check(t, os.Chmod(dir+"/rooms", 0o777))
	exe := dir + "/direct.test"
	text, err := os.ReadFile(self(t))
	check(t, err)
	check(t, os.WriteFile(exe, text, 0o755))
	for _, value := range []string{"0", "1", "2"} {
		for _, who := range [][]string{nil, {"setpriv", "--reuid", "65533", "--regid", "65533", "--clear-groups"}} {
			args := append([]string{
				"--pid", "--mount", "--fork", "--kill-child", "--mount-proc",
				"sh", "-ec", "echo " + value + " >" + setting + `; test "$(cat ` + setting + `)" = ` + value + `; exec "$@"`, "sh",
			}, who...)
			cmd := exec.Command("unshare", append(args, exe, "-test.run=^TestUnderMemfdNoexec$", "-test.v")...)
			cmd.Env = append(os.Environ(), memfdVar+"="+value, baseVar+"="+dir+"/rooms", "HOME="+dir)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
				t.Errorf("memfd_noexec %s, %v: %v\n%s", value, who, err, out)
			}
		}
	}
	if after, err := os.ReadFile(setting); err != nil || string(after) != string(before) {
		t.Errorf("the host's setting is %q, was %q, %v", after, before, err)
	}
}

// TestUnderMemfdNoexec is what TestMemfdNoexec runs.
func TestUnderMemfdNoexec(t *testing.T) {
	value := os.Getenv(memfdVar)
	if value == "" {
		return
	}
	// The control: the setting does what it is said to do.
	fd, err := unix.MemfdCreate("sbx-test", unix.MFD_CLOEXEC|unix.MFD_EXEC)
	if refused := errors.Is(err, unix.EACCES); refused != (value == "2") {
		t.Fatalf("memfd_create: %v", err)
	}
	if err == nil {
		_ = unix.Close(fd)
	}
	found, err := direct.New().Probe(t.Context())
	if err != nil || found.Tier != full {
		t.Fatalf("tier %s, %v", found.Tier, err)
	}
	r := newRoom(t, full)
	for _, network := range []sandbox.Network{sandbox.NetworkNone, sandbox.NetworkHost} {
		r.profile.Network = network
		s := r.confined()
		out, got := r.run(s, "sh", "-c", "cat /proc/1/comm; ls -A /run; readlink /proc/1/exe; exit 42")
		if got.ExitCode != 42 || got.Tier != full || !strings.HasPrefix(out, "sbx-init\n") || strings.Contains(out, "/run") || strings.Contains(out, "\ninit") {
			t.Errorf("%+v %q", got, out)
		}
		plan, err := s.Plan(sandbox.Command{Argv: []string{"true"}})
		check(t, err)
		if placed := strings.Contains(strings.Join(plan.Steps, "\n"), "write pid 1"); placed != (value == "2") {
			t.Errorf("the plan: %q", plan.Steps)
		}
		r.want("EROFS", "utime", r.outside+"/file")
		if _, got := r.run(s, "sh", "-c", "kill -TERM $$"); got.Ending != sandbox.Signaled || got.ExitCode != 143 {
			t.Errorf("%+v", got)
		}
	}
	out, got := r.runSupervised(orders{Argv: []string{"sh", "-c", "sleep 300 & exit 3"}})
	if got.ExitCode != 3 {
		t.Errorf("supervised: %+v %q", got, out)
	}
}
