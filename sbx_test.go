package sbx

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/shell"
)

// runFake runs a request in a fresh workspace over the fake backend.
func runFake(t *testing.T, o Options, req Request) (Result, *fakeBackend, error) {
	t.Helper()
	e, b := fakeEngine(t, o)
	if req.Workspace == "" {
		req.Workspace = t.TempDir()
	}
	r, err := e.Run(context.Background(), req)
	return r, b, err
}

func TestRefusalsRunNothing(t *testing.T) {
	var (
		denied    *DeniedError
		unparsed  *UnparsedError
		workspace *WorkspaceError
		request   *RequestError
		path      *PathError
		gap       *sandbox.GapError
	)
	gaps := []sandbox.Gap{{Control: sandbox.WritesConfined, Why: "no kernel support"}}
	for _, tc := range []struct {
		name   string
		o      Options
		req    Request
		gaps   []sandbox.Gap
		as     any
		ending sandbox.Ending
		code   int
	}{
		{"guard, text", Options{}, Request{Text: "echo hi; rm -rf /"}, nil, &denied, sandbox.Refused, 126},
		{"guard, argv", Options{}, Request{Argv: []string{"rm", "-rf", "/"}}, nil, &denied, sandbox.Refused, 126},
		{"guard, shell in argv", Options{}, Request{Argv: []string{"sh", "-c", "rm -rf /"}}, nil, &denied, sandbox.Refused, 126},
		{"guard although unparsed is allowed", Options{AllowUnparsed: true}, Request{Text: "rm -rf /\necho 'x"}, nil, &denied, sandbox.Refused, 126},
		{"unparsed", Options{}, Request{Text: "echo 'x"}, nil, &unparsed, sandbox.Refused, 126},
		{"unparsed shell in argv", Options{}, Request{Argv: []string{"sh", "-c", "echo 'x"}}, nil, &unparsed, sandbox.Refused, 126},
		{"too long to be read", Options{}, Request{Text: strings.Repeat("echo a\n", 300_000)}, nil, &unparsed, sandbox.Refused, 126},
		{"too deep to be read", Options{}, Request{Text: strings.Repeat("(", 2000) + "ls" + strings.Repeat(")", 2000)}, nil, &unparsed, sandbox.Refused, 126},
		{"workspace", Options{}, Request{Text: "ls", Workspace: "/"}, nil, &workspace, sandbox.NotStarted, 125},
		{"no command", Options{}, Request{}, nil, &request, sandbox.NotStarted, 125},
		{"two commands", Options{}, Request{Text: "ls", Argv: []string{"ls"}}, nil, &request, sandbox.NotStarted, 125},
		{"missing path", Options{Write: []string{"/nonexistent/x"}}, Request{Text: "ls"}, nil, &path, sandbox.NotStarted, 125},
		{"directory outside", Options{}, Request{Text: "ls", Dir: "/etc"}, nil, &path, sandbox.NotStarted, 125},
		{"gap", Options{}, Request{Text: "ls"}, gaps, &gap, sandbox.NotStarted, 125},
	} {
		e, b := fakeEngine(t, tc.o)
		b.gaps = tc.gaps
		if tc.req.Workspace == "" {
			tc.req.Workspace = t.TempDir()
		}
		r, err := e.Run(context.Background(), tc.req)
		if !errors.As(err, tc.as) || strings.ContainsAny(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line of another kind", tc.name, err)
		}
		if r.Ending != tc.ending || r.ExitCode != tc.code || r.Error == "" {
			t.Errorf("%s: %+v", tc.name, r)
		}
		if _, perr := e.Plan(context.Background(), tc.req); !errors.As(perr, tc.as) {
			t.Errorf("%s: Plan says %v", tc.name, perr)
		}
		if len(b.ran) > 0 {
			t.Errorf("%s: %q ran", tc.name, b.ran[0].Argv)
		}
	}
}

func TestAllowances(t *testing.T) {
	r, b, err := runFake(t, Options{AllowUnparsed: true}, Request{Text: "echo 'x"})
	if err != nil || len(b.ran) != 1 || r.Unread == "" || !slices.Contains(r.Tags, "unknown") {
		t.Errorf("unparsed text that is allowed: %+v, %v", r, err)
	}
	e, b := fakeEngine(t, Options{AcceptGaps: []sandbox.Control{sandbox.WritesConfined}})
	b.gaps = []sandbox.Gap{{Control: sandbox.WritesConfined, Why: "no"}, {Control: sandbox.Terminals, Why: "no"}}
	ws := t.TempDir()
	r, err = e.Run(context.Background(), Request{Text: "ls", Workspace: ws})
	if err != nil || !r.NewGaps || len(r.Gaps) != 2 {
		t.Errorf("accepted gap: %+v, %v", r, err)
	}
	if r, _ = e.Run(context.Background(), Request{Text: "ls", Workspace: ws}); r.NewGaps {
		t.Error("the same gaps are new a second time")
	}
}

// What was read is what runs, under the shell it was read for.
func TestWhatRuns(t *testing.T) {
	for _, tc := range []struct {
		req  Request
		want []string
	}{
		{Request{Text: "echo $((1+1))\n"}, []string{"bash", "-c", "--", "echo $((1+1))\n"}},
		{Request{Text: "-x"}, []string{"bash", "-c", "--", "-x"}},
		{Request{Text: "ls", Dialect: shell.POSIX}, []string{"sh", "-c", "--", "ls"}},
		{Request{Text: "ls", Dialect: shell.Sh}, []string{"sh", "-c", "--", "ls"}},
		{Request{Text: "ls", Dialect: shell.Zsh}, []string{"zsh", "-c", "--", "ls"}},
		{Request{Argv: []string{"a b", "", "-c", "\xff"}}, []string{"a b", "", "-c", "\xff"}},
	} {
		_, b, err := runFake(t, Options{}, tc.req)
		if err != nil || len(b.ran) != 1 || !reflect.DeepEqual(b.ran[0].Argv, tc.want) {
			t.Errorf("%+v: %v", tc.req, err)
		}
	}
}

