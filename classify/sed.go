package classify

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// sedCommand reads the scripts of sed: -e, or the first operand.
func (c *classifier) sedCommand(r *reading) {
	if r.effects&inPlace != 0 {
		c.addCall(writeInPlace, r.call)
	}
	given := false
	call := &c.s.Calls[r.call]
	for _, o := range r.opts {
		if w := r.word0(o); listed("f file", o.name) && (w.Value == "-" || w.Value == "/dev/stdin") && call.In != nil {
			c.sedScript(r, call.In)
		}
		if o.word >= 0 && listed("e expression", o.name) {
			w := r.word(o)
			c.sedScript(r, &w)
			given = true
		}
	}
	if !given && !r.has("f file") && len(r.ops) > 0 {
		c.sedScript(r, &r.words[r.ops[0]])
	}
}

// sedScript looks for w, W, r, R and e commands and the flags w and e of s.
func (c *classifier) sedScript(r *reading, w *shell.Word) {
	s := sedReader{text: w.Value}
	for s.next() {
		switch s.found {
		case 'e':
			c.add(codeSed, r.call, w.Span, s.arg)
		case 'w':
			f := shell.Word{Value: s.arg, Prefix: s.arg, Literal: true, Span: w.Span}
			c.write(writeFile, r.call, &f, r.dir)
		case 'r':
			f := shell.Word{Value: s.arg, Prefix: s.arg, Literal: true, Span: w.Span}
			c.read(r.call, &f, r.dir)
		}
	}
}

// sedReader walks the commands of a sed script (sed(1), POSIX and GNU).
type sedReader struct {
	text  string
	at    int
	found byte   // 'e' runs a command, 'w' writes arg, 'r' reads arg
	arg   string // the command or the file name
}

// next finds the next command that matters.
func (s *sedReader) next() bool {
	for {
		s.skip(" \t\n;{}")
		if s.at >= len(s.text) {
			return false
		}
		s.address()
		if s.at >= len(s.text) {
			return false
		}
		c := s.text[s.at]
		s.at++
		switch c {
		case '#', 'a', 'i', 'c':
			s.textLines()
		case ':', 'b', 't', 'T', 'q', 'Q', 'l', 'L', 'v':
			s.until(";\n}")
		case 'y':
			s.delimited(2)
		case 's':
			if s.substitute() {
				return true
			}
		case 'w', 'W', 'r', 'R':
			s.found, s.arg = 'w', strings.TrimSpace(s.until("\n"))
			if c == 'r' || c == 'R' {
				s.found = 'r'
			}
			if s.arg != "" {
				return true
			}
		case 'e':
			s.found, s.arg = 'e', strings.TrimSpace(s.until("\n"))
			return true
		}
	}
}

func (s *sedReader) skip(set string) {
	for s.at < len(s.text) && strings.IndexByte(set, s.text[s.at]) >= 0 {
		s.at++
	}
}

func (s *sedReader) until(set string) string {
	from := s.at
	for s.at < len(s.text) && strings.IndexByte(set, s.text[s.at]) < 0 {
		s.at++
	}
	return s.text[from:s.at]
}

// textLines skips the text of a, i and c: it goes on over lines that end in \.
func (s *sedReader) textLines() {
	for s.at < len(s.text) {
		line := s.until("\n")
		s.skip("\n")
		if !strings.HasSuffix(line, "\\") {
			return
		}
	}
}

// address skips one or two addresses and the !.
func (s *sedReader) address() {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c >= '0' && c <= '9', c == '$', c == ',', c == '~', c == '+', c == '!', c == ' ', c == '\t':
			s.at++
		case c == '/':
			s.at++
			s.part('/')
			s.skip("IM")
		case c == '\\' && s.at+1 < len(s.text):
			s.at += 2
			s.part(s.text[s.at-1])
			s.skip("IM")
		default:
			return
		}
	}
}

// part skips up to and over the next delimiter that is not escaped or in a
// bracket expression.
func (s *sedReader) part(delim byte) {
	for s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		if c == '\\' {
			s.at++
		} else if c == delim {
			return
		}
	}
	s.at = min(s.at, len(s.text))
}

func (s *sedReader) delimited(parts int) {
	if s.at >= len(s.text) {
		return
	}
	d := s.text[s.at]
	s.at++
	for ; parts > 0; parts-- {
		s.part(d)
	}
}

// substitute reads s///flags and reports whether a flag matters.
func (s *sedReader) substitute() bool {
	s.delimited(2)
	for s.at < len(s.text) {
		c := s.text[s.at]
		switch {
		case c == 'w':
			s.at++
			s.found, s.arg = 'w', strings.TrimSpace(s.until("\n"))
			return s.arg != ""
		case c == 'e':
			s.at++
			s.found, s.arg = 'e', s.text
			return true
		case c == 'g', c == 'p', c == 'i', c == 'I', c == 'm', c == 'M', c >= '0' && c <= '9':
			s.at++
		default:
			return false
		}
	}
	return false
}
