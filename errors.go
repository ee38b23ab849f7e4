package sbx

import (
	"fmt"
	"strings"
)

// DeniedError: guard refused the command; nothing ran.
type DeniedError struct {
	Refusals []Refusal // at least one
}

func (e *DeniedError) Error() string {
	if len(e.Refusals) == 0 {
		return "the command is refused by guard"
	}
	r := e.Refusals[0]
	s := fmt.Sprintf("%q is refused by guard rule %s: %s", r.Words, r.Rule, r.Reason)
	if r.Path != "" {
		s = r.Place() + ": " + s
	}
	if r.Instead != "" {
		s += "; instead: " + r.Instead
	}
	if more := len(e.Refusals) - 1; more > 0 {
		s += fmt.Sprintf(" (and %d more)", more)
	}
	return s
}

// Place is the file and line of a refusal in a script; "" for one in the
// command itself.
func (r Refusal) Place() string {
	if r.Path == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", r.Path, r.At.Line)
}

// UnparsedError: the text could not be read as a whole, so guard has not seen
// all of it; nothing ran.
type UnparsedError struct {
	Why string
}

func (e *UnparsedError) Error() string {
	return "the command cannot be read as a whole (" + e.Why + "); correct it, or allow unparsed text (--allow-unparsed, AllowUnparsed)"
}

// ChangedError: a script that the command runs was written anew while a person
// was asked about it; nothing ran.
type ChangedError struct{}

func (e *ChangedError) Error() string {
	return "a script that the command runs has changed since it was read; look at it again, and run the command anew"
}

// WorkspaceError: the workspace is not a directory that a command may be
// confined to; nothing ran.
type WorkspaceError struct {
	Path     string // as given; empty when none was
	Resolved string // without symbolic links, when it came that far
	Why      string
}

func (e *WorkspaceError) Error() string {
	const fix = "set it (--workspace, PEPE_SANDBOX_CWD, Options.Workspace) to the directory of one project"
	if e.Path == "" {
		return e.Why + "; " + fix
	}
	at := fmt.Sprintf("workspace %q", e.Path)
	if e.Resolved != "" && e.Resolved != e.Path {
		at += fmt.Sprintf(" (%q)", e.Resolved)
	}
	return at + ": " + e.Why + "; " + fix
}

// PathError: a path that was granted, hidden or given as a place to work in
// cannot be used; nothing ran.
type PathError struct {
	Option string // e.g. "allow-write"
	Path   string
	Why    string
}

func (e *PathError) Error() string {
	return fmt.Sprintf("%s %q: %s", e.Option, e.Path, e.Why)
}

// RequestError: the request itself is incomplete or contradicts itself.
type RequestError struct {
	Why string
}

func (e *RequestError) Error() string { return e.Why }

// oneLine keeps a message on one line whatever an error text holds.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
