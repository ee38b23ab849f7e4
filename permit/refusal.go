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
	text := strconv.Itoa(int(after.Round(time.Minute)/time.Minute)) + " minutes"
	switch {
	case after < time.Minute:
		text = strconv.Itoa(int(after/time.Second)) + " seconds"
	case text == "1 minutes":
		text = "1 minute"
	}
	return "Error: nobody answered in time (" + text + "): silence is neither consent nor refusal." + notByTyping
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
