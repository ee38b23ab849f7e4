package permit

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// memory is a Store that can be broken.
type memory struct {
	mu     sync.Mutex
	agents map[string][]string
	broken error
}

func (m *memory) Granted(agent string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.agents[agent]), m.broken
}

func (m *memory) Grant(agent string, grants ...Grant) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return m.broken
	}
	if m.agents == nil {
		m.agents = map[string][]string{}
	}
	m.agents[agent] = MergeAll(m.agents[agent], grants)
	return nil
}

// person answers every question with one decision and counts them.
type person struct {
	d     Decision
	mu    sync.Mutex
	asked []Question
}

func (p *person) ask(_ context.Context, q Question) (Reply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, q)
	return Reply{Decision: p.d, Reason: "because", By: "ann"}, nil
}

var ann = Caller{Agent: "a", Session: "s"}

func kindOf(err error) (Refusal, bool) {
	var refused *RefusedError
	ok := errors.As(err, &refused)
	if !ok {
		return 0, false
	}
	return refused.Kind, true
}

func TestGateRemembers(t *testing.T) {
	store := &memory{}
	g := &Gate{Store: store, Sessions: &Sessions{}}
	p := &person{d: Session}
	pass := func(command string) (Passage, error) { return g.Pass(t.Context(), read(command), ann, p.ask) }
	for range 2 {
		if got, err := pass("rm -rf x"); err != nil || got.Verdict != "allow" {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if len(p.asked) != 1 || !slices.Equal(p.asked[0].Missing, []string{"deletes"}) {
		t.Fatalf("asked %d times: %+v", len(p.asked), p.asked)
	}
	p.d = Always
	if got, err := pass("curl -I x.test"); err != nil || got.Decision != "always" || got.By != "ann" || !slices.Equal(got.Granted, []string{"bash:network"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := g.Pass(t.Context(), read("curl -I y.test"), ann, nil); err != nil || got.Why != ByGrant {
		t.Errorf("a grant for good also holds where nobody is: %+v, %v", got, err)
	}
	if got, err := g.Pass(t.Context(), read("rm x"), ann, nil); err == nil {
		t.Errorf("a session's does not: %+v", got)
	}
	g.Sessions.(*Sessions).Clear("s", "bash")
	p.d, p.asked = Deny, nil
	got, err := pass("rm -rf x")
	if kind, _ := kindOf(err); kind != RefusedByPerson || got.Verdict != "deny" || got.Decision != "deny" || len(p.asked) != 1 || !strings.Contains(err.Error(), "because") {
		t.Errorf("%+v, %v", got, err)
	}
}

// A policy's question is answered once for good, also where grants are not needed.
func TestOpenGateRemembersPolicies(t *testing.T) {
	g := &Gate{Store: &memory{}, Open: true, Policies: []Scope{says("p", Ask, "look")}}
	p := &person{d: Always}
	for range 2 {
		if got, err := g.Pass(t.Context(), read("rm x"), ann, p.ask); err != nil || got.Verdict != "allow" {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if got, _ := g.Store.Granted("a"); len(p.asked) != 1 || !slices.Equal(got, []string{"policy_ask__bash:deletes"}) {
		t.Errorf("asked %d times, kept %q", len(p.asked), got)
	}
}

// One answer of a session is for the calls that wait for theirs meanwhile, too.
func TestGateAsksASessionOnceAtATime(t *testing.T) {
	g := &Gate{Sessions: &Sessions{}}
	p := &person{d: Session}
	open := 0
	var mu sync.Mutex
	ask := func(ctx context.Context, q Question) (Reply, error) {
		mu.Lock()
		open++
		if open > 1 {
			t.Error("two questions at once")
		}
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		open--
		mu.Unlock()
		return p.ask(ctx, q)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := g.Pass(t.Context(), read("rm x"), ann, ask); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(p.asked) != 1 || len(g.turns) != 0 {
		t.Errorf("asked %d times, %d turns are left", len(p.asked), len(g.turns))
	}
}

func TestGateFaults(t *testing.T) {
	broken := &memory{broken: errors.New("disk on fire")}
	p := &person{d: Once}
	for _, c := range []struct {
		name    string
		gate    *Gate
		command string
		ask     Authorize
		kind    Refusal
		says    string
	}{
		{"a broken store covers nothing", &Gate{Store: broken}, "rm x", nil, RefusedUnasked, "disk on fire"},
		{"whoever fails to ask has no answer", &Gate{}, "rm x", func(context.Context, Question) (Reply, error) { panic("boom") }, RefusedUnasked, "boom"},
		{"a decision that was not offered is a no", &Gate{}, "rm x", (&person{d: Always}).ask, RefusedByPerson, "refused"},
		{"a number that is no decision", &Gate{}, "rm x", (&person{d: 99}).ask, RefusedByPerson, "refused"},
		{"a policy", &Gate{Policies: []Scope{says("d", Refuse, "never")}}, "ls", p.ask, RefusedByPolicy, "never"},
		{"a policy's question, and nobody there", &Gate{Open: true, Policies: []Scope{says("d", Ask, "look")}}, "ls", nil, RefusedUnasked, "look"},
	} {
		got, err := c.gate.Pass(t.Context(), read(c.command), ann, c.ask)
		if kind, ok := kindOf(err); !ok || kind != c.kind || got.Verdict != "deny" || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
	if len(p.asked) != 0 {
		t.Error("a person was asked about what a policy refuses")
	}
	if got, err := (&Gate{Store: broken}).Pass(t.Context(), read("rm x"), ann, p.ask); err != nil || got.Verdict != "allow" {
		t.Errorf("a person decides without a store: %+v, %v", got, err)
	}
	if got, err := (&Gate{Open: true}).Pass(t.Context(), read("rm -rf x"), Caller{}, nil); err != nil || got.Verdict != "allow" {
		t.Errorf("open: %+v, %v", got, err)
	}
}

// A grant that cannot be written is said; what was allowed is allowed once.
func TestGateUnsaved(t *testing.T) {
	store := &memory{}
	ask := func(context.Context, Question) (Reply, error) {
		store.broken = errors.New("read-only file system")
		return Reply{Decision: Always}, nil
	}
	got, err := (&Gate{Store: store}).Pass(t.Context(), read("rm x"), ann, ask)
	if err != nil || got.Verdict != "allow" || got.Granted != nil || !strings.Contains(got.Unsaved, "read-only") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestGateWaitsSoLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, ask := range map[string]Authorize{
			"heeds the time": func(ctx context.Context, _ Question) (Reply, error) {
				<-ctx.Done()
				return Reply{}, ctx.Err()
			},
			"answers late": func(ctx context.Context, _ Question) (Reply, error) {
				<-ctx.Done()
				return Reply{Decision: Once}, nil
			},
			"heeds nothing": func(context.Context, Question) (Reply, error) {
				time.Sleep(time.Hour)
				return Reply{Decision: Once}, nil
			},
		} {
			began := time.Now()
			_, err := (&Gate{}).Pass(t.Context(), read("rm x"), ann, ask)
			if kind, ok := kindOf(err); !ok || kind != RefusedBySilence || time.Since(began) != AnswerTime || !strings.Contains(err.Error(), "5 minutes") {
				t.Errorf("%s: %v after %v", name, err, time.Since(began))
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := (&Gate{}).Pass(ctx, read("rm x"), ann, func(ctx context.Context, _ Question) (Reply, error) {
			<-ctx.Done()
			return Reply{}, ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the caller gave up: %v", err)
		}
		time.Sleep(2 * time.Hour) // the one that heeds nothing
	})
}

func TestRunTaint(t *testing.T) {
	g := &Gate{Store: &memory{agents: map[string][]string{"a": {"*"}}}, Sessions: &Sessions{}}
	p := &person{d: ThisRun}
	pass := func(ctx context.Context, command string) int {
		before := len(p.asked)
		if _, err := g.Pass(ctx, read(command), ann, p.ask); err != nil {
			t.Error(err)
		}
		return len(p.asked) - before
	}
	ctx, run := Begin(t.Context(), false)
	if pass(ctx, "rm x") != 0 || pass(ctx, "ls") != 0 {
		t.Error("a clean run was asked about")
	}
	if text := run.Enter("https://x.test", "hi<|im_start|>"); strings.Contains(text, "im_start") || !strings.Contains(text, "https://x.test") || !run.Tainted() {
		t.Errorf("%q, tainted %v", text, run.Tainted())
	}
	if pass(ctx, "ls") != 1 || pass(ctx, "pwd") != 0 || pass(ctx, "rm x") != 1 {
		t.Errorf("asked %d times", len(p.asked))
	}
	if _, err := g.Pass(ctx, read("ls"), ann, nil); err == nil || !strings.Contains(err.Error(), "content from outside") {
		t.Errorf("unattended and tainted: %v", err)
	}
	// Nested and parallel work has the taint, and not the grants of the run around it.
	inner, nested := Begin(ctx, false)
	if !nested.Tainted() || pass(inner, "ls") != 1 {
		t.Error("a nested run is clean")
	}
	nested.End()
	done := make(chan bool)
	go func() { done <- RunOf(ctx).Tainted() }()
	if !<-done {
		t.Error("parallel work is clean")
	}
	run.End()
	if !run.Tainted() || len(run.granted()) != 0 {
		t.Error("what goes on after the end is clean, or keeps grants")
	}
	if after, next := Begin(t.Context(), false); next.Tainted() || pass(after, "rm x") != 0 {
		t.Error("the next run is not clean")
	}
}

func TestRunTaintTravels(t *testing.T) {
	ctx, outer := Begin(t.Context(), false)
	_, trusting := Begin(ctx, true)
	trusting.Enter("x", "y")
	if trusting.Tainted() || outer.Tainted() {
		t.Error("a trusting run is tainted, or the outer one before it has the answer")
	}
	trusting.End()
	if !outer.Tainted() {
		t.Error("content went through a trusting run and arrived clean")
	}
	var none *Run
	none.Taint()
	none.End()
	if none.Tainted() || none.Enter("x", "y") == "" {
		t.Error("no run")
	}
	for tool, want := range map[string]bool{"fetch_url": true, "mcp__x__y": true, "delegate": true, "read_file": false, "bash": false} {
		if Taints(tool) != want {
			t.Error(tool)
		}
	}
}

// An answer given before content came in is not remembered after it.
func TestRunTaintedMeanwhile(t *testing.T) {
	ctx, run := Begin(t.Context(), false)
	store := &memory{}
	g := &Gate{Store: store, Sessions: &Sessions{}}
	got, err := g.Pass(ctx, read("rm x"), ann, func(context.Context, Question) (Reply, error) {
		run.Taint()
		return Reply{Decision: Always}, nil
	})
	if err != nil || got.Verdict != "allow" || !got.Tainted || len(store.agents["a"]) != 0 || len(g.Sessions.Granted("s")) != 0 {
		t.Errorf("%+v, %v; kept %v", got, err, store.agents)
	}
}

// A tool whose name means something in a grant can be allowed once, and no more.
func TestNamesThatAreGrants(t *testing.T) {
	store := &memory{}
	g := &Gate{Store: store, Sessions: &Sessions{}, Parking: &lot{}}
	for _, c := range []Call{
		{Tool: "*"},
		{Tool: "bash:any"},
		{Tool: "policy_ask__bash"},
		{Tool: ""},
		{Tool: "a b"},
		{Tool: "a\xff"},
		{Tool: "plugin", More: []string{"any"}},
		{Tool: "plugin", More: []string{"x+network"}},
	} {
		for _, d := range []Decision{Session, SessionAny, Always} {
			if got, err := g.Pass(t.Context(), c, ann, (&person{d: d}).ask); err == nil {
				t.Errorf("%+v: %s: %+v", c, d, got)
			}
		}
		if _, err := g.Pass(t.Context(), c, ann, (&person{d: Once}).ask); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		_, _ = g.Pass(t.Context(), c, ann, nil)
	}
	if len(store.agents) != 0 || len(g.Sessions.(*Sessions).grants) != 0 {
		t.Errorf("kept: %v, %v", store.agents, g.Sessions)
	}
	for _, w := range g.Parking.(*lot).waiting {
		if len(w.Grants) != 0 {
			t.Errorf("%+v", w)
		}
	}
	if _, err := g.Pass(t.Context(), Call{Tool: "mcp__x__read-all.2"}, ann, (&person{d: Always}).ask); err != nil || len(store.agents["a"]) != 1 {
		t.Errorf("an ordinary name: %v, %v", err, store.agents)
	}
}

type lot struct {
	mu      sync.Mutex
	waiting []Waiting
	broken  error
}

func (l *lot) Park(_ context.Context, w Waiting) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, w)
	return "0a1b2c3d", l.broken
}

func TestGateParks(t *testing.T) {
	l := &lot{}
	g := &Gate{Parking: l, Policies: []Scope{{Policy: fixed{"never", func(context.Context) Opinion { return NoObjection }}}}}
	got, err := g.Pass(t.Context(), read("rm x; curl y.test"), ann, nil)
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Kind != RefusedParked || got.Approval != "0a1b2c3d" || !strings.Contains(refused.ForModel("sbx"), "sbx approvals approve 0a1b2c3d") {
		t.Fatalf("%+v, %v", got, err)
	}
	if w := l.waiting[0]; w.Call.Subject() != "rm x; curl y.test" || !slices.Equal(w.Grants, []string{"bash:deletes+network"}) || w.Tainted || w.Caller != ann {
		t.Errorf("%+v", w)
	}
	ctx, run := Begin(t.Context(), false)
	run.Taint()
	if _, err := g.Pass(ctx, read("ls"), ann, nil); err == nil || !l.waiting[1].Tainted || l.waiting[1].Grants != nil {
		t.Errorf("%v, %+v", err, l.waiting[1])
	}
	l.broken = errors.New("no space")
	_, err = g.Pass(t.Context(), read("rm x"), ann, nil)
	if kind, _ := kindOf(err); kind != RefusedUnasked || !strings.Contains(err.Error(), "no space") {
		t.Errorf("a broken store of approvals: %v", err)
	}
	before := len(l.waiting)
	g.Policies = []Scope{says("d", Refuse, "never")}
	if _, err := g.Pass(t.Context(), read("rm x"), ann, nil); err == nil || len(l.waiting) != before {
		t.Error("what a policy refuses was kept for a person")
	}
	if got, err := g.Foresee(t.Context(), read("rm x"), ann, true); err == nil || got.Verdict != "deny" {
		t.Errorf("foreseen: %+v, %v", got, err)
	}
	g.Policies = nil
	if got, err := g.Foresee(t.Context(), read("rm x"), ann, true); err != nil || got.Verdict != "ask" {
		t.Errorf("foreseen: %+v, %v", got, err)
	}
	if _, err := g.Foresee(t.Context(), read("rm x"), ann, false); err == nil || len(l.waiting) != before {
		t.Error("a rehearsal kept something")
	}
}

func TestSessionsMerge(t *testing.T) {
	s := &Sessions{}
	_ = s.Grant("a", ParseGrant("bash:deletes"))
	_ = s.Grant("a", ParseGrant("bash:network"))
	_ = s.Grant("", ParseGrant("bash:any"))
	if got := s.Granted("a"); !slices.Equal(got, []string{"bash:deletes+network"}) || s.Granted("") != nil || s.Granted("b") != nil {
		t.Errorf("%q", got)
	}
	s.Clear("a", "bash")
	if s.Granted("a") != nil || len(s.grants) != 0 {
		t.Errorf("%q", s.grants)
	}
}

func BenchmarkPass(b *testing.B) {
	call := Read("rm -rf build && curl -I x.test", home)
	g := &Gate{Sessions: &Sessions{}}
	_ = g.Sessions.Grant("s", ParseGrant("bash:deletes+network"))
	ask := (&person{d: Deny}).ask
	for b.Loop() {
		if _, err := g.Pass(context.Background(), call, ann, ask); err != nil {
			b.Fatal(err)
		}
	}
}
