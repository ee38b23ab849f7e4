package direct_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/direct"
	"github.com/sbx-run/sbx/sandbox/none"
	"github.com/sbx-run/sbx/sandbox/probes"
	"github.com/sbx-run/sbx/testuser"
)

// The test binary is also the probe that acts inside a sandbox, and the
// supervisor process of the tests that need one.
func TestMain(m *testing.M) {
	switch {
	case probes.Helper(os.Args[1:]):
		os.Exit(probes.Main(os.Args[1:], backendWithout))
	case os.Getenv("SBX_ACT") != "":
		fmt.Print(answer(act(os.Args[1], os.Args[2:])))
		os.Exit(0)
	case os.Getenv("SBX_SUPERVISE") != "":
		os.Exit(supervise())
	}
	os.Exit(m.Run())
}

// answer is "ok", the name of an errno, or a sentence.
func answer(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

// room is a place for tests: a workspace and, beside it, what must not change.
type room struct {
	*testing.T
	dir, workspace, outside, home string
	profile                       sandbox.Profile
	extra                         []string // environment
	tier                          string
}

// The tiers of the suite; thread is the landlock tier as other architectures
// have it.
const (
	full     = "full"
	landlock = "landlock"
	thread   = "thread"
)

// eachTier runs a test once per tier.
func eachTier(t *testing.T, test func(*room)) {
	for _, tier := range []string{full, landlock, thread} {
		t.Run(tier, func(t *testing.T) {
			if tier == thread && testing.Short() {
				t.Skip("takes a while")
			}
			test(newRoom(t, tier))
		})
	}
}

func backend(tier string) sandbox.Backend {
	switch tier {
	case thread:
		return direct.NewThread()
	case "":
		return direct.New()
	case "full without landlock":
		return without(full, "landlock")
	}
	return direct.NewTier(tier)
}

// isFull says that the room is of a tier with namespaces.
func (r *room) isFull() bool { return r.tier == full }

func (r *room) confinedTier() string {
	if r.tier == thread {
		return landlock
	}
	return r.tier
}

// baseVar names the directory where an ordinary user has rooms.
const baseVar = "SBX_TEST_BASE"

func newRoom(t *testing.T, tier string) *room {
	t.Helper()
	need(t, tier)
	// Not t.TempDir: the ordinary user of an identity test must get there, and
	// what is outside must be visible inside, which /tmp and /var/tmp are not.
	base := os.Getenv(baseVar)
	if base == "" {
		base = "/var/lib"
		if os.Geteuid() != 0 {
			base = os.Getenv("HOME")
		}
	}
	dir, err := os.MkdirTemp(base, "sbx-direct-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	r := &room{T: t, tier: tier, dir: dir, workspace: dir + "/ws", outside: dir + "/outside", home: dir + "/home"}
	check(t, os.Chmod(dir, 0o755))
	for _, d := range []string{r.workspace, r.outside, r.home, r.home + "/.ssh", r.home + "/src", r.home + "/.config/gh"} {
		check(t, os.MkdirAll(d, 0o755))
	}
	for name, text := range map[string]string{
		r.home + "/.ssh/id": "secret", r.home + "/.netrc": "secret", r.home + "/.config/gh/hosts.yml": "secret",
		r.home + "/.config/other": "open", r.home + "/src/code": "open", r.home + "/.profile": "open",
	} {
		check(t, os.WriteFile(name, []byte(text), 0o644))
	}
	r.profile = sandbox.Profile{Workspace: r.workspace, Home: r.home, Read: []string{filepath.Dir(realPath(self(t)))}}
	r.reset()
	return r
}

// reset puts the canaries back.
func (r *room) reset() {
	r.Helper()
	for _, d := range []string{r.workspace, r.outside} {
		entries, err := os.ReadDir(d)
		check(r, err)
		for _, e := range entries {
			check(r, os.RemoveAll(filepath.Join(d, e.Name())))
		}
	}
	check(r, os.WriteFile(r.outside+"/file", []byte("canary\n"), 0o644))
	check(r, os.Mkdir(r.outside+"/empty", 0o755))
	check(r, os.WriteFile(r.workspace+"/own", []byte("own\n"), 0o644))
	check(r, os.Mkdir(r.workspace+"/a", 0o755))
	check(r, os.Mkdir(r.workspace+"/b", 0o755))
	check(r, os.WriteFile(r.workspace+"/a/f", []byte("f\n"), 0o644))
}

// outsideState is everything that a command could have changed out there.
func (r *room) outsideState() string {
	r.Helper()
	var b strings.Builder
	check(r, filepath.Walk(r.outside, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		text, _ := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %v %q\n", path, info.Mode(), text)
		return nil
	}))
	return b.String()
}

func (r *room) open(b sandbox.Backend) sandbox.Session {
	r.Helper()
	s, err := b.Open(context.Background(), r.profile)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { check(r, s.Close()) })
	return s
}

