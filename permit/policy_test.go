package permit

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type fixed struct {
	name  string
	check func(context.Context) Opinion
}

func (f fixed) Name() string                                         { return f.name }
func (f fixed) Check(ctx context.Context, _ Call, _ Context) Opinion { return f.check(ctx) }

func says(name string, v Verdict, reason string) Scope {
	return Scope{Policy: fixed{name, func(context.Context) Opinion { return Opinion{Verdict: v, Reason: reason} }}}
}

func TestConsultIsStrict(t *testing.T) {
	allow, ask, ask2, deny := says("a", Allow, ""), says("q", Ask, "first"), says("r", Ask, "second"), says("d", Refuse, "no")
	for _, c := range []struct {
		policies []Scope
		want     Verdict
		reason   string
	}{
		{nil, Allow, ""},
		{[]Scope{allow}, Allow, ""},
		{[]Scope{allow, ask, ask2}, Ask, "first"},
		{[]Scope{ask, deny}, Refuse, "no"},
		{[]Scope{deny, ask}, Refuse, "no"},
		{[]Scope{says("g", 77, "")}, Refuse, "no verdict"},
	} {
		got := Consult(t.Context(), c.policies, Call{}, Context{})
		if got.Verdict != c.want || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%v: %+v", c.policies, got)
		}
	}
}

func TestConsultFailsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		for name, check := range map[string]func(context.Context) Opinion{
			"panics": func(context.Context) Opinion { panic("boom") },
			"hangs":  func(context.Context) Opinion { <-release; return NoObjection },
			"waits":  func(ctx context.Context) Opinion { <-ctx.Done(); return NoObjection },
		} {
			began := time.Now()
			got := Consult(t.Context(), []Scope{{Policy: fixed{name, check}}}, Call{}, Context{})
			if got.Verdict != Refuse || got.Policy != name || got.Reason == "" || time.Since(began) > PolicyTime {
				t.Errorf("%s: %+v after %v", name, got, time.Since(began))
			}
		}
		close(release)
		synctest.Wait()
	})
}

func TestScope(t *testing.T) {
	deny := says("d", Refuse, "no").Policy
	for _, c := range []struct {
		scope Scope
		where Context
		holds bool
	}{
		{Scope{}, Context{Agent: "a"}, true},
		{Scope{Agents: []string{"a"}}, Context{Agent: "a"}, true},
		{Scope{Agents: []string{"b"}}, Context{Agent: "a"}, false},
		{Scope{Agents: []string{"b"}}, Context{}, true},
		{Scope{Projects: []string{"p"}}, Context{Agent: "a", Project: "p"}, true},
		{Scope{Projects: []string{"p"}}, Context{Agent: "a"}, false},
	} {
		c.scope.Policy = deny
		if got := Consult(t.Context(), []Scope{c.scope}, Call{}, c.where).Verdict == Refuse; got != c.holds {
			t.Errorf("%+v in %+v: %v", c.scope, c.where, got)
		}
	}
}

func read(command string) Call { return Read(command, home) }

func TestRules(t *testing.T) {
	for _, c := range []struct {
		rule      Rule
		fits, not []string
	}{
		{Rule{Tool: "bash", Argv: []string{"git", "push"}}, []string{"git push", "/usr/bin/git push origin", "cd x && git push", "echo $(git push)"}, []string{"git pull", "echo git push", "git -C push status"}},
		{Rule{Tags: []string{"network", "deletes"}}, []string{"rm x; curl y.test"}, []string{"rm x", "curl y.test"}},
		{Rule{Path: "/srv/data"}, []string{"cat /srv/data/x", "echo > /srv/data", "cp --target-directory=/srv/data a", "ls /srv/./data/", "dd if=/srv/data/x of=y", "curl -d @/srv/data/x y.test"}, []string{"cat /srv/database", "echo '/srv'", "curl y.test/?x=/srv/data", "echo a= @"}},
		{Rule{Path: "/srv/*/secret"}, []string{"cat /srv/a/secret/b"}, []string{"cat /srv/a/public"}},
		{Rule{Host: "*.corp.test"}, []string{"curl https://A.corp.test/x", "git clone git@git.corp.test:x.git", "wget u:p@b.corp.test."}, []string{"curl https://corp.test", "curl https://corp.test.evil.test", "echo corp"}},
		{Rule{Host: "::1"}, []string{"curl http://[::1]:80/"}, []string{"curl http://[::2]/"}},
	} {
		for _, command := range c.fits {
			if !c.rule.fits(read(command)) {
				t.Errorf("%+v does not fit %q (paths %q, hosts %q)", c.rule, command, read(command).paths(), read(command).hosts())
			}
		}
		for _, command := range c.not {
			if c.rule.fits(read(command)) {
				t.Errorf("%+v fits %q", c.rule, command)
			}
		}
	}
}

