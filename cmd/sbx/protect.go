package main

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/sandbox"
)

// protectList is --protect: paths, or the word strict. A file of that name is
// ./strict.
type protectList struct {
	list
	strict bool
}

func (p *protectList) Set(v string) error {
	if v == "strict" {
		p.strict = true
		return nil
	}
	return p.list.Set(v)
}

// shownFindings is how many files the line about them names.
const shownFindings = 4

// remarkTrust says what probably stood in the command's way, and names in one
// line what it left for programs outside. A runtime finds both in the result: it
// takes standard error for the program's.
func (c *execCall) remarkTrust(s *streams, r sbx.Result) {
	if c.wrapping && !isTerminal(s.err) {
		return
	}
	for _, hint := range r.Hints {
		s.say("hint", hint)
	}
	if r.NewTrust {
		s.sayTrust(r.Trust, r.Workspace, " (--result has the report)")
	}
}

// sayTrust is the line about what programs outside may run.
func (s *streams) sayTrust(t *sandbox.Trust, workspace, more string) {
	var names []string
	for _, f := range t.Findings {
		if len(names) == shownFindings {
			break
		}
		names = append(names, described(f, workspace))
	}
	if more := len(t.Findings) + t.More - len(names); more > 0 {
		names = append(names, strconv.Itoa(more)+" more")
	}
	text := "nothing that programs outside trust was seen to change"
	if len(names) > 0 {
		text = "programs outside may run or trust these, look at them first: " + strings.Join(names, ", ")
	}
	if t.Incomplete != "" {
		text += " (scan incomplete: " + t.Incomplete + ")"
	}
	s.say("hint", text+more)
}

func described(f sandbox.TrustFinding, workspace string) string {
	name := f.Path
	if rest, err := filepath.Rel(workspace, f.Path); err == nil && filepath.IsLocal(rest) {
		name = rest
	}
	if q := strconv.Quote(name); q != `"`+name+`"` {
		name = q
	}
	if f.To != "" {
		name += " -> " + strconv.Quote(f.To)
	}
	switch {
	case f.Undone:
		return name + " appeared and was taken back"
	case f.Change == sandbox.TrustShared:
		return name + " has another name"
	}
	return name + " " + string(f.Change)
}
