package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/none"
	"github.com/sbx-run/sbx/sandbox/probes"
	"github.com/sbx-run/sbx/wrappers"
)

// optionsVar hands the options of a backend to the probe program.
const optionsVar = "SBX_TEST_COMMAND_OPTIONS"

// The test binary is the probe program too.
func TestMain(m *testing.M) {
	if probes.Helper(os.Args[1:]) {
		os.Exit(probes.Main(os.Args[1:], func(name string, _ []string) (sandbox.Backend, error) {
			path, ok := Path(name)
			if !ok {
				return none.New(), nil
			}
			var o Options
			err := json.Unmarshal([]byte(os.Getenv(optionsVar)), &o)
			return New(path, o), err
		}))
	}
	os.Exit(m.Run())
}

// engine is what a standalone script stands on, and what docs/wrappers.md says of
// it.
type engine struct {
	name    string
	options Options
	// beyond are rows that it does not pass, with the reason.
	beyond map[string]string
}

const (
	statusOfSh  = "a shell, or the engine, answers 127"
	notText     = "podman takes a name that is not UTF-8 for another one, which is not there"
	noVariables = "the environment stays on this machine"
	notTheirKey = "another user has no key, and knows no host"
	noSuchUser  = "firejail runs for users that the system knows"
)

func engines() []engine {
	shared := []sandbox.Control{
		sandbox.WritesConfined, sandbox.CredentialsHidden, sandbox.NoNewPrivileges, sandbox.NoCapabilities, sandbox.TreeEnds, sandbox.DaemonsEnd,
		sandbox.NetworkOff, sandbox.Loopback, sandbox.Signals, sandbox.DescriptorsShut, sandbox.MetadataConfined, sandbox.ProcessesHidden,
		sandbox.StatHidden, sandbox.SharedMemory, sandbox.Terminals,
	}
	measured := []sandbox.Control{sandbox.LimitCPU, sandbox.LimitMemory, sandbox.LimitProcesses, sandbox.LimitFileSize, sandbox.LimitDisk, sandbox.LimitsExact}
	container := Options{Claims: slices.Concat(shared, []sandbox.Control{
		sandbox.CredentialsLate, sandbox.UnixSockets, sandbox.AbstractSockets, sandbox.HostNetwork,
	}), Apart: true, User: true}
	return []engine{
		{"bwrap", Options{Claims: slices.Concat(shared, measured, []sandbox.Control{sandbox.EndsWithCaller})}, map[string]string{"P69b": statusOfSh}},
		{"firejail", Options{Claims: slices.Concat(shared, measured)}, map[string]string{"P69b": statusOfSh, "N05": noSuchUser, "N06": noSuchUser}},
		{"docker", container, map[string]string{"P69b": statusOfSh}},
		{"podman", container, map[string]string{"P69b": statusOfSh, "P21k": notText}},
		{"ssh", Options{Claims: shared}, map[string]string{"P69b": statusOfSh, "P63": noVariables, "N05": notTheirKey, "N06": notTheirKey}},
	}
}

// install writes a standalone script where only root and the user can change it.
func install(t *testing.T, kind string) string {
	t.Helper()
	if _, err := exec.LookPath(kind); err != nil {
		if slices.Contains(strings.Split(os.Getenv("SBX_REQUIRE"), ","), kind) {
			t.Fatalf("there is no %s", kind)
		}
		t.Skipf("there is no %s", kind)
	}
	path, err := wrappers.InstallStandalone(kind, t.TempDir())
	check(t, err)
	for dir := filepath.Dir(path); os.Geteuid() == 0 && dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) {
		check(t, os.Chmod(dir, 0o755)) // for the suite's other user
	}
	return path
}

// onlyRows are rows of each kind, for the scripts whose engine takes long to start:
// all of them take many minutes. SBX_TEST_ROWS=all tries all, as was done for
// docs/wrappers.md.
func onlyRows(e engine) []string {
	rows := os.Getenv("SBX_TEST_ROWS")
	switch {
	case rows == "all" || rows == "" && e.name == "bwrap":
		return nil
	case rows != "":
		return strings.Split(rows, ",")
	case e.name == "ssh": // what confines there is bwrap.sh
		return []string{"P00", "P01", "P02", "P26", "N10", "N20", "P45", "P61", "P67", "P69", "P71", "P86a"}
	}
	return []string{
		"P00", "P01", "P02", "P03", "P04", "P07", "P11", "P13", "P21", "P26", "P29", "N10", "N11", "N12", "N16", "N20", "N21", "P45", "P47a", "P47l", "P49",
		"P50a", "P52a", "P54d", "P56d", "P61", "P64", "P65h", "P67", "P68", "P69", "P71", "P72", "P76", "P77a", "P79", "P80", "P86a", "P86g", "N60", "N61",
	}
}