// do acts in a session and returns the answer.
func (r *room) do(s sandbox.Session, name string, args ...string) string {
	r.Helper()
	out, result := r.run(s, append([]string{self(r), name}, args...)...)
	if result.Ending != sandbox.Exited || result.ExitCode != 0 {
		return fmt.Sprintf("%s %d %s", result.Ending, result.ExitCode, out)
	}
	return out
}

func (r *room) run(s sandbox.Session, argv ...string) (string, sandbox.Result) {
	r.Helper()
	var out bytes.Buffer
	result, err := s.Run(context.Background(), sandbox.Command{
		Argv: argv, Env: r.env(), Stdout: &out, Stderr: &out, Timeout: 5 * time.Minute,
	})
	if err != nil {
		r.Fatalf("%q: %v", argv, err)
	}
	return out.String(), result
}

func (r *room) env() []string {
	return append(append(direct.Environment(), r.extra...), "SBX_ACT=1", "HOME="+r.home, "TMPDIR="+r.workspace, "GOCACHE="+r.workspace+"/gocache",
		"GOPATH="+r.workspace+"/gopath", "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local", "XDG_CACHE_HOME="+r.workspace+"/cache", "PATH="+os.Getenv("PATH"),
		"npm_config_cache="+r.workspace+"/npm", "npm_config_update_notifier=false")
}

// confined and unconfined open the two sessions of a denial test.
func (r *room) confined() sandbox.Session   { return r.open(backend(r.tier)) }
func (r *room) unconfined() sandbox.Session { return r.open(none.New()) }

// self is the path of this test binary.
func self(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func realPath(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return name
}

func need(t *testing.T, tier string) {
	t.Helper()
	if _, err := backend(tier).Probe(context.Background()); err != nil {
		if strings.Contains(os.Getenv("SBX_REQUIRE"), direct.Name) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// orders is what a supervisor process gets.
type orders struct {
	Profile sandbox.Profile
	Argv    []string
	Env     []string
	Timeout time.Duration
	Grace   time.Duration
	Backend string
	Tier    string
	Without []string // layers
	// Ungrouped is a host where no control group can be made.
	Ungrouped bool
}

// supervise is what cmd/sbx does, without its flags.
func supervise() int {
	var o orders
	if err := json.Unmarshal([]byte(os.Getenv("SBX_SUPERVISE")), &o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 125
	}
	o.Profile.Supervisor = true
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // the terminal sends it to the command as well
	b := backend(o.Tier)
	if len(o.Without) > 0 {
		b = without(o.Tier, o.Without...)
	}
	if o.Ungrouped {
		b = direct.NewUngrouped(o.Tier)
	}
	if o.Backend == none.Name {
		b = none.New()
	}
	s, err := b.Open(context.Background(), o.Profile)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 125
	}
	result, err := s.Run(context.Background(), sandbox.Command{
		Argv: o.Argv, Env: o.Env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Timeout: o.Timeout, Grace: o.Grace,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	text, _ := json.Marshal(result)
	if err := os.WriteFile(os.Getenv("SBX_RESULT_FILE"), text, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return result.ExitCode
}

// supervised starts a supervisor process for the command.
func (r *room) supervised(o orders) (*exec.Cmd, string) {
	r.Helper()
	o.Profile, o.Env, o.Tier = r.profile, r.env(), r.tier
	text, err := json.Marshal(o)
	check(r, err)
	file := filepath.Join(r.dir, "result-"+strconv.Itoa(int(time.Now().UnixNano())))
	cmd := exec.Command(self(r))
	cmd.Env = append(os.Environ(), "SBX_SUPERVISE="+string(text), "SBX_RESULT_FILE="+file)
	return cmd, file
}

// runSupervised runs one to its end.
func (r *room) runSupervised(o orders) (string, sandbox.Result) {
	r.Helper()
	cmd, file := r.supervised(o)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.Fatal(err)
	}
	return string(out), readResult(r, file, out)
}

func readResult(t testing.TB, file string, out []byte) sandbox.Result {
	t.Helper()
	var result sandbox.Result
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	check(t, json.Unmarshal(text, &result))
	return result
}

// TestAsOrdinaryUser repeats the whole suite as a user without privileges.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this is an ordinary user")
	}
	need(t, landlock)
	name := testuser.Take(t)
	dir, err := os.MkdirTemp("/var/lib", "sbx-user-")
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	check(t, os.Chmod(dir, 0o755))
	base := dir + "/rooms"
	check(t, os.Mkdir(base, 0o777))
	check(t, os.Chmod(base, 0o777))
	check(t, os.Mkdir(dir+"/bin", 0o755)) // readable inside, the rooms are not in it
	exe := filepath.Join(dir, "bin/direct.test")
	text, err := os.ReadFile(self(t))
	check(t, err)
	check(t, os.WriteFile(exe, text, 0o755))
	args := []string{"-test.v"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	cmd := exec.Command(exe, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), baseVar+"="+base, "HOME="+dir, "USER="+name.Name)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: name.Credential()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("as %s: %v\n%s", name.Name, err, out)
	}
	t.Logf("%s", out)
}

func (r *room) backendOpen() (sandbox.Session, error) {
	return backend(r.tier).Open(context.Background(), r.profile)
}
