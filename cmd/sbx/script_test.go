package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sbx-run/sbx/testuser"
)

// The scripts run the real binary. TestMain builds it, and the run as an
// ordinary user gets it by these variables.
const (
	binVar     = "SBX_TEST_BIN"         // directory with sbx and sbx-exec
	scriptsVar = "SBX_TEST_SCRIPTS"     // directory with the scripts
	rootVar    = "SBX_TEST_ROOT"        // directory below which the scripts work
	engineVar  = "SBX_TEST_DOCKER_HOST" // of scripts/engines.sh, as the next
	socketVar  = "SBX_TEST_CONTAINERD"
	podmanVar  = "SBX_TEST_PODMAN"
	requireVar = "SBX_REQUIRE" // abilities whose absence is a failure
)

// engineVars name the engine of a backend.
var engineVars = map[string]string{"docker": engineVar, "containerd": socketVar, "podman": podmanVar}

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if os.Getenv(binVar) != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "sbx-bin-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// build makes the programs where other users can reach them too.
func build(dir string) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	programs := []string{"sbx", "sbx-proxy"}
	if os.Getenv(engineVar) != "" {
		programs = append(programs, "sbx-init", "sbx-backend-docker")
	}
	if os.Getenv(socketVar) != "" {
		programs = append(programs, "sbx-init", "sbx-backend-containerd")
	}
	for _, name := range programs {
		c := exec.Command("go", "build", "-o", filepath.Join(dir, name), "../"+name)
		c.Env = append(os.Environ(), "CGO_ENABLED=0") // sbx-init runs in images without a C library
		out, err := c.CombinedOutput()
		if err != nil {
			return fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	if err := os.Symlink("sbx", filepath.Join(dir, wrapperName)); err != nil {
		return err
	}
	os.Setenv(binVar, dir)
	scripts, err := filepath.Abs("../../testdata/scripts")
	os.Setenv(scriptsVar, scripts)
	os.Setenv(docsVar, filepath.Join(scripts, "../../docs"))
	return err
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 os.Getenv(scriptsVar),
		WorkdirRoot:         scriptsRoot(t),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setupScript,
		Condition:           condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":  scriptStatus,
			"json":    scriptJSON,
			"ended":   scriptEnded,
			"await":   scriptAwait,
			"chown":   scriptChown,
			"refused": scriptRefused,
			"schema":  scriptSchema,
		},
	})
}

// scriptsRoot is where the scripts work. In the full tier /tmp is the command's
// own, so what a script calls outside would not be there at all.
func scriptsRoot(t *testing.T) string {
	if base := os.Getenv(rootVar); base != "" {
		return base // not deeper: the path of a unix socket has 108 bytes at most
	}
	base := ""
	if os.Geteuid() == 0 {
		base = "/var/lib"
	}
	dir, err := os.MkdirTemp(base, "sbx-scripts-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// TestScriptsAsUser runs the scripts again as an ordinary user.
func TestScriptsAsUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the scripts ran as an ordinary user already")
	}
	name := testuser.Take(t).Name
	// Not t.TempDir: that lies in a directory of root's.
	dir, err := os.MkdirTemp("/var/lib", "sbx-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, argv := range [][]string{
		{"mkdir", dir + "/tmp", dir + "/home"},
		{"cp", self, dir + "/sbx.test"},
		{"cp", "-r", os.Getenv(scriptsVar), dir + "/scripts"},
		{"cp", "-r", os.Getenv(docsVar), dir + "/docs"},
		{"chmod", "-R", "a+rX", dir},
		{"chown", name, dir + "/tmp", dir + "/home"},
	} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", argv, err, out)
		}
	}
	args := []string{"--reuid", name, "--regid", name, "--init-groups", dir + "/sbx.test", "-test.run=^TestScripts$"}
	if testing.Verbose() {
		args = append(args, "-test.v")
	}
	cmd := exec.Command("setpriv", args...)
	cmd.Dir = dir + "/tmp"
	cmd.Env = []string{
		"HOME=" + dir + "/home", "USER=" + name, "LOGNAME=" + name, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir + "/tmp",
		rootVar + "=" + dir + "/tmp", binVar + "=" + os.Getenv(binVar), scriptsVar + "=" + dir + "/scripts", docsVar + "=" + dir + "/docs", requireVar + "=" + os.Getenv(requireVar),
	}
	out, err := cmd.CombinedOutput()
	t.Logf("as %s:\n%s", name, out)
	if err != nil {
		t.Error(err)
	}
}

// setupScript gives each script a home, a workspace, and a directory beside it.
func setupScript(env *testscript.Env) error {
	if os.Geteuid() == 0 { // the workspace of another user must be reachable
		for _, dir := range []string{filepath.Dir(env.WorkDir), env.WorkDir} {
			if err := os.Chmod(dir, 0o755); err != nil {
				return err
			}
		}
	}
	for _, dir := range []string{"home", "ws", "other"} {
		if err := os.MkdirAll(filepath.Join(env.WorkDir, dir), 0o755); err != nil {
			return err
		}
	}
	env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
	env.Setenv("WS", filepath.Join(env.WorkDir, "ws"))
	env.Setenv("PATH", searchPath())
	env.Setenv("BIN", os.Getenv(binVar))
	env.Setenv("ENGINE", os.Getenv(engineVar)) // by names that sbx does not take out
	env.Setenv("CONTAINERD", os.Getenv(socketVar))
	env.Setenv("PODMAN", os.Getenv(podmanVar))
	env.Setenv("MARK", fmt.Sprintf("600.%d", time.Now().UnixNano()))
	env.Setenv("UID", strconv.Itoa(os.Geteuid()))
	return nil
}

