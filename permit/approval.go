package permit

import (
	"context"
	"slices"
)

// Approval is a person's consent to a call that waited, with what was known of
// the call when it began to wait. Whoever makes one has seen to it that it is used
// once: see package approvals.
type Approval struct {
	ID, By  string
	Always  bool     // keep Grants, too
	Grants  []string // see Waiting
	Risks   []string
	Scripts string // see Call
}

// PassApproved lets a call through that a person has approved. It is not asked
// about again; but what a policy refuses now is refused, and a call that would do
// something else than when it was looked at is, too.
func (g *Gate) PassApproved(ctx context.Context, c Call, who Caller, a Approval) (Passage, error) {
	where := g.context(ctx, c, who, true)
	p := Passage{Verdict: Refuse.String(), Why: ByApproval, By: a.By, Approval: a.ID, Tainted: where.Tainted, Agent: who.Agent}
	risks := set(c.Risks())
	switch {
	case where.Policy.Verdict != Allow && where.Policy.Verdict != Ask:
		p.Why = ByPolicy
		return p, &RefusedError{Kind: RefusedByPolicy, Reason: where.Policy.reason()}
	case c.Scripts != a.Scripts || slices.ContainsFunc(risks, func(r string) bool { return !slices.Contains(a.Risks, r) }):
		return p, &RefusedError{Kind: RefusedUnasked, Reason: "what it would do has changed since it began to wait; have it asked for again"}
	}
	p.Verdict, p.Decision = Allow.String(), Once.String()
	if !a.Always || where.Tainted || g.Store == nil {
		return p, nil
	}
	p.Decision = Always.String()
	var grants []Grant
	for _, text := range a.Grants {
		grants = append(grants, ParseGrant(text))
	}
	if err := g.Store.Grant(who.Agent, grants...); err != nil {
		p.Unsaved = err.Error()
		return p, nil
	}
	p.Granted = a.Grants
	return p, nil
}
