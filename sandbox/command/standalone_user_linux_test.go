package command

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// The scripts run for ordinary users, who have an account: firejail asks for one.
func TestStandaloneAsUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the tests ran as an ordinary user already")
	}
	name := "sbxcmd" + strconv.Itoa(os.Getpid()%100000)
	home := "/home/" + name
	if out, err := exec.Command("useradd", "--user-group", "--create-home", "--home-dir", home, "--shell", "/bin/sh", name).CombinedOutput(); err != nil {
		if os.Getenv("SBX_REQUIRE") != "" {
			t.Fatalf("useradd: %v\n%s", err, out)
		}
		t.Skipf("no ordinary user can be made: useradd: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("userdel", "--remove", name).CombinedOutput(); err != nil {
			t.Errorf("userdel: %v\n%s", err, out)
		}
	})
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
