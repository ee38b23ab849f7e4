package command

import (
	"os"
	"os/exec"
	"testing"

	"github.com/sbx-run/sbx/testuser"
)

// The scripts run for ordinary users, who have an account: firejail asks for one.
func TestStandaloneAsUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the tests ran as an ordinary user already")
	}
	user := testuser.Take(t)
	name, home := user.Name, user.Home
	dir, err := os.MkdirTemp("/var/lib", "sbx-user-")
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	check(t, os.Chmod(dir, 0o755))
	self, err := os.Executable()
	check(t, err)
	for _, argv := range [][]string{{"cp", self, dir + "/command.test"}, {"mkdir", dir + "/rooms"}, {"chown", name, dir + "/rooms"}} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", argv, err, out)
		}
	}
	// Docker's socket and Podman's storage are root's.
	c := exec.Command("setpriv", "--reuid", name, "--regid", name, "--init-groups", dir+"/command.test", "-test.v",
		"-test.run=^(TestStandalone(Runs|ScriptFile|Ends|Refuses)|TestPassesOn|TestRefuses|TestEnvironment)$/^(bwrap|firejail)?$")
	c.Dir = dir + "/rooms"
	c.Env = []string{
		"HOME=" + home, "USER=" + name, "LOGNAME=" + name, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR=" + dir + "/rooms",
		"SBX_TEST_BASE=" + dir + "/rooms", "SBX_REQUIRE=" + os.Getenv("SBX_REQUIRE"),
	}
	out, err := c.CombinedOutput()
	t.Logf("as %s:\n%s", name, out)
	if err != nil {
		t.Error(err)
	}
}