// What the documentation says that these scripts hold, they hold.
func TestStandaloneConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes")
	}
	for _, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			path := install(t, e.name)
			self, err := os.Executable()
			check(t, err)
			options, err := json.Marshal(e.options)
			check(t, err)
			env := engineOf(t, e.name)
			if e.name == "ssh" { // another machine that has the same files
				env, _ = farAway(t, &script{T: t})
			}
			if e.name == "docker" { // not that of the room's home, which is a secret
				env = append(env, "DOCKER_CONFIG="+t.TempDir())
			}
			for _, entry := range env {
				name, value, _ := strings.Cut(entry, "=")
				t.Setenv(name, value)
			}
			only := onlyRows(e)
			report, err := probes.Run(t.Context(), New(path, e.options), probes.Options{
				Helper: []string{self}, Only: only, Parallel: 4, Environ: append(env, optionsVar+"="+string(options)),
			})
			check(t, err)
			t.Log(report.Summary())
			held := 0
			for _, o := range report.Outcomes {
				if o.Status == probes.Held {
					held++
				}
				if (o.Status == probes.NotHeld || o.Refused && o.Want == "works") && e.beyond[o.ID] == "" {
					t.Errorf("%s %s: %s (%s)", o.ID, o.Try, o.Observed, o.Why)
				}
				if o.Status == probes.Held && e.beyond[o.ID] != "" {
					t.Errorf("%s %s is held: %s is no reason any more", o.ID, o.Try, e.beyond[o.ID])
				}
			}
			if held < 200 && only == nil || held < min(60, 2*len(only)) {
				t.Errorf("only %d rows were held", held)
			}
		})
	}
}

// script is one run of a standalone script without sbx.
type script struct {
	*testing.T
	path, workspace, outside string
	env                      []string
}

// eachStandalone runs a test for each script that can be tried here, as root and
// as an ordinary user.
func eachStandalone(t *testing.T, test func(*script)) {
	for _, kind := range []string{"bwrap", "firejail", "docker", "podman"} {
		t.Run(kind, func(t *testing.T) {
			s := &script{T: t, path: install(t, kind)}
			s.env = append(engineOf(t, kind), "PATH="+os.Getenv("PATH"), "HOME="+os.Getenv("HOME"), "LC_ALL=C")
			s.room()
			test(s)
		})
	}
}

// room makes a workspace and a directory beside it.
func (s *script) room() {
	s.Helper()
	base := os.Getenv("SBX_TEST_BASE")
	if base == "" && os.Geteuid() == 0 {
		base = "/var/lib"
	}
	dir, err := os.MkdirTemp(base, "sbx-standalone-")
	check(s.T, err)
	s.Cleanup(func() { _ = os.RemoveAll(dir) })
	check(s.T, os.Chmod(dir, 0o755))
	s.workspace, s.outside = dir+"/w s", dir+"/outside"
	check(s.T, os.Mkdir(s.workspace, 0o755))
	check(s.T, os.Mkdir(s.outside, 0o755))
}

// engineOf is how the script finds its engine, as scripts/engines.sh has started it.
func engineOf(t *testing.T, kind string) []string {
	t.Helper()
	variable := map[string]string{"docker": "SBX_TEST_DOCKER_HOST", "podman": "SBX_TEST_PODMAN"}[kind]
	if variable == "" {
		return nil
	}
	at := os.Getenv(variable)
	switch {
	case at == "" && slices.Contains(strings.Split(os.Getenv("SBX_REQUIRE"), ","), kind):
		t.Fatalf("there is no %s: scripts/engines.sh starts one", kind)
	case at == "" || kind == "podman" && os.Geteuid() != 0:
		t.Skipf("there is no %s for this user: scripts/engines.sh starts one", kind)
	case kind == "docker":
		return []string{"DOCKER_HOST=" + at, "PEPE_SANDBOX_IMAGE=sbx-test/tools:1"}
	}
	return []string{"CONTAINERS_STORAGE_CONF=" + at + "/storage.conf", "CONTAINERS_CONF=" + at + "/containers.conf", "PEPE_SANDBOX_IMAGE=sbx-test/tools:1"}
}

