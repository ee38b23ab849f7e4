//go:build amd64 || arm64

package probes_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/bwrap"
	"github.com/sbx-run/sbx/sandbox/direct"
	"github.com/sbx-run/sbx/sandbox/firejail"
	"github.com/sbx-run/sbx/sandbox/none"
	"github.com/sbx-run/sbx/sandbox/probes"
	"github.com/sbx-run/sbx/testuser"
)

// The test binary is the probe program too, and the run as an ordinary user.
func TestMain(m *testing.M) {
	if probes.Helper(os.Args[1:]) {
		os.Exit(probes.Main(os.Args[1:], backend))
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	if dir := os.Getenv("SBX_PROBES_DIR"); dir != "" {
		os.Exit(asUser(dir))
	}
	os.Exit(m.Run())
}

// backend finds those of the tests. Layers to leave out are for the tests of
// the backend that has them.
func backend(name string, _ []string) (sandbox.Backend, error) {
	switch name {
	case direct.Name:
		return direct.New(), nil
	case bwrap.Name:
		return bwrap.New(), nil
	case firejail.Name:
		return firejail.New(), nil
	case none.Name:
		return none.New(), nil
	case promise{}.Name():
		return promise{}, nil
	}
	return nil, fmt.Errorf("no backend %q", name)
}

func run(t *testing.T, b sandbox.Backend, o probes.Options) probes.Report {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Helper, o.Proxy, o.Parallel = []string{self}, proxyProgram(t), 4
	report, err := probes.Run(t.Context(), b, o)
	if err != nil {
		t.Fatal(err)
	}
	if left := leftovers(t, report.Rooms...); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	t.Log(report.Summary())
	return report
}

// proxyVar names sbx-proxy for the run as an ordinary user.
const proxyVar = "SBX_PROBES_PROXY"

// backendVar names the backend for that run.
const backendVar = "SBX_PROBES_BACKEND"

// proxyProgram builds sbx-proxy where every user can start it.
func proxyProgram(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "sbx-proxy-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	file := filepath.Join(dir, "sbx-proxy")
	if out, err := exec.Command("go", "build", "-o", file, "../../cmd/sbx-proxy").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// leftovers lists what is still on the host of a run, when what ends with a caller
// that was killed had its two seconds, and more on a busy machine: what is not ended stays
// for minutes. Others may be going on.
func leftovers(t *testing.T, rooms ...string) (list []string) {
	t.Helper()
	if len(rooms) == 0 {
		t.Fatal("the report names no room")
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		list = nil
		for _, room := range rooms {
			list = append(list, leftoversOf(t, room)...)
		}
		if len(list) == 0 || time.Now().After(deadline) {
			return list
		}
	}
}

func leftoversOf(t *testing.T, room string) []string {
	t.Helper()
	key, err := strconv.ParseUint(room, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	number := " " + strconv.FormatUint(key&0x7fffffff|1<<24, 10) + " "
	var list []string
	for _, dir := range []string{probes.Base(), os.TempDir(), "/var/tmp", "/dev/shm", "/run", "/dev/mqueue"} {
		names, err := filepath.Glob(dir + "/sbx-probe-" + room + "*")
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, names...)
	}
	for file, word := range map[string]string{"/proc/sysvipc/shm": number, "/proc/sysvipc/sem": number, "/proc/sysvipc/msg": number, "/proc/self/mountinfo": room} {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), word) {
			list = append(list, file)
		}
	}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), room) {
			list = append(list, file+" "+string(text))
		}
	}
	return list
}

// hold fails the test for what is open without a gap, and when hardly anything
// was tried.
func hold(t *testing.T, r probes.Report) {
	t.Helper()
	for _, o := range r.Outcomes {
		if o.Refused && o.Want == "works" && !refusesUser(r, o) {
			t.Errorf("%s %s %s: %s: refused: %s", r.Name(), r.User, o.ID, o.Try, o.Why)
		}
		if o.Status == probes.NotHeld {
			t.Errorf("%s %s %s: %s: without a sandbox %s; inside %s (%s)", r.Name(), r.User, o.ID, o.Try, o.Control, o.Observed, o.Why)
		}
	}
	for _, l := range r.Lines() {
		if l.Promised == "enforced" && l.Held == 0 {
			t.Errorf("%s %s: %s is promised and was not seen to hold", r.Name(), r.User, l.Control)
		}
	}
	if len(r.Enforced) == 0 {
		t.Error("the backend promises nothing")
	}
}

