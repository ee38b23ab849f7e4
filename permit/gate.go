package permit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Store keeps what agents were granted for good. Other processes may use the same.
type Store interface {
	// Granted lists what an agent was granted; "" is whoever names no agent.
	Granted(agent string) ([]string, error)
	// Grant adds to that. Each grant is merged into what is there at that moment,
	// whoever has written it.
	Grant(agent string, grants ...Grant) error
}

// SessionStore keeps what was granted in sessions: see Sessions.
type SessionStore interface {
	Granted(session string) []string
	Grant(session string, grants ...Grant) error
}

// Caller is who wants something done. Empty parts are not known.
type Caller struct {
	Agent, Project string
	// Session is what "in this session" means. Without one that is not offered.
	Session string
}

// Question is what a person is asked.
type Question struct {
	*Prompt
	Call    Call
	Caller  Caller
	Tainted bool
	Wait    time.Duration // after that an answer does not count
}

// Reply is a person's answer.
type Reply struct {
	Decision Decision
	Reason   string // why not; may be empty
	By       string // who answered, for the record
}

// Authorize asks a person. An error says that nobody has answered. It must heed
// ctx, which ends when the time for an answer is over.
type Authorize func(context.Context, Question) (Reply, error)

// Waiting is a call that waits until a person has time for it.
type Waiting struct {
	Call    Call
	Caller  Caller
	Tainted bool
	Why     string   // why it did not run
	Risks   []string // as in a grant
	Grants  []string // what a consent for good would leave behind; none in a tainted run
}

// Parking keeps calls that nobody could be asked about. An error refuses the call.
type Parking interface {
	Park(context.Context, Waiting) (id string, err error)
}

// AnswerTime is how long a question waits for its answer, where a Gate does not
// say otherwise.
const AnswerTime = 5 * time.Minute

// Gate is Decide with what it needs: grants, policies, somebody to ask. The zero
// value knows no grant and no policy. It is safe for concurrent use.
type Gate struct {
	Store    Store        // nil: nothing is granted for good
	Sessions SessionStore // nil: nothing is granted in sessions
	Policies []Scope
	// Open: grants are not needed, the policies alone decide.
	Open bool
	// OneCall: nothing else is done in a run, so that nothing is granted for one.
	OneCall bool
	Parking Parking       // nil: what nobody can be asked about is refused
	Wait    time.Duration // for an answer; 0: AnswerTime

	mu    sync.Mutex
	turns map[Caller]*turn // of sessions with a question
}

// Passage is how a call came through the gate, or not. It prints as JSON.
type Passage struct {
	Verdict  string   `json:"verdict"`            // "allow" or "deny"
	Why      Why      `json:"why"`                // the rule of the gate
	Decision string   `json:"decision,omitempty"` // of a person
	By       string   `json:"by,omitempty"`       // which person
	Granted  []string `json:"granted,omitempty"`  // what the decision left behind
	Tainted  bool     `json:"tainted,omitempty"`
	Approval string   `json:"approval,omitempty"` // the number under which it waits, or waited
	Agent    string   `json:"agent,omitempty"`
	// Unsaved says that a grant could not be kept, and why; the call ran once.
	Unsaved string `json:"unsaved,omitempty"`
}

// Pass decides on a call, and asks where that is due. ask may be nil: nobody can
// be asked. A *RefusedError says that the call may not run.
func (g *Gate) Pass(ctx context.Context, c Call, who Caller, ask Authorize) (Passage, error) {
	run := RunOf(ctx)
	where := g.context(ctx, c, who, ask != nil)
	answer, broken := g.decide(run, c, &where)
	if answer.Verdict == Ask && who.Session != "" {
		done, err := g.turn(ctx, who)
		if err != nil {
			return passage(answer, where), err
		}
		defer done()
		answer, broken = g.decide(run, c, &where) // the one before may have answered this, too
	}
	p := passage(answer, where)
	switch {
	case answer.Verdict == Allow:
		return p, nil
	case answer.Verdict == Ask:
		return g.ask(ctx, run, c, who, where, answer, ask, p)
	case answer.Otherwise == nil:
		return p, &RefusedError{Kind: RefusedByPolicy, Reason: answer.Reason}
	}
	return g.park(ctx, c, who, where, answer, unasked(answer, broken), p)
}

// Foresee says what Pass would do, as far as it does not depend on a person. Its
// verdict may be "ask". Nobody is asked, and nothing is kept.
func (g *Gate) Foresee(ctx context.Context, c Call, who Caller, attended bool) (Passage, error) {
	where := g.context(ctx, c, who, attended)
	answer, broken := g.decide(RunOf(ctx), c, &where)
	p := passage(answer, where)
	switch {
	case answer.Verdict != Refuse:
		return p, nil
	case answer.Otherwise == nil:
		return p, &RefusedError{Kind: RefusedByPolicy, Reason: answer.Reason}
	}
	return p, &RefusedError{Kind: RefusedUnasked, Reason: unasked(answer, broken)}
}

// context is what holds for one call, with what the policies say of it.
func (g *Gate) context(ctx context.Context, c Call, who Caller, attended bool) Context {
	where := Context{Agent: who.Agent, Project: who.Project, Session: who.Session, Attended: attended, Tainted: RunOf(ctx).Tainted()}
	where.Policy = Consult(ctx, g.Policies, c, where)
	return where
}

