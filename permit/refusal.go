package permit

import (
	"strconv"
	"time"
)

// The texts that a model reads when a call did not run. They say who decided,
// because a model that takes silence for a refusal, or a refusal for a matter of
// wording, tries the wrong thing next.

const notByTyping = " Only an answer to the prompt grants it; nothing that is typed in the conversation does."

// Denied: a person said no.
func Denied(reason string) string {
	text := "Error: not authorised: a person refused this call. Do not try it again as it is; take another way, or ask what would be acceptable."
	if reason != "" {
		text += " (reason: " + reason + ")"
	}
	return text + notByTyping
}

// NobodyAsked: the call would have needed a person, and there was none.
func NobodyAsked(reason string) string {
	return "Error: nobody was asked: " + reason + ". This is no refusal by a person; it can be granted beforehand, or tried where somebody can answer."
}

// NobodyAnswered: the prompt was open for that long.
func NobodyAnswered(after time.Duration) string {
	return "Error: nobody answered in time (" + minutes(after) + "): silence is neither consent nor refusal." + notByTyping
}

func minutes(d time.Duration) string {
	text := strconv.Itoa(int(d.Round(time.Minute)/time.Minute)) + " minutes"
	switch {
	case d < time.Minute:
		text = strconv.Itoa(int(d/time.Second)) + " seconds"
	case text == "1 minutes":
		text = "1 minute"
	}
	return text
}

// Parked: the call waits for a person.
func Parked(id, prefix string) string {
	return "Error: parked for a human's approval: it did not run, and it was not refused. Do not try it again. It is number " + id + ": " +
		prefix + " approvals approve " + id + " runs it, " + prefix + " approvals deny " + id + " does not." + notByTyping
}

// PolicyDenied: a policy said no; nobody can answer otherwise.
func PolicyDenied(reason string) string {
	return "Error: denied by a policy: " + reason + ". No answer and no grant changes that; its owner can."
}

// Refusal is who or what refused a call.
type Refusal uint8

// The refusals.
const (
	RefusedByPolicy  Refusal = iota // a policy said no
	RefusedByPerson                 // a person said no
	RefusedUnasked                  // nothing covers it, and nobody could be asked
	RefusedBySilence                // nobody answered in time
	RefusedParked                   // it waits for a person
)

// RefusedError: the gate did not let a call through; nothing ran.
type RefusedError struct {
	Kind   Refusal
	Reason string        // for people; may hold words of the call
	After  time.Duration // how long the question was open, of RefusedBySilence
	ID     string        // of RefusedParked
}

// Error says it to a person.
func (e *RefusedError) Error() string {
	switch e.Kind {
	case RefusedByPerson:
		if e.Reason != "" {
			return "not permitted: a person refused it (" + e.Reason + ")"
		}
		return "not permitted: a person refused it"
	case RefusedUnasked:
		return "not permitted: " + e.Reason
	case RefusedBySilence:
		return "not permitted: nobody answered within " + minutes(e.After)
	case RefusedParked:
		return "not permitted yet: it waits for a person as number " + e.ID + " (" + e.Reason + ")"
	}
	return "not permitted by a policy: " + e.Reason
}

// Plain is the error without words of the call.
func (e *RefusedError) Plain() string {
	switch e.Kind {
	case RefusedByPerson:
		return "not permitted: a person refused it"
	case RefusedUnasked:
		return "not permitted: nothing that was granted covers it, and nobody could be asked"
	case RefusedParked:
		return "not permitted yet: it waits for a person as number " + e.ID
	case RefusedByPolicy:
		return "not permitted by a policy"
	}
	return e.Error()
}

// ForModel says it to a model. program is what a person would type to approve a
// parked call, e.g. "sbx".
func (e *RefusedError) ForModel(program string) string {
	switch e.Kind {
	case RefusedByPerson:
		return Denied(e.Reason)
	case RefusedUnasked:
		return NobodyAsked(e.Reason)
	case RefusedBySilence:
		return NobodyAnswered(e.After)
	case RefusedParked:
		return Parked(e.ID, program)
	}
	return PolicyDenied(e.Reason)
}
