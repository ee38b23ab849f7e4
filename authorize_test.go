package sbx

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/permit"
	"github.com/sbx-run/sbx/sandbox"
)

// answering counts the questions and gives one answer.
type answering struct {
	d     permit.Decision
	asked []Question
	while func()
}

func (a *answering) ask(_ context.Context, q Question) (permit.Reply, error) {
	a.asked = append(a.asked, q)
	if a.while != nil {
		a.while()
	}
	return permit.Reply{Decision: a.d, By: "ann"}, nil
}

func gated(t *testing.T, g *permit.Gate) (*Engine, *fakeBackend, string) {
	t.Helper()
	ws := filepath.Join(t.TempDir(), "ws")
	if err := os.Mkdir(ws, 0o755); err != nil {
		t.Fatal(err)
	}
	audit := filepath.Join(filepath.Dir(ws), "audit")
	e, b := fakeEngine(t, Options{Workspace: ws, Gate: g, Audit: audit})
	return e, b, ws
}

func TestGateInTheEngine(t *testing.T) {
	e, b, ws := gated(t, &permit.Gate{Sessions: &permit.Sessions{}})
	a := &answering{d: permit.Session}
	request := func(text string) Request {
		return Request{Text: text, Caller: permit.Caller{Agent: "x", Session: "s"}, Authorize: a.ask}
	}
	for _, text := range []string{"ls", "rm -rf build", "rm -rf dist"} {
		if _, err := e.Run(t.Context(), request(text)); err != nil {
			t.Fatal(text, err)
		}
	}
	if len(b.ran) != 3 || len(a.asked) != 1 || len(a.asked[0].Report.Findings) == 0 || a.asked[0].Workspace != ws {
		t.Fatalf("ran %d, asked %+v", len(b.ran), a.asked)
	}
	// Argument vectors too.
	if _, err := e.Run(t.Context(), Request{Argv: []string{"rm", "-r", "a b"}, Caller: permit.Caller{Session: "t"}, Authorize: a.ask}); err != nil {
		t.Fatal(err)
	}
	if got := a.asked[1].Subject; got != "rm -r 'a b'" {
		t.Errorf("the question shows %q", got)
	}
	result, err := e.Run(t.Context(), Request{Text: "rm -rf build"})
	var refused *permit.RefusedError
	if !errors.As(err, &refused) || result.Ending != sandbox.Refused || result.ExitCode != 126 || result.Permission.Why != permit.ByNobody || len(b.ran) != 4 {
		t.Errorf("unattended: %v, %+v", err, result.Permission)
	}
	// What guard refuses is not asked about.
	if _, err := e.Run(t.Context(), request("rm -rf /")); err == nil || errors.As(err, &refused) && len(a.asked) != 2 {
		t.Errorf("guard: %v, asked %d", err, len(a.asked))
	}
}

func TestPlanAsksNobody(t *testing.T) {
	e, _, _ := gated(t, &permit.Gate{})
	a := &answering{d: permit.Once}
	plan, err := e.Plan(t.Context(), Request{Text: "rm -rf build", Authorize: a.ask})
	if err != nil || len(a.asked) != 0 || plan.Record.Permission.Verdict != "ask" {
		t.Errorf("%v, asked %d, %+v", err, len(a.asked), plan.Record.Permission)
	}
	if _, err := e.Plan(t.Context(), Request{Text: "rm -rf build"}); err == nil {
		t.Error("a plan for a command that nobody can permit")
	}
}

// The audit line has the decision and who took it, and no word of the command.
func TestGateInTheAudit(t *testing.T) {
	e, _, ws := gated(t, &permit.Gate{})
	a := &answering{d: permit.Once}
	_, _ = e.Run(t.Context(), Request{Text: "rm -rf hunter2", Authorize: a.ask})
	a.d = permit.Deny
	_, _ = e.Run(t.Context(), Request{Text: "rm -rf hunter2", Authorize: a.ask})
	text, err := os.ReadFile(filepath.Join(filepath.Dir(ws), "audit"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 2 || strings.Contains(string(text), "hunter2") {
		t.Fatalf("%s", text)
	}
	for i, want := range []string{"once", "deny"} {
		var line struct{ Permission permit.Passage }
		if err := json.Unmarshal([]byte(lines[i]), &line); err != nil || line.Permission.Decision != want || line.Permission.By != "ann" {
			t.Errorf("%v, %s", err, lines[i])
		}
	}
}

// A script that is exchanged while a person reads it does not run.
func TestScriptChangedMeanwhile(t *testing.T) {
	e, b, ws := gated(t, &permit.Gate{})
	script := filepath.Join(ws, "x.sh")
	write := func(text string) {
		if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("rm a\n")
	a := &answering{d: permit.Once}
	if _, err := e.Run(t.Context(), Request{Text: "sh x.sh", Authorize: a.ask}); err != nil || len(b.ran) != 1 || !slices.Equal(a.asked[0].Risks, []string{"deletes"}) {
		t.Fatalf("%v, ran %d, %+v", err, len(b.ran), a.asked)
	}
	a.while = func() { write("rm -rf .\n") }
	_, err := e.Run(t.Context(), Request{Text: "sh x.sh", Authorize: a.ask})
	var changed *ChangedError
	if !errors.As(err, &changed) || len(b.ran) != 1 {
		t.Errorf("%v, ran %d", err, len(b.ran))
	}
}

// Policies see what a script runs.
func TestPolicyOnAScript(t *testing.T) {
	rules, err := permit.Load([]permit.Rule{{Name: "p", Argv: []string{"git", "push"}, Verdict: "deny", Because: "by hand"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e, b, ws := gated(t, &permit.Gate{Open: true, Policies: rules})
	if err := os.WriteFile(filepath.Join(ws, "x.sh"), []byte("git push\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"git push", "sh x.sh"} {
		if _, err := e.Run(t.Context(), Request{Text: text}); err == nil || !strings.Contains(err.Error(), "by hand") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := e.Run(t.Context(), Request{Text: "git pull"}); err != nil || len(b.ran) != 1 {
		t.Errorf("%v, ran %d", err, len(b.ran))
	}
}

func TestRunsShareTaint(t *testing.T) {
	e, _, _ := gated(t, &permit.Gate{Open: true, Policies: nil})
	ctx, run := permit.Begin(t.Context(), false)
	if _, err := e.Run(ctx, Request{Text: "rm x"}); err != nil {
		t.Fatal(err)
	}
	run.Taint()
	_, err := e.Run(ctx, Request{Text: "rm x"})
	var refused *permit.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "content from outside") {
		t.Errorf("tainted: %v", err)
	}
	run.End()
}
