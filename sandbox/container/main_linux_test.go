package container_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/containerd"
	"github.com/sbx-run/sbx/sandbox/docker"
	"github.com/sbx-run/sbx/sandbox/none"
	"github.com/sbx-run/sbx/sandbox/probes"
)

// The test binary is the probe program too.
func TestMain(m *testing.M) {
	if probes.Helper(os.Args[1:]) {
		os.Exit(probes.Main(os.Args[1:], lookup))
	}
	if text := os.Getenv(victimVar); text != "" {
		os.Exit(beVictim(text))
	}
	if os.Getenv(farVar) != "" {
		os.Exit(beFar())
	}
	os.Exit(run(m))
}

// run builds the first process of containers, and the proxy, once.
func run(m *testing.M) int {
	if os.Getenv(initVar) == "" {
		dir, err := os.MkdirTemp("", "sbx-docker-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		_ = os.Chmod(dir, 0o755)
		for variable, name := range map[string]string{initVar: "sbx-init", proxyVar: "sbx-proxy"} {
			build := exec.Command("go", "build", "-o", dir+"/"+name, "github.com/sbx-run/sbx/cmd/"+name)
			build.Env = append(os.Environ(), "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "build %s: %v\n%s", name, err, out)
				return 1
			}
			os.Setenv(variable, dir+"/"+name)
		}
	}
	return m.Run()
}

// Variables of scripts/engines.sh, and ours.
const (
	hostVar   = "SBX_TEST_DOCKER_HOST"
	podmanVar = "SBX_TEST_PODMAN"
	socketVar = "SBX_TEST_CONTAINERD"
	initVar   = "SBX_TEST_INIT"
	proxyVar  = "SBX_TEST_PROXY"
	baseVar   = "SBX_TEST_BASE" // where an ordinary user has rooms
)

const (
	small = "sbx-test/busybox:1"
	tools = "sbx-test/tools:1"
)

// lookup finds a backend for the probe program.
func lookup(name string, _ []string) (sandbox.Backend, error) {
	switch name {
	case docker.Docker, docker.Podman, containerd.Name:
		return newBackend(name, options()), nil
	case none.Name:
		return none.New(), nil
	}
	return nil, fmt.Errorf("no backend %q", name)
}

func options() docker.Options {
	return docker.Options{Init: os.Getenv(initVar)}
}

// newBackend is the backend of an engine.
func newBackend(engine string, o docker.Options) sandbox.Starter {
	if engine == containerd.Name {
		return containerd.New(containerd.Options(o))
	}
	return docker.New(engine, o)
}

// eachEngine runs a test once per engine of this machine. One that SBX_REQUIRE
// names must be there.
func eachEngine(t *testing.T, test func(*room)) {
	for _, engine := range []string{docker.Docker, docker.Podman, containerd.Name} {
		t.Run(engine, func(t *testing.T) { test(newRoom(t, engine)) })
	}
}

// room is a workspace and, beside it, what must not change.
type room struct {
	*testing.T
	engine                        string
	dir, workspace, outside, home string
	profile                       sandbox.Profile
}

const (
	// patience is how long a test waits for what takes an idle machine milliseconds:
	// only one that fails waits so long.
	patience = time.Minute
	longest  = 3 * time.Minute // of a command that ends by itself
)

// await waits until something is so, and says whether it came to that.
func await(so func() bool) bool { return awaitFor(patience, so) }

func awaitFor(limit time.Duration, so func() bool) bool {
	for deadline := time.Now().Add(limit); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

func need(t *testing.T, engine string) {
	t.Helper()
	variable := map[string]string{docker.Docker: hostVar, docker.Podman: podmanVar, containerd.Name: socketVar}[engine]
	if os.Geteuid() != 0 && engine != docker.Docker && os.Getenv(rootlessVar) == "" {
		t.Skipf("the tests' %s is root's", engine)
	}
	if os.Getenv(variable) == "" {
		if slices.Contains(strings.Split(os.Getenv("SBX_REQUIRE"), ","), engine) {
			t.Fatalf("there is no %s: scripts/engines.sh starts one", engine)
		}
		t.Skipf("%s is not set: scripts/engines.sh starts an engine", variable)
	}
	if engine == docker.Podman {
		t.Setenv("CONTAINERS_STORAGE_CONF", os.Getenv(podmanVar)+"/storage.conf")
		t.Setenv("CONTAINERS_CONF", os.Getenv(podmanVar)+"/containers.conf")
		t.Setenv("CONTAINER_HOST", "") // put back afterwards
		os.Unsetenv("CONTAINER_HOST")
	}
}

func newRoom(t *testing.T, engine string) *room {
	t.Helper()
	need(t, engine)
	base := os.Getenv(baseVar)
	if base == "" {
		base = "/var/lib"
	}
	dir, err := os.MkdirTemp(base, "sbx-docker-")
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	check(t, os.Chmod(dir, 0o755))
	r := &room{T: t, engine: engine, dir: dir, workspace: dir + "/ws", outside: dir + "/outside", home: dir + "/home"}
	for _, d := range []string{r.workspace, r.outside, r.home, dir + "/tmp", dir + "/cache", dir + "/run"} {
		check(t, os.Mkdir(d, 0o755))
	}
	check(t, os.Chmod(dir+"/run", 0o700)) // podman takes no other
	t.Setenv("XDG_RUNTIME_DIR", dir+"/run")
	check(t, os.WriteFile(r.outside+"/file", []byte("canary\n"), 0o644))
	r.profile = sandbox.Profile{
		Workspace: r.workspace, Home: r.home, Private: sandbox.Private{Temp: dir + "/tmp", Cache: dir + "/cache"},
		Container: sandbox.Container{Image: small, NoPull: true, Host: host(engine)},
	}
	return r
}

func host(engine string) string {
	switch engine {
	case docker.Docker:
		return os.Getenv(hostVar)
	case containerd.Name:
		return os.Getenv(socketVar)
	}
	return ""
}

func (r *room) backend() sandbox.Starter { return newBackend(r.engine, options()) }

func (r *room) open() sandbox.Session {
	r.Helper()
	s, err := r.backend().Open(context.Background(), r.profile)
	check(r, err)
	r.Cleanup(func() { check(r, s.Close()) })
	return s
}

func (r *room) env() []string {
	return []string{"HOME=" + r.home, "TMPDIR=" + r.dir + "/tmp", "PATH=/nowhere"}
}

// run runs a command and returns its output, both streams of it.
func (r *room) run(s sandbox.Session, argv ...string) (string, sandbox.Result) {
	r.Helper()
	var out bytes.Buffer
	result, err := s.Run(context.Background(), sandbox.Command{Argv: argv, Env: r.env(), Stdout: &out, Stderr: &out, Timeout: longest})
	if err != nil {
		r.Fatalf("%q: %v", argv, err)
	}
	return out.String(), result
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// left lists what is there of ours in the engine, and beside it: nothing, when it has
// had time to remove what has ended.
func (r *room) left() (left string) {
	r.Helper()
	await(func() bool { left = r.leftNow(); return left == "" })
	return left
}

// leftNow lists it without waiting.
func (r *room) leftNow() string {
	r.Helper()
	boxes, err := filepath.Glob(r.dir + "/run/sbx-box-*")
	check(r, err)
	if r.engine == docker.Podman { // the service of a session that is open has one
		boxes = slices.DeleteFunc(boxes, func(dir string) bool { return strings.Contains(dir, fmt.Sprintf("/sbx-box-%d-", os.Getpid())) })
	}
	return strings.Join(append(r.containers(), boxes...), " ")
}

// hash is how a container is labelled that runs in the workspace.
func (r *room) hash() string {
	sum := sha256.Sum256([]byte(r.profile.Workspace))
	return hex.EncodeToString(sum[:8])
}