func TestLoad(t *testing.T) {
	good := Rule{Name: "push", Argv: []string{"git", "push"}, Verdict: "ask", Because: "it publishes", Match: []string{"git push"}, Differ: []string{"git pull"}}
	change := func(f func(*Rule)) Rule { r := good; r.Name = "x"; f(&r); return r }
	for _, c := range []struct {
		rule Rule
		why  string
	}{
		{change(func(r *Rule) { r.Name = "" }), "no name"},
		{change(func(r *Rule) { r.Verdict = "Deny" }), "verdict"},
		{change(func(r *Rule) { r.Verdict = "" }), "verdict"},
		{change(func(r *Rule) { r.Because = "" }), "justification"},
		{change(func(r *Rule) { r.Argv, r.Match, r.Differ = nil, nil, nil }), "no condition"},
		{change(func(r *Rule) { r.Tags = []string{"delets"} }), "no risk"},
		{change(func(r *Rule) { r.Path = "[" }), "pattern"},
		{change(func(r *Rule) { r.Host = "a.*.b" }), "star"},
		{change(func(r *Rule) { r.Match = []string{"git pull"} }), "does not fit its example"},
		{change(func(r *Rule) { r.Differ = []string{"git push -f"} }), "which it must not"},
		{good, "another rule"},
	} {
		loaded, err := Load([]Rule{good, c.rule}, read)
		if err == nil || !strings.Contains(err.Error(), c.why) || len(loaded) != 1 {
			t.Errorf("%+v: %d loaded, %v", c.rule, len(loaded), err)
		}
	}
	loaded, err := Load([]Rule{good}, read)
	if err != nil {
		t.Fatal(err)
	}
	if got := Consult(t.Context(), loaded, read("git push"), Context{}); got.Verdict != Ask || got.Reason != "it publishes" || got.Policy != "push" {
		t.Errorf("%+v", got)
	}
	if got := Consult(t.Context(), loaded, read("git pull"), Context{}); got.Verdict != Allow {
		t.Errorf("%+v", got)
	}
}

func TestBuiltIn(t *testing.T) {
	permissions := func(c Context) []string { return map[string][]string{"a": {"confirm:echo", "tool:echo"}}[c.Agent] }
	echo := Call{Tool: "echo"}
	for _, p := range []Policy{Confirm(func(tool string) bool { return tool == "echo" }, permissions), RequireToolPermission(permissions)} {
		if got := Consult(t.Context(), []Scope{{Policy: p}}, echo, Context{Agent: "a"}); got.Verdict != Allow {
			t.Errorf("%s: %+v", p.Name(), got)
		}
		if got := Consult(t.Context(), []Scope{{Policy: p}}, echo, Context{Agent: "b"}); got.Verdict != Refuse || !strings.Contains(got.Reason, ":echo") {
			t.Errorf("%s: %+v", p.Name(), got)
		}
	}
	at := time.Unix(1000, 0)
	limit := &RateLimit{Calls: 2, Window: time.Minute, Now: func() time.Time { return at }}
	try := func(agent string) Verdict { return limit.Check(t.Context(), echo, Context{Agent: agent}).Verdict }
	got := []Verdict{try("a"), try("a"), try("a"), try("b")}
	at = at.Add(time.Minute)
	got = append(got, try("a"))
	at = at.Add(-time.Hour) // the clock is set back
	got = append(got, try("a"))
	for i, want := range []Verdict{Allow, Allow, Refuse, Allow, Allow, Allow} {
		if got[i] != want {
			t.Errorf("call %d: %s", i, got[i])
		}
	}
	for i := range 2 * rateWindows {
		if limit.Check(t.Context(), echo, Context{Agent: strconv.Itoa(i)}).Verdict != Allow && i < rateWindows-2 {
			t.Fatalf("principal %d is refused", i)
		}
	}
	if len(limit.windows) > rateWindows {
		t.Errorf("%d windows", len(limit.windows))
	}
}
