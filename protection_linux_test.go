package sbx

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
)

// openGround makes a directory that commands see as it is, which temp
// directories are not, and an environment for an engine.
func openGround(t *testing.T) (dir string, environ []string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	base := os.Getenv("SBX_TEST_BASE")
	if base == "" {
		base = "/var/lib"
		if os.Geteuid() != 0 {
			base = os.Getenv("HOME")
		}
	}
	dir, err := os.MkdirTemp(base, "sbx-engine-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	dir, err = filepath.EvalSymlinks(dir)
	must(t, err)
	must(t, os.Chmod(dir, 0o755))
	must(t, os.Mkdir(dir+"/home", 0o755))
	return dir, []string{ // HOME is the first
		"HOME=" + dir + "/home", "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1",
	}
}

// fullEngine is one over the tier full; where that does not work here, the test is skipped.
func fullEngine(t *testing.T, o Options) *Engine {
	t.Helper()
	o.MinTier = "full"
	e, err := New(o)
	must(t, err)
	t.Cleanup(func() { e.Close() })
	if _, err := e.backend.Probe(context.Background()); err != nil {
		if slices.Contains(strings.Split(os.Getenv("SBX_REQUIRE"), ","), "direct") {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return e
}

func repository(t *testing.T, dir string) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	hostGit(t, dir, "init", "-q")
}

func hostGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
}

// runText runs a text in a workspace and returns what it printed.
func runText(t *testing.T, e *Engine, workspace, text string) (string, Result) {
	t.Helper()
	var out bytes.Buffer
	r, err := e.Run(context.Background(), Request{Text: text, Workspace: workspace, Stdout: &out, Stderr: &out})
	if err != nil {
		t.Fatalf("%q: %v", workspace, err)
	}
	return out.String(), r
}

// The runtime's directory is hidden wherever it lies, and its file, too.
func TestConfigurationIsHidden(t *testing.T) {
	dir, environ := openGround(t)
	for _, d := range []string{"/ws", "/pepe/skills", "/etc"} {
		must(t, os.MkdirAll(dir+d, 0o755))
	}
	for _, f := range []string{"/pepe/config.json", "/pepe/skills/s", "/etc/pepe.json"} {
		must(t, os.WriteFile(dir+f, []byte("secret\n"), 0o644))
	}
	text := "cd " + dir + "; cat pepe/config.json pepe/skills/s etc/pepe.json 2>/dev/null | wc -l"
	for _, tt := range []struct {
		env  []string
		read []string
		seen string // of the three
	}{
		{nil, nil, "3"}, // control
		{[]string{"PEPE_HOME=" + dir + "/pepe"}, nil, "1"},
		{[]string{"PEPE_HOME=" + dir + "/pepe", "PEPE_CONFIG=" + dir + "/etc/pepe.json"}, nil, "0"},
		{[]string{"PEPE_HOME=" + dir + "/pepe"}, []string{dir + "/pepe/skills"}, "2"},
		{[]string{"PEPE_HOME=" + dir + "/pepe"}, []string{dir + "/pepe"}, "3"},
	} {
		e := fullEngine(t, Options{Environ: append(tt.env, environ...), Read: tt.read})
		if out, _ := runText(t, e, dir+"/ws", text); strings.TrimSpace(out) != tt.seen {
			t.Errorf("%q, to read %q: %s of 3 files are seen, not %s", tt.env, tt.read, strings.TrimSpace(out), tt.seen)
		}
	}
}

// Wherever a workspace lies and whatever its name is, what is trusted in it stays,
// what appears is reported by its very name, and nothing beside it changes.
func TestProtectedWorkspaces(t *testing.T) {
	dir, environ := openGround(t)
	temp, err := os.MkdirTemp("/tmp", "sbx-engine-")
	must(t, err)
	defer os.RemoveAll(temp)
	must(t, os.Chmod(temp, 0o755))
	must(t, os.Symlink("home", dir+"/home-link"))
	must(t, os.Symlink("ws-real", dir+"/ws-link"))
	must(t, os.Symlink(dir+"/ws-link", dir+"/ws-link2"))
	var places [][2]string // as given, and what it means
	for _, name := range []string{"plain", "a b", `a'b"c`, "new\nline", "$(touch x)", "`touch x`", "-rf", ":ro,rw", "\xff\xfe", `a\b`, "é", "*?[x]", "%s%n", "\x01\x1b[2J", " ", "...", ".git "} {
		places = append(places, [2]string{dir + "/names/" + name, dir + "/names/" + name})
	}
	places = append(
		places,
		[2]string{dir + "/ws-link", dir + "/ws-real"},
		[2]string{dir + "/ws-link2", dir + "/ws-real"},
		[2]string{dir + "/names/../names/./plain/", dir + "/names/plain"},
		[2]string{temp + "/ws", temp + "/ws"},
		[2]string{temp + "/deep/er/ws", temp + "/deep/er/ws"},
		[2]string{dir + "/home-link/project", dir + "/home/project"},
	)
	for _, home := range []string{dir + "/home", dir + "/home-link"} {
		e := fullEngine(t, Options{Environ: append([]string{"HOME=" + home}, environ[1:]...)})
		if e.home != home {
			t.Fatalf("the home is %q", e.home)
		}
		for _, p := range places {
			given, real := p[0], p[1]
			must(t, os.RemoveAll(real))
			repository(t, real)
			beside := names(t, filepath.Dir(real))
			config, err := os.ReadFile(real + "/.git/config")
			must(t, err)
			out, r := runText(t, e, given, `pwd; echo x >made; { echo x >>.git/config; echo x >.git/hooks/pre-commit; mv .git g2; echo x >../beside; } 2>/dev/null; mkdir .claude; true`)
			after, err := os.ReadFile(real + "/.git/config")
			switch _, hook := os.Lstat(real + "/.git/hooks/pre-commit"); {
			case err != nil || string(after) != string(config) || hook == nil:
				t.Errorf("%q: what is trusted changed: %v", given, err)
			case out != real+"\n":
				t.Errorf("%q: printed %q", given, out)
			case r.Workspace != real:
				t.Errorf("%q: the workspace is %q", given, r.Workspace)
			}
			if _, err := os.Lstat(real + "/made"); err != nil {
				t.Errorf("%q: %v", given, err)
			}
			if got := names(t, filepath.Dir(real)); !slices.Equal(got, beside) {
				t.Errorf("%q: beside it there is %q, was %q", given, got, beside)
			}
			if f := r.Trust.Findings; len(f) != 1 || f[0].Path != real+"/.claude" || f[0].Change != sandbox.TrustAppeared || r.Trust.Incomplete != "" {
				t.Errorf("%q: %+v", given, r.Trust)
			}
		}
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// What is protected is looked for at each run of an engine that lives long.
func TestProtectionIsTakenAfresh(t *testing.T) {
	dir, environ := openGround(t)
	e := fullEngine(t, Options{Environ: environ})
	ws := dir + "/ws"
	repository(t, ws)
	writes := func(name string) bool {
		t.Helper()
		before, _ := os.ReadFile(ws + "/" + name)
		runText(t, e, ws, "echo changed >>"+name+"; true")
		after, _ := os.ReadFile(ws + "/" + name)
		return !bytes.Equal(before, after)
	}
	if writes(".git/config") || !writes("usual") || !writes(".mcp.json") {
		t.Error("the first run")
	}
	if writes(".mcp.json") {
		t.Error("what appeared in the first run is open in the next")
	}
	hostGit(t, ws, "config", "a.b", "c") // another file of the same name
	if writes(".git/config") {
		t.Error("the file that replaced a protected one is open")
	}
	must(t, os.Remove(ws+"/.mcp.json"))
	if !writes(".mcp.json") {
		t.Error("what went is still protected")
	}
	must(t, os.RemoveAll(ws+"/.git"))
	must(t, os.WriteFile(ws+"/.git", []byte("gitdir: store\n"), 0o644))
	repository(t, dir+"/other")
	must(t, os.Rename(dir+"/other/.git", ws+"/store"))
	if writes("store/config") || writes(".git") {
		t.Error("the place that git goes to now is open")
	}
	// Many lists, few sessions.
	for range 3 {
		hostGit(t, ws, "config", "a.b", "d")
		runText(t, e, ws, "true")
	}
}

// A workspace that was swapped between two runs is judged again, and never
// becomes more than what it is then.
func TestSwappedWorkspace(t *testing.T) {
	dir, environ := openGround(t)
	e := fullEngine(t, Options{Environ: environ})
	ws, moved := dir+"/ws", dir+"/moved"
	repository(t, ws)
	repository(t, dir+"/project")
	must(t, os.WriteFile(dir+"/home/.bashrc", []byte("as it was\n"), 0o644))
	runText(t, e, ws, "echo x >made")
	must(t, os.Rename(ws, moved))
	for _, to := range []string{"/", "/etc", "/tmp", "/usr/lib", dir + "/home", dir, "gone", "ws"} {
		must(t, os.Symlink(to, ws))
		_, err := e.Run(context.Background(), Request{Text: "touch ran", Workspace: ws})
		var refused *WorkspaceError
		if !errors.As(err, &refused) && to != dir { // what holds the home is refused only as that
			t.Errorf("a link to %s: %v", to, err)
		}
		if to == dir && err == nil {
			t.Errorf("a link to what holds the home directory is a workspace")
		}
		must(t, os.Remove(ws))
	}
	// A link to another project is that project, and no more.
	must(t, os.Symlink("project", ws))
	out, r := runText(t, e, ws, "pwd; echo x >here; echo x >>.git/config; echo x >../moved/made2; echo x >../ws/here2; ln -sfn /etc ../ws; true")
	if r.Workspace != dir+"/project" || !strings.HasPrefix(out, dir+"/project\n") {
		t.Errorf("%s %q", out, r.Workspace)
	}
	for name, want := range map[string]bool{"project/here": true, "project/here2": true, "moved/made2": false} {
		if _, err := os.Lstat(dir + "/" + name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if to, err := os.Readlink(ws); to != "project" {
		t.Errorf("%q %v", to, err)
	}
	// Another directory of that name is the workspace, with what is trusted there;
	// the one before is outside.
	must(t, os.Remove(ws))
	repository(t, ws)
	config, err := os.ReadFile(ws + "/.git/config")
	must(t, err)
	runText(t, e, ws, "echo x >here; echo x >>.git/config; echo x >"+moved+"/made3; true")
	after, err := os.ReadFile(ws + "/.git/config")
	if err != nil || !bytes.Equal(after, config) {
		t.Errorf("%v %q", err, after)
	}
	if _, err := os.Lstat(moved + "/made3"); err == nil {
		t.Error("what was the workspace is writable still")
	}
	if _, err := os.Lstat(ws + "/here"); err != nil {
		t.Error(err)
	}
}

// TestProtectionAsUser repeats these tests without privileges.
func TestProtectionAsUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the tests run as an ordinary user already")
	}
	dir, _ := openGround(t)
	const user = 65533
	must(t, os.Mkdir(dir+"/bin", 0o755))
	must(t, os.Mkdir(dir+"/base", 0o755))
	must(t, os.Chown(dir+"/base", user, user))
	self, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	must(t, os.WriteFile(dir+"/bin/test", self, 0o755))
	cmd := exec.Command(dir+"/bin/test", "-test.v", "-test.run", "^(TestProtectedWorkspaces|TestProtectionIsTakenAfresh|TestSwappedWorkspace|TestFreshTemp)$")
	cmd.Dir = dir + "/base"
	cmd.Env = []string{"SBX_TEST_BASE=" + dir + "/base", "HOME=" + dir + "/base", "PATH=" + os.Getenv("PATH"), "SBX_REQUIRE=" + os.Getenv("SBX_REQUIRE")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("no tests to run")) {
		t.Errorf("as user %d: %v\n%s", user, err, out)
	}
}

// Runs with a temp directory of their own do not see each other's, and leave none.
func TestFreshTemp(t *testing.T) {
	dir, environ := openGround(t)
	e := fullEngine(t, Options{Environ: environ, FreshTemp: true})
	ws := dir + "/ws"
	repository(t, ws)
	var temps [2]string
	done := make(chan struct{})
	go func() {
		defer close(done)
		temps[0], _ = runText(t, e, ws, "echo a >$TMPDIR/f; printf %s $TMPDIR; until test -e go; do sleep 0.01; done; test -e $TMPDIR/f || echo gone")
	}()
	temps[1], _ = runText(t, e, ws, "test ! -e $TMPDIR/f && printf %s $TMPDIR; mkdir -p $TMPDIR/a/b; chmod 0 $TMPDIR/a; ln -s / $TMPDIR/l; touch go")
	<-done
	if temps[0] == temps[1] || temps[1] == "" || strings.Contains(temps[0], "gone") {
		t.Errorf("%q", temps)
	}
	for _, temp := range temps {
		if _, err := os.Lstat(filepath.Dir(temp)); err == nil {
			t.Errorf("%s is left", temp)
		}
	}
}
