package shell

import "strings"

// Parse reads a text with nothing assumed about where it runs.
func Parse(text string, d Dialect) *Script { return ParseAt(text, d, Where{}) }

// ParseAt reads a text as it would run at a place. It never fails: what could
// not be read is in Unknown, and the first syntax error in Err.
func ParseAt(text string, d Dialect, at Where) *Script {
	return parseIn(text, d, at, &scope{dir: at.Cwd})
}

func parseIn(text string, d Dialect, at Where, sc *scope) *Script {
	s := &Script{Text: text, Dialect: d, Where: at}
	if strings.IndexByte(text, '\r') >= 0 || strings.IndexByte(text, 0) >= 0 {
		noteControlBytes(s)
	}
	w := &walker{r: &reader{s: s}, sc: sc, text: text}
	if len(text) > maxText {
		s.Unknown = append(s.Unknown, Unknown{Span{0, 0}, "too long to be read"})
		return s
	}
	if tooDeep(text) {
		s.Unknown = append(s.Unknown, Unknown{Span{0, 0}, "nested too deeply to be read"})
		return s
	}
	s.readOrGiveUp(func() { w.read(text, d, mapping{}, true) })
	s.indexLines()
	return s
}

// readOrGiveUp runs a reading. Should it panic, the text is listed as unknown:
// no input ends the program, and none becomes harmless by an error of ours.
func (s *Script) readOrGiveUp(read func()) {
	defer func() {
		if recover() != nil {
			s.Unknown = append(s.Unknown, Unknown{Span{0, len(s.Text)}, "could not be read"})
			if s.Err == nil {
				s.Err = &SyntaxError{Pos{Line: 1, Column: 1}, "could not be read"}
			}
		}
	}()
	read()
}

// noteControlBytes lists bytes that shells treat each in its own way: bash
// drops NUL, and a carriage return is part of a word for it but not for the
// eye.
func noteControlBytes(s *Script) {
	if i := strings.IndexByte(s.Text, 0); i >= 0 {
		s.Unknown = append(s.Unknown, Unknown{Span{i, i + 1}, "NUL byte"})
	}
}

// FromArgv reads what a wrapper gets: an argument vector that is executed as
// it is. Text is argv, quoted for a shell. sh -c TEXT and friends are opened.
func FromArgv(argv []string, at Where) *Script {
	s := &Script{Dialect: Bash, Where: at}
	var text strings.Builder
	words := make([]Word, len(argv))
	for i, a := range argv {
		if i > 0 {
			text.WriteByte(' ')
		}
		start := text.Len()
		q := quote(a)
		text.WriteString(q)
		words[i] = Word{Value: a, Prefix: a, Literal: true, Quoted: true, Span: Span{start, text.Len()}}
		if strings.IndexByte(a, '\'') < 0 {
			words[i].body = start + 1
			if q != a {
				words[i].body++
			}
		}
	}
	s.Text = text.String()
	w := &walker{r: &reader{s: s}, sc: &scope{dir: at.Cwd}, text: s.Text}
	s.readOrGiveUp(func() {
		if i := w.emit(Call{Words: words, Span: Span{0, len(s.Text)}}); i >= 0 && len(words) > 0 {
			c := s.Calls[i]
			if name := commandName(&c); name != "" {
				if sp, ok := lookupCarrier(name); ok && !builtinOnly(name) {
					w.carry(i, c, sp)
				}
			}
		}
	})
	s.indexLines()
	return s
}

// builtinOnly names what exists only inside a shell: executed by name it is
// not found, so nothing is carried.
func builtinOnly(name string) bool {
	switch name {
	case ".", "source", "alias", "builtin", "compgen", "complete", "coproc", "eval", "exec", "mapfile", "readarray", "trap", "noglob":
		return true
	}
	return false
}