// refusesUser says that firejail would not start for the user of a row: it does for
// no user of the system's own, and the row's is nobody.
func refusesUser(r probes.Report, o probes.Outcome) bool {
	return r.Backend == firejail.Name && (o.ID == "N05" || o.ID == "N06") && strings.Contains(o.Why, "is not allowed to use Firejail")
}

func needDirect(t *testing.T) {
	t.Helper()
	need(t, direct.New())
}

func need(t *testing.T, b sandbox.Backend) {
	t.Helper()
	if _, err := b.Probe(t.Context()); err != nil {
		if slices.Contains(strings.Split(os.Getenv("SBX_REQUIRE"), ","), b.Name()) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func TestDirect(t *testing.T) {
	needDirect(t)
	hold(t, run(t, direct.New(), probes.Options{}))
}

// others are the backends that confine on this host by way of a program.
func others() []sandbox.Backend { return []sandbox.Backend{bwrap.New(), firejail.New()} }

func TestPrograms(t *testing.T) {
	for _, b := range others() {
		t.Run(b.Name(), func(t *testing.T) {
			need(t, b)
			o := probes.Options{}
			if b.Name() == firejail.Name { // it takes long to start; as an ordinary user all rows are tried
				o.Only = append(lifeRows(), fileRows()...)
			}
			hold(t, run(t, b, o))
		})
	}
}

func TestProgramsInALibrary(t *testing.T) {
	for _, b := range others() {
		t.Run(b.Name(), func(t *testing.T) {
			need(t, b)
			hold(t, run(t, b, probes.Options{Library: true, Only: lifeRows()}))
		})
	}
}

// A library cannot be a subreaper, and has other gaps.
func TestDirectInALibrary(t *testing.T) {
	needDirect(t)
	hold(t, run(t, direct.New(), probes.Options{Library: true, Only: lifeRows()}))
}

// lifeRows are those that a supervisor makes a difference for.
func lifeRows() []string {
	return []string{"P00", "P17", "P45", "P49", "P50", "P53", "P64", "P67", "P68", "P69", "P71", "P72", "P73", "P76", "P77", "P78", "P79", "P80", "P81", "N70", "N71", "N72", "N73"}
}

// A room in a temp directory, which a backend may replace.
func TestDirectInATempDirectory(t *testing.T) {
	needDirect(t)
	hold(t, run(t, direct.New(), probes.Options{Dir: os.TempDir(), Only: fileRows()}))
}

// fileRows are those that depend on where the workspace lies.
func fileRows() []string {
	return []string{"P00", "P01", "P02", "P03", "P04", "P07", "P09", "P15", "P19", "P26", "P29", "P33", "P56", "P63", "N05", "N06", "N20", "P43", "P44"}
}

func TestProgramsInATempDirectory(t *testing.T) {
	for _, b := range others() {
		t.Run(b.Name(), func(t *testing.T) {
			need(t, b)
			hold(t, run(t, b, probes.Options{Dir: os.TempDir(), Only: fileRows()}))
		})
	}
}

// Under the backend none every act that must be blocked comes out open, so the
// rows can fail; and each is a gap, so it is honest.
func TestNone(t *testing.T) {
	for _, o := range run(t, none.New(), probes.Options{}).Outcomes {
		if o.Want == "blocked" && o.Status == probes.Held && !alsoWithout(o.ID) {
			t.Errorf("%s: %s: held (%s) where nothing is confined", o.ID, o.Try, o.Observed)
		}
		if o.Status == probes.NotHeld && o.ID != "N06" {
			t.Errorf("%s: %s: not held and no gap: %s", o.ID, o.Try, o.Observed)
		}
	}
}

// alsoWithout lists what the runner of processes gives every backend.
func alsoWithout(id string) bool {
	if isReported(id) {
		return true
	}
	for _, always := range []string{
		"P17", "P71", // it shuts descriptors and ends the tree
		"P77", "P78a", "N70", "N71", "N72", // it measures, and copies output
		"P49h", "P49i", // the host's first process; the control is another one
		"N05", "N07", // root runs as the owner of the workspace
		"N74", // what cannot be limited refuses
	} {
		if strings.HasPrefix(id, always) {
			return true
		}
	}
	return false
}

// isReported says that a row is about the report after a run, which is made
// whatever the backend does.
func isReported(id string) bool {
	return slices.ContainsFunc([]string{"P37", "P39", "P40", "P41", "P42"}, func(p string) bool { return strings.HasPrefix(id, p) })
}

// promise confines nothing and names no gap. Whatever the suite can try, it has
// to find out.
type promise struct{}

func (promise) Name() string { return "promise" }

func (promise) Probe(context.Context) (sandbox.Capabilities, error) {
	return sandbox.Capabilities{Backend: "promise", Enforced: sandbox.Controls()}, nil
}

func (promise) Open(_ context.Context, p sandbox.Profile) (sandbox.Session, error) {
	return promise2{p}, nil
}

type promise2 struct{ profile sandbox.Profile }

func (promise2) Close() error { return nil }

func (promise2) Plan(sandbox.Command) (sandbox.Plan, error) {
	return sandbox.Plan{Backend: "promise", Enforced: sandbox.Controls()}, nil
}

func (s promise2) Run(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
	return probes.Plainly(s.profile.Workspace, c), nil
}

func TestABackendThatOnlyPromisesIsFoundOut(t *testing.T) {
	report := run(t, promise{}, probes.Options{})
	found := 0
	for _, o := range report.Outcomes {
		switch {
		case o.Want == "blocked" && o.Status == probes.Held && !slices.Contains([]string{"P49h", "P49i", "P81", "N74"}, o.ID) && !isReported(o.ID):
			t.Errorf("%s: %s: held (%s) where nothing is confined", o.ID, o.Try, o.Observed)
		case o.Status == probes.GapNamed:
			t.Errorf("%s: a gap that nobody named", o.ID)
		case o.Status == probes.NotHeld:
			found++
		}
	}
	if !report.Failed() || found < 100 {
		t.Errorf("%d rows found out", found)
	}
}

// TestAsUser runs the suite again as an ordinary user.
func TestAsUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the tests run as an ordinary user already")
	}
	for _, b := range append(others(), direct.New()) {
		t.Run(b.Name(), func(t *testing.T) {
			need(t, b)
			testAsUser(t, b.Name())
		})
	}
}

