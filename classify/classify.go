package classify

import (
	"slices"
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// Classify says what is risky about a script: the set of tags, and for every
// tag at least one finding. Findings are in the order of their places. It is
// pure and safe for concurrent use.
func Classify(s *shell.Script) (Tags, []Finding) {
	c := classifier{s: s, workspace: s.Where.Workspace, last: -1}
	if c.workspace == "" {
		c.workspace = s.Where.Cwd
	}
	if c.workspace != "" {
		c.workspace = clean(c.workspace)
	}
	c.classify()
	return c.tags, sorted(c.found)
}

func (c *classifier) classify() {
	s := c.s
	for i := range s.Unknown {
		c.add(unknownText, -1, s.Unknown[i].Span, s.Unknown[i].Why)
	}
	if s.Err != nil && len(s.Unknown) == 0 {
		c.add(unknownText, -1, shell.Span{}, "")
	}
	for i := range s.Calls {
		c.call(i)
	}
}

// classifier is the work on one script.
type classifier struct {
	s         *shell.Script
	workspace string
	uncertain bool // the path at hand lies in a directory that is not known
	tags      Tags
	found     []Finding
	depth     int  // how many machines away
	mask      Tags // when not 0: only these tags are noted (code that runs elsewhere)

	flows []flow // per call, what its own output carries; nil until something flows
	seen  []flow // per call, what its output carries with its input; see carries
	saved []savedFile
	vars  []heldValue
	fed   pipeCache

	scratch reading // of the call at hand; what it runs in turn has one of its own

	last     int // the call whose words are in lastText
	lastText string
}

// add notes a finding.
func (c *classifier) add(r rule, call int, sp shell.Span, words string) {
	row := &rules[r]
	if c.mask != 0 && c.mask&row.tag == 0 {
		return
	}
	c.tags |= row.tag
	if c.found == nil {
		c.found = make([]Finding, 0, 4)
	}
	c.found = append(c.found, Finding{Tag: row.tag, Rule: row.id, Call: call, Span: sp, Words: words, Why: row.why})
}

// addCall notes a finding about a whole call.
func (c *classifier) addCall(r rule, call int) {
	c.add(r, call, c.s.Calls[call].Span, c.text(call))
}

// maxWords bounds the text of a finding, in bytes.
const maxWords = 160

// text is the resolved words of a call.
func (c *classifier) text(call int) string {
	if c.last == call {
		return c.lastText
	}
	words := c.s.Calls[call].Words
	c.last = call
	if len(words) == 1 {
		c.lastText = cut(words[0].Value)
		return c.lastText
	}
	n := len(words)
	for i := range words {
		n += len(words[i].Value)
	}
	var b strings.Builder
	b.Grow(min(n, maxWords+4))
	for i := range words {
		v := words[i].Value
		if b.Len()+len(v) > maxWords {
			b.WriteString(" …")
			break
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(v)
	}
	c.lastText = b.String()
	return c.lastText
}

func cut(s string) string {
	if len(s) > maxWords {
		return strings.ToValidUTF8(s[:maxWords], "") + "…"
	}
	return s
}

// sorted orders findings by place and merges those that say the same of the
// same place.
func sorted(f []Finding) []Finding {
	if len(f) < 2 {
		return f
	}
	slices.SortFunc(f, func(a, b Finding) int {
		switch {
		case a.Span.Start != b.Span.Start:
			return a.Span.Start - b.Span.Start
		case a.Span.End != b.Span.End:
			return a.Span.End - b.Span.End
		}
		if a.Tag != b.Tag {
			return int(a.Tag) - int(b.Tag)
		}
		return strings.Compare(a.Rule, b.Rule)
	})
	return slices.CompactFunc(f, func(a, b Finding) bool { return a.Tag == b.Tag && a.Span == b.Span })
}
