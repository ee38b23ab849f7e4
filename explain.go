package sbx

import (
	"path"
	"strings"

	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/guard"
	"github.com/sbx-run/sbx/shell"
)

// Explanation says how sbx read the command that a finding or a violation is
// about. What the text does not show stands in it as it is written there.
type Explanation struct {
	// Chain is the way to the command, outermost first, each as far as it is
	// not the command itself: "sudo -u root", "bash -c", "rm".
	Chain []string `json:"chain"`
	Argv  []string `json:"argv"`            // the command, resolved
	Dir   string   `json:"dir,omitempty"`   // where it runs, when the text shows it
	Paths []string `json:"paths,omitempty"` // what its operands name, absolute
	Set   []SetAt  `json:"set,omitempty"`   // variables in it, and where they were set
}

// SetAt is a variable and the place of its assignment.
type SetAt struct {
	Name string    `json:"name"`
	At   shell.Pos `json:"at"`
}

// ExplainFinding explains one of r.Findings.
func (r Report) ExplainFinding(f classify.Finding) Explanation {
	const files = classify.Deletes | classify.WritesFile | classify.WritesOutside | classify.ReadsOutside |
		classify.ChangesConfig | classify.Secrets
	return r.explainCall(f.Call, f.Span, f.Tag&files != 0)
}

// ExplainViolation explains one of r.Violations.
func (r Report) ExplainViolation(v guard.Violation) Explanation {
	return r.explainCall(v.Call, v.Span, true)
}

func (r Report) explainCall(call int, span shell.Span, files bool) Explanation {
	e := Explanation{Chain: []string{}, Argv: []string{}}
	s := r.Script
	if s == nil || call < 0 || call >= len(s.Calls) {
		return e
	}
	c := &s.Calls[call]
	for n, by := range c.Carriers {
		next := c.Span
		if n+1 < len(c.Carriers) {
			next = s.Calls[c.Carriers[n+1].Call].Span
		}
		e.Chain = append(e.Chain, carrier(s, by, next))
		for i := range s.Calls[by.Call].Words { // sh -c "rm $D": the outer shell puts it in
			e.Set = setAt(s, e.Set, &s.Calls[by.Call].Words[i])
		}
	}
	if len(c.Words) > 0 {
		e.Chain = append(e.Chain, spelled(s, &c.Words[0]))
	}
	for i := range c.Words {
		e.Argv = append(e.Argv, spelled(s, &c.Words[i]))
		e.Set = setAt(s, e.Set, &c.Words[i])
	}
	e.Dir = c.Dir
	operands := files && allPaths(c.Name())
	for i := range c.Words {
		w := &c.Words[i]
		if files && i > 0 && (w.Span == span || operands && !strings.HasPrefix(w.Value, "-")) {
			e.Paths = appendPath(e.Paths, c.Dir, w)
		}
	}
	for i := range c.Redirs {
		w := &c.Redirs[i].Target
		if w.Span != span || c.Redirs[i].Heredoc {
			continue
		}
		e.Set = setAt(s, e.Set, w)
		if files {
			e.Paths = appendPath(e.Paths, c.Dir, w)
		}
	}
	return e
}

// allPaths names programs whose operands are all paths.
func allPaths(name string) bool {
	switch name {
	case "rm", "rmdir", "unlink", "shred", "mkdir", "touch", "tee", "mv", "cp", "ln":
		return true
	}
	return false
}

func appendPath(paths []string, dir string, w *shell.Word) []string {
	if !w.Literal || w.Value == "" || strings.Contains(w.Value, "{}") || !path.IsAbs(w.Value) && dir == "" {
		return paths
	}
	if path.IsAbs(w.Value) {
		return append(paths, path.Clean(w.Value))
	}
	return append(paths, path.Join(dir, w.Value))
}

// carrier is the part of a carrier's command line before the command that
// stands at next.
func carrier(s *shell.Script, by shell.Carrier, next shell.Span) string {
	switch by.Via {
	case shell.ViaStdin:
		return by.Name + " (standard input)"
	case shell.ViaFunc:
		return by.Name + "()"
	}
	words := s.Calls[by.Call].Words
	var parts []string
	for i := range words {
		if i > 0 && words[i].Span.Start <= next.Start && next.Start < words[i].Span.End {
			return strings.Join(parts, " ")
		}
		parts = append(parts, spelled(s, &words[i]))
	}
	return by.Name // the text came by a variable
}

// spelled is a word as one would type it: resolved when it is known.
func spelled(s *shell.Script, w *shell.Word) string {
	if !w.Literal {
		return s.Slice(w.Span)
	}
	v := w.Value
	if v != "" && !strings.ContainsAny(v, " \t\n'\"\\$`;&|<>()#") {
		return v
	}
	return "'" + strings.ReplaceAll(v, "'", `'\''`) + "'"
}

func setAt(s *shell.Script, list []SetAt, w *shell.Word) []SetAt {
next:
	for _, o := range w.From {
		at := s.Pos(o.Span.Start)
		for _, have := range list {
			if have.Name == o.Name && have.At == at {
				continue next
			}
		}
		list = append(list, SetAt{o.Name, at})
	}
	return list
}
