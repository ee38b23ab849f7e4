package permit

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOnlyTheSixWordsAreDecisions(t *testing.T) {
	for _, d := range []Decision{Deny, Once, ThisRun, Session, SessionAny, Always} {
		if got := ParseDecision(d.String()); got != d {
			t.Errorf("%s reads as %s", d, got)
		}
	}
	for _, text := range []string{"", "garbage", "always;rm -rf", "Always", "always ", "yes", "session_bypass", "\x00"} {
		if got := ParseDecision(text); got != Deny {
			t.Errorf("%q reads as %s", text, got)
		}
	}
}

// attended is a session's answers and grants, as a store at the edge keeps them.
type attended struct {
	always, session, run []string
	asked                int
}

// try runs one call through the gate, answering every question with d.
func (a *attended) try(c Call, tainted bool, policy Opinion, session string, d Decision) Verdict {
	answer := Decide(c, Context{
		Session: session, Attended: true, KeepsAlways: true, KeepsSession: true, KeepsRun: true, Tainted: tainted, Policy: policy, Always: a.always, InSession: a.session, InRun: a.run,
	})
	if answer.Verdict != Ask {
		return answer.Verdict
	}
	a.asked++
	m := answer.Remember(d)
	for _, g := range m.Run {
		a.run = Merge(a.run, g)
	}
	for _, g := range m.Session {
		a.session = Merge(a.session, g)
	}
	for _, g := range m.Always {
		a.always = Merge(a.always, g)
	}
	if d == Deny || !answer.Prompt.Offered(d) {
		return Refuse
	}
	return Allow
}

func TestWhatADecisionCovers(t *testing.T) {
	remove, both, list := Read("rm -rf x", home), Read("rm -rf x && curl evil.test", home), Read("ls", home)
	write := Call{Tool: "write_file", Args: map[string]any{"path": "a"}}
	for _, c := range []struct {
		name            string
		d               Decision
		tainted         bool
		noSession       bool
		policy          Opinion
		calls           []Call
		asked           int
		always, session []string
		run             []string
	}{
		{name: "once is once", d: Once, calls: []Call{remove, remove}, asked: 2},
		{name: "no is not remembered", d: Deny, calls: []Call{remove, remove}, asked: 2},
		{name: "session covers what was seen", d: Session, calls: []Call{remove, remove}, asked: 1, session: []string{"bash:deletes"}},
		{name: "and no more", d: Session, calls: []Call{remove, both, both}, asked: 2, session: []string{"bash:deletes+network"}},
		{name: "session_any covers the tool", d: SessionAny, calls: []Call{remove, both, write}, asked: 2, session: []string{"bash:any", "write_file:any"}},
		{name: "always also covers the run that is going on", d: Always, calls: []Call{remove, remove}, asked: 1, always: []string{"bash:deletes"}, session: []string{"bash:deletes"}},
		{name: "always folds into one entry", d: Always, calls: []Call{Read("sudo ls", home), remove, Read("curl -I x.test", home)}, asked: 3, always: []string{"bash:deletes+elevated+network"}, session: []string{"bash:deletes+elevated+network"}},
		{name: "this_run covers a shape of a tainted run", d: ThisRun, tainted: true, calls: []Call{list, Read("pwd", home), remove}, asked: 2, run: []string{"bash:deletes"}},
		{name: "this_run is not for a clean run", d: ThisRun, calls: []Call{remove, remove}, asked: 2},
		{name: "always is not for a tainted run", d: Always, tainted: true, calls: []Call{remove}, asked: 1},
		{name: "session is not for no session", d: Session, noSession: true, calls: []Call{remove, remove}, asked: 2},
		{
			name: "an answer to a policy is not one about the tool", d: Always, policy: Opinion{Verdict: Ask}, calls: []Call{list, list}, asked: 1,
			always: []string{"policy_ask__bash:none"}, session: []string{"policy_ask__bash:none"},
		},
		{
			name: "but also one where the tool would have asked", d: Always, policy: Opinion{Verdict: Ask}, calls: []Call{Read("sort a > b", home), Read("sort a > b", home)}, asked: 1,
			always: []string{"policy_ask__bash:writes_file", "bash:writes_file"}, session: []string{"policy_ask__bash:writes_file", "bash:writes_file"},
		},
	} {
		a := &attended{}
		session := "s"
		if c.noSession {
			session = ""
		}
		policy := c.policy
		if policy.Verdict == Refuse {
			policy = NoObjection
		}
		for _, call := range c.calls {
			a.try(call, c.tainted, policy, session, c.d)
		}
		if a.asked != c.asked || !slices.Equal(a.always, c.always) || !slices.Equal(a.session, c.session) || !slices.Equal(a.run, c.run) {
			t.Errorf("%s: asked %d times, always %q, session %q, run %q", c.name, a.asked, a.always, a.session, a.run)
		}
	}
}

func TestOptionsMeanSomething(t *testing.T) {
	offered := func(ctx Context) []string {
		ctx.Attended, ctx.Policy = true, NoObjection
		if !ctx.KeepsAlways { // all or none of them
			ctx.KeepsAlways, ctx.KeepsSession, ctx.KeepsRun = true, true, true
		} else {
			ctx.KeepsAlways = false
		}
		var ids []string
		for _, o := range Decide(Read("rm x", home), ctx).Prompt.Options {
			ids = append(ids, o.Decision.String())
		}
		return ids
	}
	for _, c := range []struct {
		ctx  Context
		want []string
	}{
		{Context{Session: "s"}, []string{"once", "session", "session_any", "always", "deny"}},
		{Context{}, []string{"once", "always", "deny"}},
		{Context{Session: "s", Tainted: true}, []string{"once", "this_run", "deny"}},
		{Context{Session: "s", KeepsAlways: true}, []string{"once", "deny"}}, // nothing is kept
		{Context{Session: "s", Tainted: true, KeepsAlways: true}, []string{"once", "deny"}},
	} {
		if got := offered(c.ctx); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q", c.ctx, got)
		}
	}
}

func TestRefusalsForAModel(t *testing.T) {
	for text, want := range map[string]bool{
		Denied("too broad"): true, Denied(""): true, NobodyAsked("nothing covers it"): true, NobodyAnswered(5 * time.Minute): true, Parked("0a1b2c3d", "sbx"): true, PolicyDenied("no"): true,
	} {
		if got := len(text) > 7 && text[:7] == "Error: "; got != want {
			t.Errorf("%q does not begin as an error", text)
		}
	}
	if got := NobodyAnswered(300 * time.Second); !strings.Contains(got, "5 minutes") {
		t.Error(got)
	}
	if got := NobodyAnswered(45 * time.Second); !strings.Contains(got, "45 seconds") {
		t.Error(got)
	}
	if got := NobodyAnswered(time.Minute); !strings.Contains(got, "1 minute)") {
		t.Error(got)
	}
	if got := Denied("too broad"); !strings.Contains(got, "(reason: too broad)") || !strings.Contains(got, "typed") {
		t.Error(got)
	}
}

func BenchmarkDecide(b *testing.B) {
	call := Read("rm -rf build && curl -I x.test", home)
	ctx := Context{Session: "s", Attended: true, Policy: NoObjection, Always: []string{"read_file:any", "write_file:writes_file", "bash:deletes"}}
	for b.Loop() {
		Decide(call, ctx)
	}
}