func TestEnvironmentOfRun(t *testing.T) {
	home := t.TempDir()
	o := Options{Environ: []string{"HOME=" + home, "PATH=/bin", "GITHUB_TOKEN=tok", "API_KEY=key", "LD_PRELOAD=/x.so", "PLAIN=yes", "PEPE_SANDBOX_CWD=/x"}}
	r, b, err := runFake(t, o, Request{Text: "ls", Keep: []string{"API_KEY"}, Env: []string{"GITHUB_TOKEN=given", "MORE=1"}})
	must(t, err)
	env := environ(b.ran[0].Env)
	for name, want := range map[string]string{"PLAIN": "yes", "API_KEY": "key", "GITHUB_TOKEN": "given", "MORE": "1", "LD_PRELOAD": "", "PEPE_SANDBOX_CWD": "", "PWD": b.ran[0].Dir} {
		if got := env.get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"GITHUB_TOKEN", "LD_PRELOAD"} {
		if !slices.Contains(r.Removed, name) {
			t.Errorf("%s is not among the removed: %q", name, r.Removed)
		}
	}
	if text, _ := json.Marshal(r); strings.Contains(string(text), "tok\"") || strings.Contains(string(text), "/x.so") {
		t.Errorf("the result holds a removed value: %s", text)
	}
}

func TestProfileOfRun(t *testing.T) {
	dir := realPath(t.TempDir())
	link := filepath.Join(dir, "link")
	must(t, os.Mkdir(filepath.Join(dir, "real"), 0o755), os.Symlink("real", link))
	_, b, err := runFake(t, Options{Write: []string{link}, Network: sandbox.NetworkHost, AllowUnix: true}, Request{Text: "ls"})
	must(t, err)
	p := b.opened[0]
	if !slices.Equal(p.Write, []string{filepath.Join(dir, "real")}) || p.Network != sandbox.NetworkHost || !p.UnixAllow || p.Supervisor || p.Private.Temp == "" {
		t.Errorf("%+v", p)
	}
	_, _, err = runFake(t, Options{Write: []string{filepath.Dir(dir)}, Environ: []string{"HOME=" + dir}}, Request{Text: "ls"})
	var refused *PathError
	if !errors.As(err, &refused) {
		t.Errorf("a path that holds sbx's configuration may be written: %v", err)
	}
}

func TestRuntimeScript(t *testing.T) {
	temp, outside := realPath(t.TempDir()), realPath(t.TempDir())
	file := func(dir, name string) string {
		f := filepath.Join(dir, name)
		must(t, os.WriteFile(f, nil, 0o600))
		return f
	}
	script, elsewhere, twice := file(temp, "pepe_script_1.py"), file(outside, "x.py"), file(temp, "twice.py")
	must(t, os.Link(twice, filepath.Join(temp, "second")), os.Symlink(elsewhere, filepath.Join(temp, "link.py")), os.Mkdir(filepath.Join(temp, "d"), 0o755))
	uid := callerUID()
	for _, tc := range []struct {
		argv []string
		uid  uint32
		want string
	}{
		{[]string{"python3", script}, uid, script},
		{[]string{"/usr/bin/python3", script, "a"}, uid, script},
		{[]string{"cat", script}, uid, ""},
		{[]string{"python3"}, uid, ""},
		{[]string{"python3", "-c", script}, uid, ""},
		{[]string{"python3", elsewhere}, uid, ""},
		{[]string{"python3", twice}, uid, ""},
		{[]string{"python3", filepath.Join(temp, "link.py")}, uid, ""},
		{[]string{"python3", filepath.Join(temp, "d")}, uid, ""},
		{[]string{"python3", filepath.Join(temp, "gone.py")}, uid, ""},
		{[]string{"python3", script}, uid + 1, ""},
	} {
		if got := runtimeScript(tc.argv, tc.uid, []string{temp}); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.argv, got, tc.want)
		}
	}
}

// The names on the wire do not change by accident.
func TestResultJSON(t *testing.T) {
	r, _, err := runFake(t, Options{}, Request{Text: "ls"})
	must(t, err)
	text, err := json.Marshal(r)
	must(t, err)
	var fields map[string]any
	must(t, json.Unmarshal(text, &fields))
	var names []string
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{
		"backend", "ending", "enforced", "exit_code", "findings", "guard", "id", "network", "peak_memory_bytes", "programs", "removed_env", "required",
		"sbx_version", "schema", "started", "system_ns", "tags", "trust", "user_ns", "wall_ns", "workspace",
	}
	if !slices.Equal(names, want) {
		t.Errorf("fields are\n%q, want\n%q", names, want)
	}
	for _, name := range []string{"enforced", "removed_env", "tags", "required"} {
		if fields[name] == nil {
			t.Errorf("%s is null, want a list", name)
		}
	}
}

func TestUnknownBackend(t *testing.T) {
	if _, err := New(Options{Backend: "nope"}); !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "direct") {
		t.Errorf("%v", err)
	}
	e, err := New(Options{})
	must(t, err)
	if e.backend.Name() != Auto {
		t.Errorf("the default backend is %s", e.backend.Name())
	}
	e, err = New(Options{Order: []string{"docker"}})
	must(t, err)
	if e.backend.Name() != "docker" {
		t.Errorf("an order of one is a choice of %s", e.backend.Name())
	}
	if _, err := New(Options{Order: []string{"docker", "nope"}}); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("an unknown name in an order: %v", err)
	}
}
