//go:build amd64 || arm64

package bwrap

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/layout"
)

// What bwrap has mounted is looked at: a mount that went elsewhere, and one that
// is missing, are found.
func TestCompare(t *testing.T) {
	p := sandbox.Profile{Workspace: "/w", Protect: []string{"/w/.git/config"}}
	s := scene{
		spots:  layout.Of(p, layout.Terrain{IsDir: func(string) bool { return true }, Masks: []layout.Grant{{Path: "/s", Dir: true}}}),
		isLink: func(string) bool { return false },
	}
	good := func() []mount {
		list := []mount{{"/", "8:1 /", false}, {"/host", "8:2 /", false}}
		for _, spot := range s.spots {
			list = append(list, mount{spot.Path, "8:1 " + spot.Path, spot.Writable() || spot.Kind == layout.Cover || spot.Path == ptsDir})
		}
		return list
	}
	outside := func() []mount { return []mount{{"/", "8:1 /", true}, {"/host", "8:2 /", true}} }
	if err := compare(good(), s, outside); err != nil {
		t.Errorf("what was planned: %v", err)
	}
	for name, change := range map[string]func([]mount) []mount{
		"writable elsewhere":                   func(l []mount) []mount { return append(l, mount{"/home/u", "8:1 /home/u", true}) },
		"a writable root":                      func(l []mount) []mount { l[0].writable = true; return l },
		"a protected file that can be written": func(l []mount) []mount { return append(l, mount{"/w/.git/config", "8:1 /x", true}) },
		"over what was mounted there":          func(l []mount) []mount { return append(l, mount{"/host", "8:2 /", true}) },
		"nothing on a hidden path":             func(l []mount) []mount { return without(l, "/s") },
		"nothing on a protected file":          func(l []mount) []mount { return without(l, "/w/.git/config") },
		"nothing that keeps the directory":     func(l []mount) []mount { return without(l, "/w/.git") },
		"another directory in its place": func(l []mount) []mount {
			l[slices.IndexFunc(l, func(m mount) bool { return m.path == "/w/.git" })].tree = "8:1 /home/u"
			return l
		},
		"the workspace is not what is writable": func(l []mount) []mount { return without(l, "/w") },
	} {
		if err := compare(change(good()), s, outside); err == nil {
			t.Errorf("%s: not found", name)
		}
	}
	l := good()
	l[1].writable = true // out of reach for its user, so left as it is
	if err := compare(l, s, outside); err != nil {
		t.Errorf("a mount of the host that nobody reaches: %v", err)
	}
}

func without(list []mount, name string) []mount {
	return slices.DeleteFunc(list, func(m mount) bool { return m.path == name })
}

