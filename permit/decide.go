package permit

import (
	"slices"
	"strings"
)

// Verdict is what the gate says about a call. The zero value refuses.
type Verdict uint8

// The verdicts.
const (
	Refuse Verdict = iota
	Ask
	Allow
)

// String is the word for results and logs.
func (v Verdict) String() string {
	switch v {
	case Ask:
		return "ask"
	case Allow:
		return "allow"
	}
	return "deny"
}

// Context is where a call comes from, and what is remembered there.
type Context struct {
	Agent, Project, Session, Run string // identifiers; an empty Session: there is none
	Attended                     bool   // somebody can be asked
	Tainted                      bool   // content from outside has entered the run

	// What was granted: in the configuration, in this session, in this run. The
	// texts are those of Grant.
	Always, InSession, InRun []string

	// Where an answer could be kept: one that would be forgotten is not offered.
	KeepsAlways, KeepsSession, KeepsRun bool

	Policy Opinion // what the policies say of this call
}

// Answer is the verdict and, for Ask, the question.
type Answer struct {
	Verdict Verdict
	Reason  string // one sentence, of Refuse
	Why     Why    // which rule of the gate decided
	Prompt  *Prompt
	// Otherwise is what a person would be asked, for a Refuse because nobody can be.
	Otherwise *Prompt

	covered bool // without the policy the call would have run
}

// Why names the rule that decided.
type Why string

// The rules, in the order in which they are asked.
const (
	ByPolicy     Why = "policy"
	ByHarmless   Why = "harmless"    // a safe tool that flags no risk
	ByRun        Why = "run"         // granted for this tainted run
	ByTaint      Why = "tainted"     // earlier answers do not count
	ByFree       Why = "free"        // a command without a risk, and somebody could have been asked
	ByGrant      Why = "grant"       // granted in the configuration
	BySession    Why = "session"     // granted in this session
	ByNobody     Why = "nobody"      // nothing covers it, and nobody can be asked
	ByApproval   Why = "approval"    // a person approved it while it waited, or denied it
	ByNotCovered Why = "not-covered" // nothing covers it: ask
)

// Decide says whether a call may run, has to be asked about, or is refused. It
// is pure.
func Decide(c Call, ctx Context) Answer {
	risks := c.Risks()
	asks := false
	switch ctx.Policy.Verdict {
	case Allow:
	case Ask:
		asks = !answered(ctx, c.Tool, risks)
	default:
		return Answer{Verdict: Refuse, Why: ByPolicy, Reason: ctx.Policy.reason()}
	}
	why, covered := ordinary(c, ctx, risks)
	if covered && !asks {
		return Answer{Verdict: Allow, Why: why}
	}
	if asks {
		why = ByPolicy
	}
	if !ctx.Attended {
		return Answer{Verdict: Refuse, Why: nobodyOr(why), Reason: nobody(c, ctx, risks, asks), Otherwise: prompt(c, ctx, risks, asks), covered: covered}
	}
	return Answer{Verdict: Ask, Why: why, Prompt: prompt(c, ctx, risks, asks), covered: covered}
}

// ordinary is the gate without policies.
func ordinary(c Call, ctx Context, risks []string) (Why, bool) {
	class, _ := classOf(c.Tool)
	switch {
	case class == safe && len(risks) == 0:
		return ByHarmless, true
	case ctx.Tainted && ctx.Attended && Covers(ctx.InRun, c.Tool, risks):
		return ByRun, true
	case ctx.Tainted:
		return ByTaint, false
	case class == command && c.shellLike() && len(risks) == 0 && ctx.Attended:
		return ByFree, true
	case Covers(ctx.Always, c.Tool, risks):
		return ByGrant, true
	case ctx.Attended && Covers(ctx.InSession, c.Tool, risks):
		return BySession, true
	}
	return ByNotCovered, false
}

// answered says whether somebody answered this question of a policy before. "*"
// is no answer to it.
func answered(ctx Context, tool string, risks []string) bool {
	question := policyQuestion(tool)
	lists := [][]string{ctx.InRun}
	if !ctx.Tainted {
		lists = [][]string{ctx.Always, ctx.InSession}
	}
	return slices.ContainsFunc(lists, func(grants []string) bool {
		return slices.ContainsFunc(grants, func(g string) bool { return ParseGrant(g).covers(question, risks) })
	})
}

func nobodyOr(why Why) Why {
	if why == ByNotCovered {
		return ByNobody
	}
	return why
}

// nobody says why an unattended call does not run, and what would allow it.
func nobody(c Call, ctx Context, risks []string, policy bool) string {
	switch {
	case policy:
		return "a policy wants a person to look at it (" + ctx.Policy.reason() + "), and there is no one to ask"
	case ctx.Tainted:
		return "content from outside has entered this run, so that earlier grants do not count, and there is no one to ask"
	}
	grant := GrantFor(c.Tool, risks).String()
	return strings.TrimSpace("nothing that was granted covers it, and there is no one to ask; " + grant + " in auto_approve would allow it")
}
