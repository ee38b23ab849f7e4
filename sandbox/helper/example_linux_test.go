package helper

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// example is the program of docs/helpers.md.
func example(t *testing.T) *Backend {
	t.Helper()
	for _, name := range []string{"bwrap", "python3"} {
		if _, err := exec.LookPath(name); err != nil {
			if slices.Contains(strings.Split(os.Getenv("SBX_REQUIRE"), ","), "bwrap") {
				t.Fatalf("there is no %s", name)
			}
			t.Skipf("there is no %s", name)
		}
	}
	text, err := os.ReadFile("../../docs/helpers.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(text)
	if m == nil {
		t.Fatal("docs/helpers.md has no example")
	}
	path := script(t, "")
	if err := os.WriteFile(path, m[1], 0o755); err != nil {
		t.Fatal(err)
	}
	return At("bubble", path)
}

// exampleProfile has a workspace outside of /tmp, which the example makes anew, and
// a canary beside it.
func exampleProfile(t *testing.T) (p sandbox.Profile, canary string) {
	t.Helper()
	base := ""
	if os.Geteuid() == 0 {
		base = "/var/lib"
	}
	dir, err := os.MkdirTemp(base, "sbx-example-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p = sandbox.Profile{Workspace: dir + "/ws", Home: dir + "/home", Accept: []sandbox.Control{sandbox.SyscallFilter}}
	for _, d := range []string{p.Workspace, p.Home} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(p.Home+"/secret", []byte("s3cr3t\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return p, filepath.Join(dir, "canary")
}

func TestExample(t *testing.T) {
	b := example(t)
	p, canary := exampleProfile(t)
	c, err := b.Probe(t.Context())
	if err != nil || c.Backend != "bubble" || !slices.Contains(c.Enforced, sandbox.WritesConfined) || len(c.Gaps) != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	var out bytes.Buffer
	command := sandbox.Command{
		Argv: []string{"sh", "-c", `touch in; touch "$1"; cat "$2"; printf '%s|' "$@" "$OWN"; cat; exit 42`, "sh", canary, p.Home + "/secret", "a b", "\xff"},
		Env:  []string{"PATH=" + os.Getenv("PATH"), "OWN=it's"}, Dir: p.Workspace, Stdin: strings.NewReader("in\n"), Stdout: &out,
	}
	// The control: without a sandbox the same text makes the file and reads the other.
	plain := exec.Command(command.Argv[0], command.Argv[1:]...)
	plain.Dir = p.Workspace
	if said, _ := plain.Output(); !bytes.Contains(said, []byte("s3cr3t")) || os.Remove(canary) != nil {
		t.Fatalf("control: %s", said)
	}
	s := open(t, b, p)
	r, err := s.Run(t.Context(), command)
	if err != nil || r.ExitCode != 42 || r.Ending != sandbox.Exited || r.Backend != "bubble" {
		t.Errorf("%+v, %v", r, err)
	}
	if want := canary + "|" + p.Home + "/secret|a b|\xff|it's|in\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	if _, err := os.Stat(p.Workspace + "/in"); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(canary); err == nil {
		t.Error("it wrote outside")
	}
	plan, err := s.Plan(command)
	if err != nil || plan.Argv[0] != "bwrap" || len(plan.Gaps) != 1 {
		t.Errorf("%+v, %v", plan, err)
	}
	// Limits of time, and the end of the caller.
	r, err = s.Run(t.Context(), sandbox.Command{Argv: []string{"sleep", "60"}, Env: command.Env, Dir: p.Workspace, Timeout: 500 * time.Millisecond})
	if err != nil || r.Ending != sandbox.TimedOut {
		t.Errorf("%+v, %v", r, err)
	}
	gone := make(chan struct{})
	time.AfterFunc(300*time.Millisecond, func() { close(gone) })
	r, err = s.Run(t.Context(), sandbox.Command{Argv: []string{"sleep", "60"}, Env: command.Env, Dir: p.Workspace, Orphaned: gone})
	if err != nil || r.Ending != sandbox.Abandoned {
		t.Errorf("%+v, %v", r, err)
	}
}

// What it does not know or cannot do it refuses, and runs nothing.
func TestExampleRefuses(t *testing.T) {
	b := example(t)
	for name, change := range map[string]func(*sandbox.Profile){
		"a required control": func(p *sandbox.Profile) { p.Accept = nil },
		"a hidden path":      func(p *sandbox.Profile) { p.Hide = []string{"/srv"} },
		"a limit":            func(p *sandbox.Profile) { p.Limits.MemoryBytes = 1 << 20 },
		"read-only":          func(p *sandbox.Profile) { p.ReadOnly = true },
		"rules":              func(p *sandbox.Profile) { p.Network = sandbox.NetworkRules },
	} {
		p, _ := exampleProfile(t)
		change(&p)
		r, err := open(t, b, p).Run(t.Context(), sandbox.Command{Argv: []string{"touch", "ran"}, Dir: p.Workspace, Env: []string{"PATH=" + os.Getenv("PATH")}})
		if !errors.Is(err, sandbox.ErrUnavailable) || r.Ending != sandbox.NotStarted {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if _, err := os.Stat(p.Workspace + "/ran"); err == nil {
			t.Errorf("%s: it ran", name)
		}
	}
}
