package container_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/docker"
	"github.com/sbx-run/sbx/testuser"
)

// rootlessVar says that this is the ordinary user of TestRootlessPodman or
// TestRootlessDocker.
const rootlessVar = "SBX_TEST_ROOTLESS"

// owner is an ordinary user with an engine of his own.
type owner struct {
	*testing.T
	testuser.User
	env []string
}

// newOwner prepares a home with the test binary in it.
func newOwner(t *testing.T, engine string) *owner {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can make a user")
	}
	need(t, engine)
	user := testuser.Take(t)
	dir := user.Home
	self, err := os.Executable()
	check(t, err)
	text, err := os.ReadFile(self)
	check(t, err)
	check(t, os.WriteFile(dir+"/container.test", text, 0o755))
	for _, d := range []string{"rooms", "run"} {
		check(t, os.Mkdir(filepath.Join(dir, d), 0o700))
		check(t, os.Chown(filepath.Join(dir, d), user.UID, user.GID))
	}
	return &owner{t, user, []string{
		"HOME=" + dir, "USER=" + user.Name, "PATH=/usr/bin:/bin:/usr/sbin:/sbin", "XDG_RUNTIME_DIR=" + dir + "/run", "TMPDIR=" + dir + "/rooms", rootlessVar + "=1",
		baseVar + "=" + dir + "/rooms", initVar + "=" + os.Getenv(initVar), proxyVar + "=" + os.Getenv(proxyVar),
	}}
}

// command runs as the user.
func (o *owner) command(program string, args ...string) *exec.Cmd {
	c := exec.Command(program, args...)
	c.Dir, c.Env = o.Home, o.env
	c.SysProcAttr = &syscall.SysProcAttr{Credential: o.Credential()}
	return c
}

func (o *owner) output(program string, args ...string) string {
	o.Helper()
	out, err := o.command(program, args...).CombinedOutput()
	if err != nil {
		o.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
	return string(out)
}

// repeat runs tests as the user.
func (o *owner) repeat(engine string, tests ...string) {
	o.Helper()
	out := o.output(o.Home+"/container.test", "-test.v", "-test.short", "-test.run", "^Test("+strings.Join(tests, "|")+")$/^"+engine+"$")
	if passed := strings.Count(out, "    --- PASS: "); passed != len(tests) {
		o.Errorf("%d of %d tests ran:\n%s", passed, len(tests), out)
	}
}

// TestRootlessPodman repeats the tests of podman as a user with numbers of his
// own (/etc/subuid), his own storage, and no rights.
func TestRootlessPodman(t *testing.T) {
	o := newOwner(t, docker.Podman)
	dir := o.Home
	t.Cleanup(func() {
		// Podman keeps a process that holds its user namespace, locks, and directories
		// in place of XDG_RUNTIME_DIR where that is gone, with the room of a test.
		o.KillAll()
		for _, name := range []string{"/dev/shm/libpod_rootless_lock_", "/tmp/podman-run-", "/tmp/containers-user-"} {
			_ = os.RemoveAll(name + strconv.Itoa(o.UID))
		}
	})
	check(t, os.WriteFile(dir+"/storage.conf", fmt.Appendf(nil, "[storage]\ndriver = \"overlay\"\ngraphroot = \"%s/graph\"\nrunroot = \"%s/runroot\"\n", dir, dir), 0o644))
	// The machine's own /etc/hosts need not be readable.
	check(t, os.WriteFile(dir+"/containers.conf", fmt.Appendf(nil, "[containers]\nbase_hosts_file = \"none\"\n[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\ntmp_dir = \"%s/libpod\"\n", dir), 0o644))
	o.env = append(o.env, podmanVar+"="+dir, "CONTAINERS_STORAGE_CONF="+dir+"/storage.conf", "CONTAINERS_CONF="+dir+"/containers.conf")
	o.output("podman", "import", "-q", os.Getenv("SBX_TEST_IMAGES")+"/busybox.tar", small)
	o.repeat(docker.Podman, "Runs", "Endings", "FileLimit", "Streams", "DirectoryAsInput", "TimeLimit", "Cancel", "EngineSeesNoValue", "Terminal", "WarmSession", "ServiceKilled", "RootlessLimits")
}

// rootlessScript starts a dockerd of an ordinary user; Debian's docker.io has it.
const rootlessScript = "/usr/share/docker.io/contrib/dockerd-rootless.sh"

// TestRootlessDocker repeats the tests of docker with a dockerd of an ordinary
// user's own.
func TestRootlessDocker(t *testing.T) {
	o := newOwner(t, docker.Docker)
	for _, file := range []string{rootlessScript, "/usr/bin/rootlesskit", "/usr/bin/slirp4netns", "/usr/bin/newuidmap"} {
		if _, err := os.Stat(file); err != nil {
			if slices.Contains(strings.Split(os.Getenv("SBX_REQUIRE"), ","), docker.Docker) {
				t.Fatalf("%v: scripts/test-deps.sh installs it", err)
			}
			t.Skip(err)
		}
	}
	dir := o.Home
	// rootlesskit copies /etc/hosts, which need not be readable on this machine.
	check(t, os.WriteFile(dir+"/hosts", []byte("127.0.0.1 localhost\n"), 0o644))
	text := `mount --bind "$HOME/hosts" /etc/hosts && exec setpriv --reuid "$1" --regid "$2" --clear-groups sh "$3" --data-root "$HOME/data" --shutdown-timeout 1`
	c := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", text, "sh", strconv.Itoa(o.UID), strconv.Itoa(o.GID), rootlessScript)
	c.Dir, c.Env = dir, o.env
	log, err := os.Create(dir + "/log")
	check(t, err)
	defer log.Close()
	c.Stdout, c.Stderr = log, log
	check(t, c.Start())
	t.Cleanup(func() {
		o.KillAll()
		_ = c.Wait()
	})
	o.env = append(o.env, hostVar+"=unix://"+dir+"/run/docker.sock", "DOCKER_HOST=unix://"+dir+"/run/docker.sock")
	if !await(func() bool { return o.command("docker", "version").Run() == nil }) {
		said, _ := os.ReadFile(dir + "/log")
		t.Fatalf("dockerd does not start: %s", said)
	}
	o.output("docker", "import", os.Getenv("SBX_TEST_IMAGES")+"/busybox.tar", small)
	o.repeat(docker.Docker, "Runs", "Endings", "FileLimit", "Streams", "DirectoryAsInput", "TimeLimit", "Cancel", "EngineSeesNoValue", "Terminal", "WarmSession", "KilledAtRandom", "RootlessLimits")
}

// What a rootless engine cannot set is a gap, and a limit that was asked for is
// refused. With a control group of the user's it is kept.
func TestRootlessLimits(t *testing.T) {
	if os.Getenv(rootlessVar) == "" {
		t.Skip("TestRootlessPodman and TestRootlessDocker run this as an ordinary user")
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
