package config

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// reachVar is the home directory that TestLoadAsAnother looks into.
const reachVar = "SBX_TEST_REACH"

// TestLoadAsAnother is the process of another user that TestHomeOutOfReach starts.
func TestLoadAsAnother(t *testing.T) {
	home := os.Getenv(reachVar)
	if home == "" {
		return
	}
	c, err := Load(env("HOME", home))
	if err != nil || c.Found {
		t.Errorf("HOME: %+v, %v", c, err)
	}
	// Named on purpose, it has to be there.
	if _, err := Load(env("HOME", home, "PEPE_CONFIG", filepath.Join(home, homeFile))); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("PEPE_CONFIG: %v", err)
	}
}

// A home directory of somebody else's that cannot be entered holds no
// configuration of ours; one of our own that cannot be entered may.
func TestHomeOutOfReach(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "a", "home")
	if err := os.MkdirAll(filepath.Join(home, ".pepe"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, homeFile), `{"sbx": {"network": "off"}}`)
	if os.Geteuid() != 0 {
		for _, closed := range []string{home, filepath.Dir(home), filepath.Join(home, ".pepe")} {
			if err := os.Chmod(closed, 0); err != nil {
				t.Fatal(err)
			}
			if _, err := Load(env("HOME", home)); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s, which is ours: %v", closed, err)
			}
			if err := os.Chmod(closed, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	for p := dir; p != os.TempDir() && p != "/"; p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	exe := filepath.Join(dir, "config.test")
	text, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(exe, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, closed := range []string{home, filepath.Dir(home)} {
		if err := os.Chmod(closed, 0o700); err != nil {
			t.Fatal(err)
		}
		for test, more := range map[string][]string{"^TestLoadAsAnother$": {reachVar + "=" + home}, "^TestHomeOutOfReach$": {"TMPDIR="}} {
			cmd := exec.Command("setpriv", "--reuid", "65533", "--regid", "65533", "--clear-groups", exe, "-test.run="+test)
			cmd.Env, cmd.Dir = append(os.Environ(), more...), "/"
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s %s: %v\n%s", closed, test, err, out)
			}
		}
		if err := os.Chmod(closed, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}
