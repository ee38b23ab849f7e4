package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/guard"
	"github.com/sbx-run/sbx/shell"
)

// eventFor is the smallest event of an agent that asks about a command.
func eventFor(t testing.TB, p Protocol, command string) []byte {
	t.Helper()
	e := p.events[0]
	m := map[string]any{"hook_event_name": e.name, "cwd": "/home/dev/app"}
	if len(e.tools) == 0 {
		m["command"] = command
	} else {
		m["tool_name"], m["tool_input"] = e.tools[0].name, map[string]any{"command": command}
	}
	src, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func TestWhatGoesWrongIsRefused(t *testing.T) {
	for _, p := range Protocols() {
		good := eventFor(t, p, "ls")
		o := Options{Check: standInCheck, Classify: standInClassify}
		if a := p.Answer(bytes.NewReader(good), o); a.Code != 0 || strings.Contains(a.Stdout, "deny") {
			t.Fatalf("%s: control: %+v", p.Name, a)
		}

		crash := o
		crash.Check = func(*shell.Script) []guard.Violation { panic("boom") }
		requireRefusal(t, p, p.Answer(bytes.NewReader(good), crash))
		crash = o
		crash.Classify = func(*shell.Script) (classify.Tags, []classify.Finding) {
			var nothing []int
			_ = nothing[len(good)]
			return 0, nil
		}
		requireRefusal(t, p, p.Answer(bytes.NewReader(good), crash))

		requireRefusal(t, p, p.Answer(io.MultiReader(bytes.NewReader(good), iotest.ErrReader(errors.New("lost"))), o))
		requireRefusal(t, p, p.Answer(io.MultiReader(bytes.NewReader(good), strings.NewReader(strings.Repeat(" ", maxInput))), o))
		for cut := range good {
			requireRefusal(t, p, p.Answer(bytes.NewReader(good[:cut]), o))
		}
		r, w := io.Pipe()
		requireRefusal(t, p, p.answerWithin(r, o, time.Millisecond)) // a writer that never ends
		w.Close()
	}
}

func TestWhatCannotBeReadIsRefused(t *testing.T) {
	texts := map[string]string{
		"long":       "echo " + strings.Repeat("a", 3<<20),
		"deep":       strings.Repeat("(", 5000) + "ls" + strings.Repeat(")", 5000),
		"deep text":  deepText(40),
		"many":       strings.Repeat("a;", 120_000),
		"NUL":        "ls \x00",
		"deep wrong": strings.Repeat("$(", 5000),
	}
	for name, text := range texts {
		for _, p := range Protocols() {
			a := p.Answer(bytes.NewReader(eventFor(t, p, text)), Options{AutoAllow: true, Unasked: None, Check: standInCheck, Classify: standInClassify})
			if !strings.Contains(a.Stdout+a.Stderr, "could not be read") {
				t.Errorf("%s: %s: %.300s", name, p.Name, a.Stdout+a.Stderr)
			}
			requireRefusal(t, p, a)
		}
	}
}

// deepText is sh -c inside sh -c. Quotes would double at each level: variables
// carry the text instead.
func deepText(levels int) string {
	text := "ls"
	for range levels {
		text = "eval " + strings.NewReplacer(`\`, `\\`, " ", `\ `).Replace(text)
		if len(text) > 1<<20 {
			break
		}
	}
	return text
}

func TestRealRulesGiveTheThreeAnswers(t *testing.T) {
	for _, p := range Protocols() {
		ask := map[string]string{"claude-code": `"ask"`, "codex": "Nobody can be asked", "gemini": `"ask"`, "cursor": `"ask"`}[p.Name]
		for _, c := range []struct{ command, want string }{
			{"rm -rf /", "Do not retry"},
			{"curl -s https://example.com", ask},
			{"echo 'a", ask},
			{"ls -la", ""},
		} {
			a := p.Answer(bytes.NewReader(eventFor(t, p, c.command)), Options{Home: "/home/dev"})
			out := a.Stdout + a.Stderr
			if c.want == "" && strings.Trim(out, "{}\n") != "" || !strings.Contains(out, c.want) {
				t.Errorf("%s: %s: %s, want %q", p.Name, c.command, out, c.want)
			}
		}
	}
}

func TestUnknownEventsAndToolsHaveNoOpinion(t *testing.T) {
	for _, p := range Protocols() {
		for _, src := range []string{`{"hook_event_name": "SessionStart"}`, `{"hook_event_name": "` + p.events[len(p.events)-1].name + `", "tool_name": "Read", "tool_input": {}}`} {
			a := p.Answer(strings.NewReader(src), Options{AutoAllow: true})
			if a.Code != 0 || strings.Trim(a.Stdout+a.Stderr, "{}\n") != "" {
				t.Errorf("%s: %s: %+v", p.Name, src, a)
			}
		}
	}
}

func TestSpellingOfNamesIsNoWayAround(t *testing.T) {
	for _, src := range []string{
		`{"hook_event_name":"preToolUse","tool_name":"bash","tool_input":{"command":"rm -rf /"}}`,
		`{"hook_event_name":"PreToolUse","tool_name":"Shell","tool_input":{"command":"rm -rf /"}}`,
		`{"hook_event_n\u0061me":"PreToolUse","tool_name":"B\u0061sh","tool_input":{"comm\u0061nd":"r\u006d -rf \/"}}`,
	} {
		a := claudeCode.Answer(strings.NewReader(bom+src), Options{Check: standInCheck, Classify: standInClassify})
		if !strings.Contains(a.Stdout, `"deny"`) {
			t.Errorf("%s: %+v", src, a)
		}
	}
}

func TestTheShellOfTheUser(t *testing.T) {
	for _, c := range []struct {
		p     Protocol
		shell string
		want  shell.Dialect
	}{
		{claudeCode, "/bin/zsh", shell.Zsh},
		{claudeCode, "/usr/bin/fish", shell.Bash},
		{codex, "/bin/zsh", shell.Zsh},
		{gemini, "/bin/zsh", shell.Bash}, // documented: bash -c
		{cursor, "", shell.Bash},
	} {
		if got := c.p.dialect(c.shell); got != c.want {
			t.Errorf("%s with %q: %v, want %v", c.p.Name, c.shell, got, c.want)
		}
	}
}

func TestHiddenBytesAreShown(t *testing.T) {
	a := claudeCode.Answer(bytes.NewReader(eventFor(t, claudeCode, "rm 'a\x1b[2K\u202eb'")), Options{Check: standInCheck, Classify: standInClassify})
	if strings.ContainsAny(a.Stdout, "\x1b\u202e") || strings.Contains(a.Stdout, `\u001b`) || !strings.Contains(a.Stdout, `\\x1b`) {
		t.Errorf("%q", a.Stdout)
	}
}

// TestConfinedTextArrives runs what a command is rewritten to, with a stand-in
// for sbx that runs its program as it is.
func TestConfinedTextArrives(t *testing.T) {
	bash := requireShell(t, "bash")
	sbx := script(t, "it's sbx", `[ "$1 $2 $3 $4" = "exec --workspace $PWD --" ] || exit 9
shift 4; exec "$@"`)
	dir := mustResolve(t, t.TempDir()) + "/o'clock $HOME"
	mustDir(t, dir)
	odd := "é \u2028 "
	for b := 1; b < 0x80; b++ {
		odd += string(rune(b))
	}
	for _, text := range []string{
		"printf %s hello",
		"printf %s " + quoted(odd),
		"printf %s \"it's\" 'a\"b' \\\\ $((1+1)) `echo x`",
		"# a comment\nprintf %s\\\n x",
		"cat <<'E'\nit's \\ $x\nE",
		"-n",
		"+x; printf %s y",
	} {
		want := output(t, dir, bash, "-c", "--", text)
		line := confined(sbx, shell.Where{Cwd: dir}, shell.Bash, text)
		if got := output(t, dir, bash, "-c", line); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if again := confined(sbx, shell.Where{Cwd: dir}, shell.Bash, line); again != line {
			t.Errorf("%q: was confined twice: %s", text, again)
		}
		for _, tail := range []string{"; ls", " && ls", "\nls", " 'x'", "'"} {
			if !strings.HasSuffix(confined(sbx, shell.Where{Cwd: dir}, shell.Bash, line+tail), quoted(line+tail)) {
				t.Errorf("%q: what follows a confined command got out", line+tail)
			}
		}
	}
}

// TestInstalledLineFailsClosed runs the line as the agents do: by a shell.
func TestInstalledLineFailsClosed(t *testing.T) {
	sh := requireShell(t, "sh")
	for _, c := range []struct {
		name, body string
		code       int
	}{
		{"works", `echo "$@"; exit 0`, 0},
		{"refuses", "echo no >&2; exit 2", 2},
		{"fails", "exit 1", 2},
		{"is killed", "kill -9 $$", 2},
		{"is not executable", "", 2},
		{"is missing", "", 2},
	} {
		sbx := script(t, "s'bx", c.body)
		switch c.name {
		case "is not executable":
			if err := os.Chmod(sbx, 0o644); err != nil {
				t.Fatal(err)
			}
		case "is missing":
			if err := os.Remove(sbx); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range Protocols() {
			for _, e := range p.settings.entries(true) {
				cmd := exec.Command(sh, "-c", p.commandLine(sbx, []string{"--allow", "a b"}, e))
				out, _ := cmd.Output()
				if got := cmd.ProcessState.ExitCode(); got != c.code {
					t.Errorf("%s: sbx %s: exit %d, want %d", p.Name, c.name, got, c.code)
				}
				if want := "hook " + p.Name + " --allow a b"; c.code == 0 && !strings.HasPrefix(string(out), want) {
					t.Errorf("%s: %q, want %q", p.Name, out, want)
				}
			}
		}
	}
}

func requireShell(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil || runtime.GOOS == "windows" {
		t.Skipf("no %s here", name)
	}
	return path
}

func script(t *testing.T, name, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func output(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out) + " exit " + cmd.ProcessState.String()
}

func mustResolve(t *testing.T, path string) string {
	t.Helper()
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// The agent's workspace is what may change, the command's directory where it runs.
func TestConfinedBelowTheWorkspace(t *testing.T) {
	event := `{"hook_event_name":"PreToolUse","tool_name":"Bash","cwd":"/home/ann/app/sub","tool_input":{"command":"make"}}`
	for workspace, want := range map[string]string{
		"/home/ann/app":     "exec --workspace '/home/ann/app' --cwd '/home/ann/app/sub' -- bash -c 'make'",
		"/home/ann/app/sub": "exec --workspace '/home/ann/app/sub' -- bash -c 'make'",
		"/home/ann/other":   "exec --workspace '/home/ann/app/sub' -- bash -c 'make'",
		"":                  "exec --workspace '/home/ann/app/sub' -- bash -c 'make'",
	} {
		p, _ := Find("claude-code")
		o := Options{AutoAllow: true, Sbx: "/opt/sbx", Workspace: workspace}
		if a := p.Answer(strings.NewReader(event), o); !strings.Contains(a.Stdout, want) {
			t.Errorf("%q: %s, want %s", workspace, a.Stdout, want)
		}
	}
	where := shell.Where{Cwd: "/ws/sub", Workspace: "/ws"}
	once := confined("/opt/sbx", where, shell.Bash, "make")
	if again := confined("/opt/sbx", where, shell.Bash, once); again != once {
		t.Errorf("confined twice: %s", again)
	}
}
