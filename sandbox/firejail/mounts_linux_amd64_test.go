package firejail

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// mountedVar names the directory with mounts, in a namespace that was made for a test.
const mountedVar = "SBX_FIREJAIL_MOUNTED"

// Firejail makes / read-only, and leaves what is mounted below as it is.
func TestMountsOfTheHost(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root mounts anything")
	}
	need(t)
	if dir := os.Getenv(mountedVar); dir != "" {
		testMounted(t, dir)
		return
	}
	dir, err := os.MkdirTemp("/srv", "sbx-firejail-mounts-")
	must(t, err)
	defer os.RemoveAll(dir)
	must(t, os.Chmod(dir, 0o755))
	for _, name := range []string{"a b", "ws", "shut"} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command("unshare", "-m", "--propagation", "private", "sh", "-c", `cd "$1" &&
		mount -t tmpfs -o mode=1777 none "a b" && mount -t tmpfs -o mode=1777 none ws &&
		chmod 700 shut && mkdir shut/below && mount -t tmpfs -o mode=1777 none shut/below &&
		exec "$2" -test.run='^TestMountsOfTheHost$'`, "sh", dir, self)
	cmd.Env = append(os.Environ(), mountedVar+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func testMounted(t *testing.T, dir string) {
	other, ws := filepath.Join(dir, "a b", "canary"), filepath.Join(dir, "ws", "mine")
	beside := filepath.Join(dir, "ws", "canary")
	for _, u := range users(t) {
		for _, canary := range []string{other, beside, filepath.Join(dir, "shut", "below", "canary")} {
			must(t, os.WriteFile(canary, nil, 0o644)) // the control: the mount can be written
			must(t, os.Remove(canary))
		}
		must(t, os.Mkdir(ws, 0o700))
		must(t, os.Chown(ws, u.uid, u.gid))
		out, said, status := u.run(t, ws, "sh", "-c", `echo x >in && for f; do (echo x >"$f") 2>/dev/null && echo "$f"; done; exit 0`,
			"sh", other, beside, filepath.Join(dir, "shut", "below", "canary"))
		if out != "" || status != 0 {
			t.Errorf("%s: status %d, wrote %q: %s", u.name, status, out, said)
		}
		if !exists(filepath.Join(ws, "in")) {
			t.Errorf("%s: nothing was written in the workspace", u.name)
		}
		for _, canary := range []string{other, beside, filepath.Join(dir, "shut", "below", "canary")} {
			if exists(canary) {
				t.Errorf("%s: %s was written", u.name, canary)
			}
		}
		must(t, os.RemoveAll(ws))
	}
}
