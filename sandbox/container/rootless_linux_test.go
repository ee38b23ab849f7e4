package container_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/docker"
	"github.com/sbx-run/sbx/testuser"
)

// rootlessVar says that this is the ordinary user of TestRootlessPodman.
const rootlessVar = "SBX_TEST_ROOTLESS"

// TestRootlessPodman repeats the tests of podman as a user with numbers of his
// own (/etc/subuid), his own storage, and no rights.
func TestRootlessPodman(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a user")
	}
	need(t, docker.Podman)
	user := testuser.Take(t)
	name, dir, uid := user.Name, user.Home, user.UID
	t.Cleanup(func() {
		// Podman keeps a process that holds its user namespace, locks, and directories
		// in place of XDG_RUNTIME_DIR where that is gone, with the room of a test.
		user.KillAll()
		for _, name := range []string{"/dev/shm/libpod_rootless_lock_", "/tmp/podman-run-", "/tmp/containers-user-"} {
			_ = os.RemoveAll(name + strconv.Itoa(uid))
		}
	})
	check(t, os.WriteFile(dir+"/storage.conf", fmt.Appendf(nil, "[storage]\ndriver = \"overlay\"\ngraphroot = \"%s/graph\"\nrunroot = \"%s/runroot\"\n", dir, dir), 0o644))
	// The machine's own /etc/hosts need not be readable.
	check(t, os.WriteFile(dir+"/containers.conf", fmt.Appendf(nil, "[containers]\nbase_hosts_file = \"none\"\n[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\ntmp_dir = \"%s/libpod\"\n", dir), 0o644))
	self, err := os.Executable()
	check(t, err)
	text, err := os.ReadFile(self)
	check(t, err)
	check(t, os.WriteFile(dir+"/container.test", text, 0o755))
	for _, d := range []string{"rooms", "run"} {
		check(t, os.Mkdir(filepath.Join(dir, d), 0o700))
		check(t, os.Chown(filepath.Join(dir, d), uid, uid))
	}
	env := []string{
		"HOME=" + dir, "USER=" + name, "PATH=/usr/bin:/bin:/usr/sbin:/sbin", "XDG_RUNTIME_DIR=" + dir + "/run", "TMPDIR=" + dir + "/rooms", rootlessVar + "=1",
		baseVar + "=" + dir + "/rooms", podmanVar + "=" + dir, initVar + "=" + os.Getenv(initVar), proxyVar + "=" + os.Getenv(proxyVar),
		"CONTAINERS_STORAGE_CONF=" + dir + "/storage.conf", "CONTAINERS_CONF=" + dir + "/containers.conf",
	}
	asUser := func(program string, args ...string) string {
		t.Helper()
		c := exec.Command(program, args...)
		c.Dir, c.Env = dir, env
		c.SysProcAttr = &syscall.SysProcAttr{Credential: user.Credential()}
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", program, args, err, out)
		}
		return string(out)
	}
	asUser("podman", "import", "-q", os.Getenv("SBX_TEST_IMAGES")+"/busybox.tar", small)
	out := asUser(dir+"/container.test", "-test.v", "-test.short", "-test.run",
		"^Test(Runs|Endings|Streams|DirectoryAsInput|TimeLimit|Cancel|EngineSeesNoValue|Terminal|WarmSession|RootlessLimits)$/^podman$")
	if passed := strings.Count(out, "    --- PASS: "); passed != 10 {
		t.Errorf("%d of 10 tests ran:\n%s", passed, out)
	}
}

// What a rootless engine cannot set is a gap, and a limit that was asked for is
// refused. With a control group of the user's it is kept.
func TestRootlessLimits(t *testing.T) {
	if os.Getenv(rootlessVar) == "" {
		t.Skip("TestRootlessPodman runs this as an ordinary user")
	}
	eachEngine(t, func(r *room) {
		const limit = 64 << 20
		text := "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || true"
		_, result := r.run(r.open(), "true")
		loose := false
		for _, g := range result.Gaps {
			loose = loose || g.Control == sandbox.LimitMemory
		}
		r.profile.Limits.MemoryBytes = limit
		r.profile.Required = append(sandbox.DefaultRequired(), sandbox.LimitMemory)
		s, err := r.backend().Open(r.Context(), r.profile)
		var gaps *sandbox.GapError
		switch {
		case loose && !errors.As(err, &gaps):
			r.Fatalf("not refused: %v", err)
		case loose:
			// The control: without the gap being refused, there is no limit.
			r.profile.Required, r.profile.Accept = nil, []sandbox.Control{sandbox.LimitMemory}
			s, err = r.backend().Open(r.Context(), r.profile)
		}
		check(r, err)
		defer s.Close()
		out, _ := r.run(s, "sh", "-c", text)
		if held := strings.TrimSpace(out) == strconv.Itoa(limit); held == loose {
			r.Errorf("gap %v, limit %q", loose, out)
		}
	})
}
