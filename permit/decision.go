package permit

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Decision is a person's answer to a prompt. The zero value refuses.
type Decision uint8

// The decisions, in the order in which they are offered; Deny comes last there.
const (
	Deny       Decision = iota
	Once                // this call
	ThisRun             // calls of this shape, for the rest of a tainted run
	Session             // calls of this shape, in this session
	SessionAny          // every call of the tool, in this session
	Always              // calls of this shape, from now on
)

var decisionNames = [...]string{"deny", "once", "this_run", "session", "session_any", "always"}

// String is the stable identifier of a decision.
func (d Decision) String() string {
	if int(d) < len(decisionNames) {
		return decisionNames[d]
	}
	return decisionNames[Deny]
}

// ParseDecision reads an identifier. Every other text denies.
func ParseDecision(text string) Decision {
	for i, name := range decisionNames {
		if text == name {
			return Decision(i)
		}
	}
	return Deny
}

// Offered says whether the prompt of this answer has the decision. One that was
// not offered counts as a refusal.
func (p *Prompt) Offered(d Decision) bool {
	for _, o := range p.Options {
		if o.Decision == d {
			return true
		}
	}
	return false
}

// Memory is what a decision has to be remembered as. Each list is for Merge.
type Memory struct {
	Run, Session, Always []Grant
}

// Remember says what a decision leaves behind. It is empty for a decision that
// was not offered, and for one that holds for one call.
//
// An answer to a policy's question is remembered as such, and beside it as a
// grant of the tool only where the tool had none: it never widens one.
func (a Answer) Remember(d Decision) Memory {
	if a.Prompt == nil || !a.Prompt.Offered(d) {
		return Memory{}
	}
	grants := a.grants(*a.Prompt, d == SessionAny)
	switch d {
	case ThisRun:
		return Memory{Run: grants}
	case Session, SessionAny:
		return Memory{Session: grants}
	case Always: // and at once, for a run whose copy of the configuration is older
		return Memory{Session: grants, Always: grants}
	}
	return Memory{}
}

// grants are what consent to a prompt amounts to.
func (a Answer) grants(p Prompt, any bool) []Grant {
	if !rememberable(p.Tool, p.Risks) {
		return nil
	}
	var grants []Grant
	if p.ByPolicy {
		grants = append(grants, Grant{Tool: policyQuestion(p.Tool), Any: any, Risks: riskSet(p.Risks, any)})
	}
	if !p.ByPolicy || !a.covered {
		grants = append(grants, Grant{Tool: p.Tool, Any: any, Risks: riskSet(p.Risks, any)})
	}
	return grants
}

func riskSet(risks []string, any bool) []string {
	if any {
		return nil
	}
	return set(risks)
}

// rememberable says whether a grant of these risks would read as what it is. The
// names of tools and of the risks that they declare may come from anybody: a tool
// called "*" or "bash:any" must not be granted as what that means.
func rememberable(tool string, risks []string) bool {
	plain := func(word string) bool {
		return word != "" && utf8.ValidString(word) && !strings.ContainsAny(word, ":+*") &&
			!strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsPrint(r) || unicode.IsSpace(r) })
	}
	return plain(tool) && !strings.HasPrefix(tool, questionPrefix) &&
		!slices.ContainsFunc(risks, func(r string) bool { return !plain(r) || r == anyRisk || r == noRisk })
}

const questionPrefix = "policy_ask__"

// policyQuestion is the name under which answers to policies are remembered. A
// colon would split the grant.
func policyQuestion(tool string) string { return questionPrefix + tool }