func passage(a Answer, where Context) Passage {
	return Passage{Verdict: a.Verdict.String(), Why: a.Why, Tainted: where.Tainted, Agent: where.Agent}
}

func unasked(a Answer, broken error) string {
	if broken != nil {
		return a.Reason + " (what was granted could not be read: " + broken.Error() + ")"
	}
	return a.Reason
}

// decide reads what was granted, and decides. Grants that cannot be read cover
// nothing, and none can be added to them.
func (g *Gate) decide(run *Run, c Call, where *Context) (Answer, error) {
	var broken error
	where.Always = nil
	if g.Store != nil {
		where.Always, broken = g.Store.Granted(where.Agent)
	}
	if g.Open {
		where.Always = append(slices.Clone(where.Always), Everything) // beside answers to policies
	}
	where.Tainted = run.Tainted()
	where.InRun, where.InSession = run.granted(), nil
	if g.Sessions != nil && where.Session != "" {
		where.InSession = g.Sessions.Granted(where.Session)
	}
	where.KeepsAlways = g.Store != nil && broken == nil
	where.KeepsSession = g.Sessions != nil
	where.KeepsRun = run != nil && !g.OneCall
	return Decide(c, *where), broken
}

// turn is the right of one call to be asked about.
type turn struct {
	token chan struct{}
	calls int // that have it or wait for it
}

// turn waits until no other call of the session is asked about.
func (g *Gate) turn(ctx context.Context, who Caller) (done func(), err error) {
	g.mu.Lock()
	if g.turns == nil {
		g.turns = map[Caller]*turn{}
	}
	t := g.turns[who]
	if t == nil {
		t = &turn{token: make(chan struct{}, 1)}
		g.turns[who] = t
	}
	t.calls++
	g.mu.Unlock()
	leave := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if t.calls--; t.calls == 0 {
			delete(g.turns, who)
		}
	}
	select {
	case t.token <- struct{}{}:
		return func() { <-t.token; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

func (g *Gate) ask(ctx context.Context, run *Run, c Call, who Caller, where Context, a Answer, ask Authorize, p Passage) (Passage, error) {
	wait := g.Wait
	if wait <= 0 {
		wait = AnswerTime
	}
	p.Verdict = Refuse.String()
	reply, err := answerTo(ctx, ask, Question{Prompt: a.Prompt, Call: c, Caller: who, Tainted: where.Tainted, Wait: wait})
	if err != nil {
		if ctx.Err() != nil { // the caller gave up
			return p, ctx.Err()
		}
		if errors.Is(err, context.DeadlineExceeded) {
			return p, &RefusedError{Kind: RefusedBySilence, After: wait}
		}
		return p, &RefusedError{Kind: RefusedUnasked, Reason: "the question could not be put to a person: " + err.Error()}
	}
	p.By = reply.By
	if reply.Decision == Deny || !a.Prompt.Offered(reply.Decision) {
		p.Decision = Deny.String()
		return p, &RefusedError{Kind: RefusedByPerson, Reason: reply.Reason}
	}
	p.Verdict, p.Decision = Allow.String(), reply.Decision.String()
	if !where.Tainted && run.Tainted() { // an answer about a clean run says nothing of this one's next call
		p.Tainted = true
		return p, nil
	}
	m := a.Remember(reply.Decision)
	run.grant(m.Run)
	if len(m.Session) > 0 && g.Sessions != nil && who.Session != "" { // what is granted for good holds without one, too
		if err := g.Sessions.Grant(who.Session, m.Session...); err != nil && len(m.Always) == 0 {
			p.Unsaved = err.Error()
		}
	}
	for _, grant := range m.Always {
		p.Granted = append(p.Granted, grant.String())
	}
	if len(m.Always) > 0 {
		if err := g.Store.Grant(who.Agent, m.Always...); err != nil {
			p.Granted, p.Unsaved = nil, err.Error()
		}
	}
	return p, nil
}

// answerTo waits for an answer, and no longer than the question allows, whatever
// ask does.
func answerTo(ctx context.Context, ask Authorize, q Question) (Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, q.Wait)
	defer cancel()
	type outcome struct {
		reply Reply
		err   error
	}
	got := make(chan outcome, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				got <- outcome{err: fmt.Errorf("it failed: %v", r)}
			}
		}()
		reply, err := ask(ctx, q)
		got <- outcome{reply, err}
	}()
	select {
	case o := <-got:
		if o.err == nil && ctx.Err() != nil { // it came because the time was over
			o.err = ctx.Err()
		}
		return o.reply, o.err
	case <-ctx.Done():
		return Reply{}, ctx.Err()
	}
}

func (g *Gate) park(ctx context.Context, c Call, who Caller, where Context, a Answer, reason string, p Passage) (Passage, error) {
	if g.Parking == nil || a.Otherwise == nil {
		return p, &RefusedError{Kind: RefusedUnasked, Reason: reason}
	}
	w := Waiting{Call: c, Caller: who, Tainted: where.Tainted, Why: reason, Risks: a.Otherwise.Risks}
	if !where.Tainted {
		for _, grant := range a.grants(*a.Otherwise, false) {
			w.Grants = append(w.Grants, grant.String())
		}
	}
	id, err := g.Parking.Park(ctx, w)
	if err != nil {
		return p, &RefusedError{Kind: RefusedUnasked, Reason: reason + " (it could not be kept for a person: " + err.Error() + ")"}
	}
	p.Approval = id
	return p, &RefusedError{Kind: RefusedParked, Reason: reason, ID: id}
}
