package shell

import (
	"fmt"
	"sort"
	"strings"
)

// ParseDialect finds a dialect by the name of its shell.
func ParseDialect(name string) (Dialect, error) {
	switch name {
	case "bash":
		return Bash, nil
	case "posix", "dash", "ash":
		return POSIX, nil
	case "mksh", "ksh":
		return Mksh, nil
	case "zsh":
		return Zsh, nil
	case "sh":
		return Sh, nil
	}
	return Bash, fmt.Errorf("unknown shell %q (have: bash, sh, posix, dash, mksh, zsh)", name)
}

// String gives the name that ParseDialect takes.
func (d Dialect) String() string {
	return [...]string{"bash", "posix", "mksh", "zsh", "sh"}[d]
}

// Pos finds the line and column of an offset of Text. An offset beyond the
// text is the end of the text.
func (s *Script) Pos(offset int) Pos {
	offset = max(0, min(offset, len(s.Text)))
	if s.lines == nil {
		return posIn(s.Text, offset)
	}
	i := sort.SearchInts(s.lines, offset+1) - 1
	return Pos{Offset: offset, Line: i + 1, Column: offset - s.lines[i] + 1}
}

func posIn(text string, offset int) Pos {
	before := text[:offset]
	return Pos{
		Offset: offset,
		Line:   strings.Count(before, "\n") + 1,
		Column: offset - strings.LastIndexByte(before, '\n'),
	}
}

// indexLines makes Pos fast for callers that ask often.
func (s *Script) indexLines() {
	if len(s.Text) < 4096 {
		return // counting is as fast
	}
	s.lines = []int{0}
	for i := 0; i < len(s.Text); i++ {
		if s.Text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
}

// Slice is the text of a span.
func (s *Script) Slice(sp Span) string {
	start := max(0, min(sp.Start, len(s.Text)))
	end := max(start, min(sp.End, len(s.Text)))
	return s.Text[start:end]
}

func (w Where) user() string {
	if w.User != "" {
		return w.User
	}
	return base(w.Home)
}

// base is the last element of a path, without path.Base's "." for "".
func base(p string) string {
	return p[strings.LastIndexByte(p, '/')+1:]
}

// SyntaxError is text that does not parse, at a place in Script.Text.
type SyntaxError struct {
	Pos Pos
	Msg string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("syntax error at %d:%d: %s", e.Pos.Line, e.Pos.Column, e.Msg)
}