// need skips where bwrap does not work, unless SBX_REQUIRE names it.
func need(t *testing.T) {
	t.Helper()
	if _, err := New().Probe(t.Context()); err != nil {
		if slices.Contains(strings.Split(os.Getenv("SBX_REQUIRE"), ","), Name) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// try runs a command in a workspace of its own.
func try(t *testing.T, b *Backend, p sandbox.Profile, env []string, argv ...string) (string, sandbox.Result, error) {
	t.Helper()
	if p.Workspace == "" {
		p.Workspace = t.TempDir()
	}
	p.Supervisor = true
	s, err := b.Open(t.Context(), p)
	if err != nil {
		return "", sandbox.Result{}, err
	}
	defer s.Close()
	var out bytes.Buffer
	result, err := s.Run(t.Context(), sandbox.Command{Argv: argv, Env: append([]string{"PATH=/usr/bin:/bin"}, env...), Stdout: &out, Stderr: &out})
	return out.String(), result, err
}

// The command's environment is not bwrap's: a loader's variable would run code
// outside. Inside it is what it was, in its order and with odd entries.
func TestEnvironmentIsTheCommandsAlone(t *testing.T) {
	need(t)
	canary := filepath.Join(t.TempDir(), "trace")
	env := []string{"LD_DEBUG=files", "LD_DEBUG_OUTPUT=" + canary, "A=1\n2", "B=\xff"}
	out, result, err := try(t, New(), sandbox.Profile{}, env, "/usr/bin/env", "-0")
	if err != nil || result.ExitCode != 0 {
		t.Fatal(out, result, err)
	}
	want := "PATH=/usr/bin:/bin\x00" + strings.Join(env, "\x00") + "\x00"
	if !strings.HasSuffix(out, want) { // the loader may say something before
		t.Errorf("%q, want %q", out, want)
	}
	if made, _ := filepath.Glob(canary + "*"); len(made) > 0 {
		t.Errorf("outside: %q", made)
	}
	control := exec.Command("/bin/true")
	control.Env = env
	if err := control.Run(); err != nil {
		t.Fatal(err)
	}
	if made, _ := filepath.Glob(canary + "*"); len(made) == 0 {
		t.Error("the control wrote nothing either")
	}
}

// What bwrap says when it cannot do it is told, and is no output of the command.
func TestWhatBwrapSaysIsTold(t *testing.T) {
	need(t)
	for said, wants := range map[string]string{
		"setting up uid map: Permission denied": "no user namespace",
		"Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)": "no user namespace",
		"Unknown option --perms":         "too old, want 0.7 or newer",
		"something that nobody has seen": "",
	} {
		program := filepath.Join(t.TempDir(), "bwrap")
		if err := os.WriteFile(program, []byte("#!/bin/sh\necho 'bwrap: "+said+"' >&2\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		out, result, err := try(t, &Backend{only: variant{program: program}}, sandbox.Profile{}, nil, "true")
		if err == nil || !strings.Contains(err.Error(), "bwrap: "+said) || !strings.Contains(err.Error(), wants) || result.Ending != sandbox.NotStarted || out != "" {
			t.Errorf("%q: %v, %+v, %q", said, err, result, out)
		}
		if here := errors.Is(err, sandbox.ErrUnavailable); here != (wants != "") || !errors.Is(err, sandbox.ErrStart) {
			t.Errorf("%q: %v: not available here: %v", said, err, here)
		}
	}
}

// A mount of the host that goes away while bwrap copies all of them, as those of
// container engines do, is no reason to refuse: it is tried again.
func TestMountsThatGoAwayMeanwhile(t *testing.T) {
	need(t)
	real, err := exec.LookPath("bwrap")
	if err != nil {
		t.Fatal(err)
	}
	for _, said := range []string{
		`Can't bind mount /oldroot/ on /newroot/: Unable to apply mount flags: remount "/newroot/data/overlay2/1/merged": Invalid argument`,
		`Can't create file at /srv/run/x.sock: Permission denied`, // it was there when it was looked for
		`Can't bind mount /oldroot/ on /newroot/: Unable to remount recursively with correct flags: No such file or directory`,
	} {
		dir := t.TempDir()
		program := filepath.Join(dir, "bwrap")
		script := "#!/bin/sh\nif [ ! -e " + dir + "/twice ]; then [ -e " + dir + "/once ] && : >" + dir + "/twice; : >" + dir + "/once; echo '" + strings.ReplaceAll("bwrap: "+said, "'", `'\''`) + "' >&2; exit 1; fi\nexec " + real + " \"$@\"\n"
		if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		out, _, err := try(t, &Backend{only: variant{program: program}}, sandbox.Profile{}, nil, "echo", "ran")
		if _, tried := os.Stat(dir + "/twice"); err != nil || out != "ran\n" || tried != nil {
			t.Errorf("%q, %v, %v", out, err, tried)
		}
	}
}

// Where /proc cannot be mounted, and where bwrap is older, it goes on without.
func TestWhatBwrapCannotDoIsLeftOut(t *testing.T) {
	need(t)
	real, err := exec.LookPath("bwrap")
	if err != nil {
		t.Fatal(err)
	}
	for word, said := range map[string]string{"--proc": "Can't mount proc on /newroot/proc: Operation not permitted", "--disable-userns": "Unknown option --disable-userns"} {
		program := filepath.Join(t.TempDir(), "bwrap")
		script := "#!/bin/bash\nif tr '\\0' '\\n' <&$2 | grep -qx -- " + word + "; then echo \"bwrap: " + said + "\" >&2; exit 1; fi\nexec " + real + " --args <(cat /proc/self/fd/$2) \"${@:3}\"\n"
		// Reading moves the position that bwrap would read from; a new opening has its own.
		script = strings.Replace(script, "<&$2", "</proc/self/fd/$2", 1)
		script = strings.Replace(script, "--args <(cat /proc/self/fd/$2) \"${@:3}\"", "\"$@\"", 1)
		if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		out, result, err := try(t, &Backend{only: variant{program: program}}, sandbox.Profile{}, nil, "echo", "ran")
		if err != nil || out != "ran\n" {
			t.Errorf("%s: %q, %v", word, out, err)
		}
		lacks := slices.Contains(sandbox.GapControls(result.Gaps), sandbox.ProcessesHidden)
		if lacks != (word == "--proc") || (result.Tier == tierNoProc) != lacks {
			t.Errorf("%s: tier %s, gaps %+v", word, result.Tier, result.Gaps)
		}
	}
}

// A program of the workspace's own is not taken for bwrap.
func TestBwrapOfTheWorkspaceIsNotUsed(t *testing.T) {
	need(t)
	workspace := t.TempDir()
	canary := filepath.Join(t.TempDir(), "ran")
	if err := os.WriteFile(filepath.Join(workspace, "bwrap"), []byte("#!/bin/sh\n: >"+canary+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", workspace+":"+os.Getenv("PATH"))
	if found, err := exec.LookPath("bwrap"); err != nil || filepath.Dir(found) != workspace {
		t.Fatal("control: PATH does not lead there")
	}
	out, _, err := try(t, New(), sandbox.Profile{Workspace: workspace}, nil, "echo", "ran")
	if err != nil || out != "ran\n" {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("it ran")
	}
	t.Setenv("PATH", workspace)
	if _, _, err := try(t, New(), sandbox.Profile{Workspace: workspace}, nil, "true"); err == nil {
		t.Error("and without another one something was used")
	}
}

// A signal of the terminal goes to the whole job, bwrap among it, and the command
// decides.
func TestTheCommandDecidesAboutSignals(t *testing.T) {
	need(t)
	workspace := t.TempDir()
	s, err := New().Open(t.Context(), sandbox.Profile{Workspace: workspace})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var out bytes.Buffer
	signals := make(chan os.Signal, 1)
	go func() {
		for t.Context().Err() == nil {
			if _, err := os.Stat(workspace + "/ready"); err == nil {
				signals <- os.Interrupt
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	result, err := s.Run(t.Context(), sandbox.Command{
		Argv: []string{"sh", "-c", `trap 'echo got it; exit 3' INT; : >ready; i=0; while [ $i -lt 200 ]; do sleep 0.1; i=$((i + 1)); done`},
		Env:  []string{"PATH=/usr/bin:/bin"}, Stdout: &out, Signals: signals,
	})
	if err != nil || result.ExitCode != 3 || out.String() != "got it\n" {
		t.Errorf("%+v, %v, %q", result, err, out.String())
	}
}