func (s *script) command(argv ...string) *exec.Cmd {
	c := exec.Command(s.path, argv...)
	c.Env = append(slices.Clone(s.env), "PEPE_SANDBOX_CWD="+s.workspace)
	c.Dir = s.workspace
	return c
}

// output runs a command and returns what it printed and its status.
func (s *script) output(c *exec.Cmd) (string, int) {
	s.Helper()
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.Fatal(err)
	}
	return string(out), c.ProcessState.ExitCode()
}

// What the old scripts got wrong: input, arguments, status, the user, /tmp of the
// host, files dropped into the workspace.
// What is mounted below / is no more writable than / is.
func TestStandaloneMounts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root mounts anything")
	}
	for _, kind := range []string{"bwrap", "firejail"} {
		s := &script{T: t, path: install(t, kind), env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LC_ALL=C"}}
		s.room()
		at := s.outside + "/a b"
		check(t, os.Mkdir(at, 0o755))
		c := s.command("sh", "-c", `echo x >in; (echo x >"$1") 2>/dev/null || echo refused`, "sh", at+"/canary")
		c.Path, c.Args = "/usr/bin/unshare", append([]string{"unshare", "-m", "--propagation", "private", "sh", "-c", `mount -t tmpfs none "$1" &&
			: >"$1/control" && "$2" sh -c "$5" sh "$1/canary" && ls "$1"`, "sh", at, s.path}, c.Args[1:]...)
		if out, code := s.output(c); code != 0 || out != "refused\ncontrol\n" {
			t.Errorf("%s: %d, %q", kind, code, out)
		}
		if _, err := os.Stat(s.workspace + "/in"); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// keepsHome tries to write in the home of the user, also where HOME names another one,
// and where the workspace lies in it.
func (s *script) keepsHome() {
	me, err := user.Current()
	check(s.T, err)
	if info, err := os.Stat(me.HomeDir); err != nil || !info.IsDir() {
		return
	}
	canary := me.HomeDir + "/sbx-canary"
	check(s.T, os.WriteFile(canary, nil, 0o644)) // the control
	check(s.T, os.Remove(canary))
	within, err := os.MkdirTemp(me.HomeDir, "w")
	check(s.T, err)
	defer os.RemoveAll(within)
	for _, ws := range []string{s.workspace, within} {
		for _, home := range []string{me.HomeDir, s.outside} {
			c := s.command("sh", "-c", `echo x >"$1"; echo x >at-home && rm at-home`, "sh", canary)
			c.Env = append(c.Env, "HOME="+home, "PEPE_SANDBOX_CWD="+ws)
			out, code := s.output(c)
			if code != 0 {
				s.Errorf("HOME=%s, workspace %s: %d, %q", home, ws, code, out)
			}
			if os.Remove(canary) == nil {
				s.Errorf("HOME=%s, workspace %s: the command wrote in the home directory", home, ws)
			}
		}
	}
}

func TestStandaloneRuns(t *testing.T) {
	eachStandalone(t, func(s *script) {
		odd := []string{"", " ", "a b", "a\nb", "$HOME", "`id`", "'", `"`, `\`, "*", "-rf", "--"}
		out, code := s.output(s.command(append([]string{"printf", "%s|"}, odd...)...))
		if want := strings.Join(odd, "|") + "|"; code != 0 || out != want {
			s.Errorf("arguments: %d, %q", code, out)
		}
		c := s.command("sh", "-c", `cat; pwd -P; echo x >in; id -u; exit 42`)
		c.Stdin = strings.NewReader("input\n")
		out, code = s.output(c)
		if want := fmt.Sprintf("input\n%s\n%d\n", s.workspace, os.Getuid()); code != 42 || out != want {
			s.Errorf("%d, %q, want %q", code, out, want)
		}
		info, err := os.Stat(s.workspace + "/in")
		check(s.T, err)
		if st := info.Sys().(*syscall.Stat_t); int(st.Uid) != os.Getuid() {
			s.Errorf("what was made belongs to %d", st.Uid)
		}
		// The control: it can be written to from here.
		canary := s.outside + "/canary"
		check(s.T, os.WriteFile(canary, nil, 0o644))
		check(s.T, os.Remove(canary))
		marker := fmt.Sprintf("/tmp/sbx-standalone-%d", os.Getpid())
		out, _ = s.output(s.command("sh", "-c", `echo x >"$1"; echo x >"$2" && echo tmp`, "sh", canary, marker))
		if !strings.Contains(out, "tmp") {
			s.Errorf("/tmp cannot be written to: %q", out)
		}
		for _, path := range []string{canary, marker} {
			if _, err := os.Lstat(path); err == nil {
				s.Errorf("%s was made on the host", path)
			}
		}
		s.keepsHome()
		names, err := filepath.Glob(s.workspace + "/*")
		check(s.T, err)
		hidden, err := filepath.Glob(s.workspace + "/.*")
		check(s.T, err)
		if len(names)+len(hidden) != 1 {
			s.Errorf("in the workspace: %q", append(names, hidden...))
		}
		if _, code := s.output(s.command("no-such-program")); code != 127 {
			s.Errorf("a missing program: %d", code)
		}
	})
}

// The script that a runtime has written to the temp directory can be read, and
// other files there cannot.
func TestStandaloneScriptFile(t *testing.T) {
	eachStandalone(t, func(s *script) {
		file := fmt.Sprintf("/tmp/pepe_script_%d.sh", os.Getpid())
		check(s.T, os.WriteFile(file, []byte("echo ran \"$1\"; cat \"$1\"; echo x >>\"$0\"\n"), 0o600))
		defer os.Remove(file)
		other := file + ".other"
		check(s.T, os.WriteFile(other, []byte("secret\n"), 0o600))
		defer os.Remove(other)
		out, _ := s.output(s.command("sh", file, other))
		if !strings.Contains(out, "ran "+other) || strings.Contains(out, "secret") {
			s.Errorf("%q", out)
		}
		if text, _ := os.ReadFile(file); strings.HasSuffix(string(text), "\nx\n") {
			s.Error("the script was changed")
		}
		// A second name, or somebody else's file, is not taken.
		check(s.T, os.Link(file, file+".link"))
		defer os.Remove(file + ".link")
		if out, _ := s.output(s.command("sh", file)); strings.Contains(out, "ran") {
			s.Errorf("a file with two names: %q", out)
		}
	})
}

// running says whether what a test has started goes on.
func (s *script) running(mark string) bool {
	out, _ := exec.Command("pgrep", "-f", "sleep "+mark).Output()
	return len(out) > 0
}

func (s *script) await(what string, done func() bool) {
	s.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatalf("%s: it does not happen", what)
		}
	}
}

// TERM ends everything, and so does the end of whoever reads the output.
func TestStandaloneEnds(t *testing.T) {
	eachStandalone(t, func(s *script) {
		for i, how := range []string{"TERM", "reader"} {
			mark := fmt.Sprintf("7%d%d", os.Getpid(), i)
			c := s.command("sh", "-c", "trap '' TERM; sleep "+mark+" & >"+mark+"; sleep "+mark)
			out, err := c.StdoutPipe()
			check(s.T, err)
			check(s.T, c.Start())
			s.await("start", func() bool { _, err := os.Stat(s.workspace + "/" + mark); return err == nil })
			if how == "TERM" {
				check(s.T, c.Process.Signal(syscall.SIGTERM))
			} else {
				check(s.T, out.Close())
			}
			s.await(how, func() bool { return !s.running(mark) })
			_ = c.Wait()
			if code := c.ProcessState.ExitCode(); code != 143 {
				s.Errorf("%s: status %d", how, code)
			}
		}
	})
}

// The workspace that would confine nothing is refused.
func TestStandaloneRefuses(t *testing.T) {
	eachStandalone(t, func(s *script) {
		for _, dir := range []string{"", "relative", "/", "/tmp", "/etc", "/usr/bin", "/home", os.Getenv("HOME"), os.Getenv("HOME") + "/.ssh", s.outside + "/absent"} {
			c := s.command("touch", "ran")
			c.Env = append(slices.Clone(s.env), "PEPE_SANDBOX_CWD="+dir)
			if out, code := s.output(c); code != 125 || !strings.HasPrefix(out, "sandbox: refused: ") {
				s.Errorf("%q: %d, %q", dir, code, out)
			}
		}
		for _, net := range []string{"host", "allow:a", "none --privileged"} {
			c := s.command("touch", "ran")
			c.Env = append(c.Env, "PEPE_SANDBOX_NET="+net)
			if out, code := s.output(c); code != 125 || !strings.Contains(out, "PEPE_SANDBOX_NET") {
				s.Errorf("network %q: %d, %q", net, code, out)
			}
		}
		if _, err := os.Stat(s.workspace + "/ran"); err == nil {
			s.Error("it ran")
		}
	})
}
