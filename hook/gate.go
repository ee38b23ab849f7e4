package hook

import (
	"context"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/permit"
	"github.com/sbx-run/sbx/shell"
)

// Gate is what the owner's configuration says of commands: grants, and policies.
type Gate struct {
	Grants   []string
	Policies []permit.Scope
	Caller   permit.Caller
	// Tainted: content from outside has entered, so that no earlier answer counts,
	// and a command without a risk is put to the user, too.
	Tainted bool
}

// gated judges a command by grants and policies. decided is false when they have
// nothing to say, so that the rest of the judgement goes on; open is what no grant
// covers of the effects that were not allowed beforehand.
func (p Protocol) gated(e Event, o Options, s *shell.Script, tags, open classify.Tags, findings []classify.Finding) (d Decision, decided bool) {
	if o.Gate == nil {
		return Decision{}, false
	}
	g, err := o.Gate(o.where(e))
	switch {
	case err != nil:
		return p.ask(e, o, "sbx: the configuration cannot be used ("+visible(err.Error())+"), so that nobody knows what its policies say of this command.", ""), true
	case g == nil:
		return Decision{}, false
	}
	call := permit.Command(s, tags)
	where := permit.Context{
		Agent: g.Caller.Agent, Project: g.Caller.Project, Session: g.Caller.Session, Attended: true, Tainted: g.Tainted, Always: g.Grants,
	}
	where.Policy = permit.Consult(context.Background(), g.Policies, call, where)
	switch a := permit.Decide(call, where); {
	case a.Verdict == permit.Refuse:
		return Decision{Reason: permit.PolicyDenied(visible(a.Reason))}, true
	case a.Prompt != nil && a.Prompt.ByPolicy:
		return p.ask(e, o, "sbx: a policy wants a person to look at this command: "+visible(a.Prompt.Policy)+".", ""), true
	}
	if g.Tainted { // what was allowed beforehand is an earlier answer, too
		open = tags
	}
	if s.Err != nil || open == 0 && !g.Tainted {
		return Decision{}, false
	}
	if !g.Tainted && permit.Covers(g.Grants, call.Tool, open.Names()) {
		d.Verdict = None
		if o.AutoAllow {
			d.Verdict = Allow
		}
		return d, true
	}
	return p.ask(e, o, question(s, open, findings), g.missing(call.Tool, open)), true
}

// missing says to the owner what no grant covers, and what would.
func (g *Gate) missing(tool string, open classify.Tags) string {
	if g.Tainted {
		return "(Content from outside has entered, so that earlier answers do not count.)"
	}
	var never []string
	for _, risk := range open.Names() {
		if !slices.ContainsFunc(g.Grants, func(grant string) bool { return permit.Covers([]string{grant}, tool, []string{risk}) }) {
			never = append(never, risk)
		}
	}
	text := "(Never permitted so far: " + strings.Join(never, ", ") + "."
	if len(never) == 0 {
		text = "(Each was permitted, and not together."
	}
	return text + " The owner can permit it: " + permit.GrantFor(tool, open.Names()).String() + " in auto_approve of sbx's configuration.)"
}
