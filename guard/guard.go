// Package guard refuses the few commands that are never legitimate.
package guard

import "github.com/sbx-run/sbx/shell"

// Violation is one command that is never legitimate.
type Violation struct {
	Rule    string // e.g. "delete-system"
	Call    int    // index in Script.Calls
	Span    shell.Span
	Words   string // the words that matter, resolved
	Reason  string // one sentence
	Instead string // what to do instead
}
