package permit

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Opinion is what the policies say of a call. The zero value refuses.
type Opinion struct {
	Verdict Verdict
	Policy  string // which one decided
	Reason  string // for people; shown with the refusal or the question
}

// NoObjection is the opinion of no policy at all.
var NoObjection = Opinion{Verdict: Allow}

func (o Opinion) reason() string {
	switch {
	case o.Reason != "" && o.Policy != "":
		return o.Reason + " (policy " + o.Policy + ")"
	case o.Reason != "":
		return o.Reason
	case o.Policy != "":
		return "policy " + o.Policy
	}
	return "the policies were not consulted"
}

// Policy looks at calls before anybody is asked. It takes part only where an
// owner has put it into a list: nothing is found by its name or its methods.
type Policy interface {
	Name() string
	// Check allows, asks or refuses. It must heed ctx: after PolicyTime its
	// answer is not waited for.
	Check(ctx context.Context, c Call, where Context) Opinion
}

// PolicyTime is how long a policy may think.
const PolicyTime = 3 * time.Second

// Scope limits a policy to agents and projects. Empty lists: to none. A call
// that names no agent is in every scope.
type Scope struct {
	Policy   Policy
	Agents   []string
	Projects []string
}

func (s Scope) holds(where Context) bool {
	if len(s.Agents)+len(s.Projects) == 0 || where.Agent == "" {
		return true
	}
	return slices.Contains(s.Agents, where.Agent) || where.Project != "" && slices.Contains(s.Projects, where.Project)
}

// Consult asks the policies in order. A refusal ends it, a question outranks
// consent, and the first question's reason is the one that is shown. A policy
// that panics, takes too long or answers with no verdict refuses.
func Consult(ctx context.Context, policies []Scope, c Call, where Context) Opinion {
	opinion := NoObjection
	for _, s := range policies {
		if !s.holds(where) {
			continue
		}
		o := consult(ctx, s.Policy, c, where)
		if o.Policy == "" {
			o.Policy = s.Policy.Name()
		}
		switch {
		case o.Verdict == Allow:
		case o.Verdict != Ask:
			o.Verdict = Refuse
			return o
		case opinion.Verdict == Allow:
			opinion = o
		}
	}
	return opinion
}

func consult(ctx context.Context, p Policy, c Call, where Context) Opinion {
	ctx, cancel := context.WithTimeout(ctx, PolicyTime)
	defer cancel()
	answer := make(chan Opinion, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				answer <- Opinion{Reason: fmt.Sprintf("it failed: %v", r)}
			}
		}()
		answer <- p.Check(ctx, c, where)
	}()
	var o Opinion
	select {
	case o = <-answer:
	case <-ctx.Done():
	}
	switch {
	case ctx.Err() == context.DeadlineExceeded: // also for an answer that came because of it
		return Opinion{Reason: "it did not answer within " + PolicyTime.String()}
	case ctx.Err() != nil:
		return Opinion{Reason: "it was not waited for: " + ctx.Err().Error()}
	case o.Verdict > Allow:
		return Opinion{Reason: fmt.Sprintf("it gave no verdict (%d)", o.Verdict)}
	}
	return o
}