func testAsUser(t *testing.T, backend string) {
	user := testuser.Take(t)
	name, home := user.Name, user.Home
	// Not t.TempDir: that lies in a directory of root's.
	dir, err := os.MkdirTemp("", "sbx-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	sockets, err := os.MkdirTemp("/run", "sbx-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(sockets) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, argv := range [][]string{
		{"cp", self, dir + "/probes.test"},
		{"chmod", "755", dir, dir + "/probes.test"},
		{"chown", name, sockets},
	} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", argv, err, out)
		}
	}
	cmd := exec.Command("setpriv", "--reuid", name, "--regid", name, "--init-groups", dir+"/probes.test")
	cmd.Dir = "/"
	cmd.Env = []string{
		"HOME=" + home, "PATH=/usr/local/bin:/usr/bin:/bin", "XDG_RUNTIME_DIR=" + sockets, "SBX_PROBES_DIR=" + home, backendVar + "=" + backend, proxyVar + "=" + proxyProgram(t),
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var report probes.Report
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	if report.User != "user" {
		t.Errorf("it ran as %s", report.User)
	}
	t.Log(report.Summary())
	hold(t, report)
	left, err := filepath.Glob(home + "/sbx-probe-*")
	if err != nil {
		t.Fatal(err)
	}
	if left = append(left, leftovers(t, report.Rooms...)...); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// asUser prints a report.
func asUser(dir string) int {
	self, err := os.Executable()
	b, unknown := backend(os.Getenv(backendVar), nil)
	if err = errors.Join(err, unknown); err == nil {
		var report probes.Report
		if report, err = probes.Run(context.Background(), b, probes.Options{Helper: []string{self}, Parallel: 4, Dir: dir, Proxy: os.Getenv(proxyVar)}); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(report)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