// searchPath leaves out what lies in the home directory of who runs the tests:
// for the scripts, whose home is another, that is somebody else's.
func searchPath() string {
	path := []string{os.Getenv(binVar)}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if home := os.Getenv("HOME"); home == "" || !strings.HasPrefix(dir, home+"/") {
			path = append(path, dir)
		}
	}
	return strings.Join(path, string(filepath.ListSeparator))
}

// condition knows [root], [direct], [full], [bwrap], [docker], [podman] and [containerd]. An ability named in SBX_REQUIRE that is
// absent fails the script instead of skipping it.
func condition(cond string) (bool, error) {
	have := false
	switch cond {
	case "root":
		return os.Geteuid() == 0, nil
	case "direct", "bwrap":
		have = exec.Command(filepath.Join(os.Getenv(binVar), "sbx"), "exec", "--backend", cond, "--workspace", os.Getenv(scriptsVar), "--dry-run", "--", "true").Run() == nil
	case "docker", "podman", "containerd": // the ordinary user of the tests may not reach their sockets
		if os.Geteuid() != 0 {
			return false, nil
		}
		have = os.Getenv(engineVars[cond]) != ""
	case "full": // the tier with namespaces
		out, err := exec.Command(filepath.Join(os.Getenv(binVar), "sbx"), "exec", "--backend", "direct", "--workspace", os.Getenv(scriptsVar), "--dry-run", "--", "true").Output()
		have = err == nil && strings.Contains(string(out), `"tier":"full"`)
	default:
		return false, fmt.Errorf("unknown condition %q", cond)
	}
	if !have && slices.Contains(strings.Split(os.Getenv(requireVar), ","), cond) {
		return false, fmt.Errorf("%s is required (%s) and absent", cond, requireVar)
	}
	return have, nil
}

// scriptStatus is "status N PROGRAM ARGUMENT…": the exit status must be N.
func scriptStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N PROGRAM ARGUMENT…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// scriptJSON is "json FILE PATH WANT": the value at a path such as gaps.0.why
// must be WANT, which is JSON unless the value is a string. With "!" the path is absent.
func scriptJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 && (!neg || len(args) != 2) {
		ts.Fatalf("usage: json FILE PATH WANT")
	}
	var value any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &value))
	got, ok := lookup(value, strings.Split(args[1], "."))
	if neg && len(args) == 2 {
		if ok {
			ts.Fatalf("%s is %v", args[1], got)
		}
		return
	}
	var want any = args[2]
	if _, isString := got.(string); !isString {
		ts.Check(json.Unmarshal([]byte(args[2]), &want))
	}
	if !ok || reflect.DeepEqual(got, want) == neg {
		ts.Fatalf("%s is %v, want %v", args[1], got, want)
	}
}

func lookup(value any, path []string) (any, bool) {
	for _, name := range path {
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[name]
			if !ok {
				return nil, false
			}
			value = next
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// patience is how long a script waits for something that takes milliseconds.
const patience = 30 * time.Second

// scriptEnded is "ended FILE": no process whose number stands in the file is
// left, at the latest after some patience. With "!" they live.
func scriptEnded(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: ended FILE or $MARK")
	}
	if args[0] == ts.Getenv("MARK") {
		for end := time.Now().Add(patience); len(sleepers(args[0])) > 0; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				ts.Fatalf("processes %v are still there", sleepers(args[0]))
			}
		}
		return
	}
	pids := strings.Fields(ts.ReadFile(args[0]))
	if len(pids) == 0 {
		ts.Fatalf("%s holds no process number", args[0])
	}
	for _, pid := range pids {
		if neg {
			if !lives(pid) {
				ts.Fatalf("process %s has ended", pid)
			}
			continue
		}
		for end := time.Now().Add(patience); lives(pid); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				ts.Fatalf("process %s is still there", pid)
			}
		}
	}
}

// sleepers lists the processes with this argument. In a pid namespace a command
// does not know the numbers that its processes have outside.
func sleepers(mark string) []string {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var found []string
	for _, f := range files {
		pid := strings.Split(f, "/")[2]
		text, err := os.ReadFile(f)
		if err == nil && strings.Contains(string(text), "\x00"+mark+"\x00") && lives(pid) {
			found = append(found, pid)
		}
	}
	return found
}

// lives reports a process that is there and no zombie.
func lives(pid string) bool {
	if runtime.GOOS != "linux" {
		return exec.Command("kill", "-0", pid).Run() == nil
	}
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// scriptAwait is "await FILE": the file is there and not empty, at the latest
// after some patience.
func scriptAwait(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await FILE")
	}
	file := ts.MkAbs(args[0])
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if info, err := os.Stat(file); err == nil && info.Size() > 0 {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("%s does not appear", args[0])
		}
	}
}

// scriptChown is "chown UID FILE…".
func scriptChown(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: chown UID FILE…")
	}
	uid, err := strconv.Atoi(args[0])
	ts.Check(err)
	for _, file := range args[1:] {
		ts.Check(os.Chown(ts.MkAbs(file), uid, uid))
	}
}

// scriptRefused is "refused DIR": as the workspace of the wrapper, DIR is
// refused and nothing runs.
func scriptRefused(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: refused DIR")
	}
	ts.Setenv(workspaceVar, args[0])
	ran := ts.MkAbs("ran")
	scriptStatus(ts, false, []string{"125", wrapperName, "sh", "-c", `echo ran; echo x >"$0"`, ran})
	if !strings.HasPrefix(ts.ReadFile("stderr"), "sbx: refused: workspace ") || ts.ReadFile("stdout") != "" {
		ts.Fatalf("not a refusal")
	}
	if _, err := os.Lstat(ran); err == nil {
		ts.Fatalf("the program ran")
	}
}
