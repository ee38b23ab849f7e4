package classify

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// awkCommand reads the programs of awk: the first operand, or -e.
func (c *classifier) awkCommand(r *reading) {
	for _, o := range r.opts {
		if o.word >= 0 && listed("e source", o.name) {
			w := r.word(o)
			c.awkProgram(r, &w)
		}
	}
	for _, o := range r.opts {
		if o.word >= 0 && (o.name == "i" || o.name == "include") && strings.HasPrefix(r.word(o).Value, "inplace") {
			r.effects |= inPlace
			c.addCall(writeInPlace, r.call)
		}
	}
	if r.effects&roleTaken == 0 && len(r.ops) > 0 {
		c.awkProgram(r, &r.words[r.ops[0]])
	}
}

// awkProgram notes what an awk program does beyond printing.
func (c *classifier) awkProgram(r *reading, w *shell.Word) {
	a := awkReader{text: w.Value}
	for a.next() {
		f := shell.Word{Value: a.arg, Prefix: a.arg, Literal: a.literal, Span: w.Span}
		switch a.found {
		case 'e':
			c.add(codeAwk, r.call, w.Span, cut(a.text))
		case 'w':
			if a.arg != "" {
				c.write(writeFile, r.call, &f, r.dir)
			} else {
				c.add(writeFile, r.call, w.Span, cut(a.text))
			}
		case 'r':
			if a.literal {
				c.read(r.call, &f, r.dir)
			}
		case 'v':
			c.addCall(secretEnvironment, r.call)
		}
	}
}

// awkReader scans an awk program for system(), pipes, output redirections,
// getline < and loops over ENVIRON (POSIX awk, gawk).
type awkReader struct {
	text    string
	at      int
	print   bool // behind print or printf, in the same statement
	parens  int
	operand bool // the last token was an operand: a / divides
	found   byte // 'e' runs, 'w' writes arg, 'r' reads arg, 'v' lists the environment
	arg     string
	literal bool // arg is a string constant
}

// next finds the next thing that matters.
func (a *awkReader) next() bool {
	for a.at < len(a.text) {
		c := a.text[a.at]
		switch {
		case c == ' ' || c == '\t':
			a.at++
		case c == '#':
			for a.at < len(a.text) && a.text[a.at] != '\n' {
				a.at++
			}
		case c == '"':
			a.str()
			a.operand = true
		case c == '/' && !a.operand:
			a.regex()
			a.operand = true
		case isWord(c):
			if a.word() {
				return true
			}
		case c == '|':
			if a.pipe() {
				return true
			}
		case c == '>' && a.print && a.parens == 0:
			a.at++
			if a.at < len(a.text) && a.text[a.at] == '>' {
				a.at++
			}
			if a.file('w') {
				return true
			}
		default:
			a.punctuation(c)
		}
	}
	return false
}

func (a *awkReader) punctuation(c byte) {
	a.at++
	switch c {
	case '(':
		a.parens++
	case ')':
		a.parens--
	case ';', '\n', '}', '{':
		a.print, a.parens = false, 0
	}
	a.operand = c == ')' || c == ']' || c == '$'
}

// str reads a string constant.
func (a *awkReader) str() string {
	from := a.at + 1
	for a.at++; a.at < len(a.text) && a.text[a.at] != '"'; a.at++ {
		if a.text[a.at] == '\\' {
			a.at++
		}
	}
	end := min(a.at, len(a.text))
	a.at = min(a.at+1, len(a.text))
	return a.text[min(from, end):end]
}

func (a *awkReader) regex() {
	class := false
	for a.at++; a.at < len(a.text) && (a.text[a.at] != '/' || class) && a.text[a.at] != '\n'; a.at++ {
		switch a.text[a.at] {
		case '\\':
			a.at++
		case '[':
			class = true
		case ']':
			class = false
		}
	}
	a.at = min(a.at+1, len(a.text))
}

// word reads a name or number.
func (a *awkReader) word() bool {
	from := a.at
	for a.at < len(a.text) && isWord(a.text[a.at]) {
		a.at++
	}
	name := a.text[from:a.at]
	a.operand = true
	switch name {
	case "print", "printf":
		a.print, a.parens, a.operand = true, 0, false
	case "system":
		if strings.HasPrefix(strings.TrimLeft(a.text[a.at:], " \t"), "(") {
			a.found = 'e'
			return true
		}
	case "getline":
		return a.getline()
	case "in":
		rest := strings.TrimLeft(a.text[a.at:], " \t")
		a.operand = false
		if strings.HasPrefix(rest, "ENVIRON") && (len(rest) == 7 || !isWord(rest[7]) && rest[7] != '[') {
			a.found = 'v'
			return true
		}
	case "return", "if", "while", "for", "else", "do":
		a.operand = false
	}
	return false
}

// getline reads from a file behind <; cmd | getline was found at the pipe.
func (a *awkReader) getline() bool {
	k := a.at
	for k < len(a.text) && (a.text[k] == ' ' || a.text[k] == '\t' || a.text[k] == '$' || isWord(a.text[k])) {
		k++
	}
	if k < len(a.text) && a.text[k] == '<' {
		a.at = k + 1
		return a.file('r')
	}
	return false
}

// pipe tells a pipe from ||, and looks only at those that run a command.
func (a *awkReader) pipe() bool {
	a.at++
	a.operand = false
	if a.at < len(a.text) && a.text[a.at] == '|' {
		a.at++
		return false
	}
	if a.at < len(a.text) && a.text[a.at] == '&' {
		a.at++
	}
	a.found = 'e'
	return true
}

// file reads the name behind a redirection.
func (a *awkReader) file(what byte) bool {
	for a.at < len(a.text) && (a.text[a.at] == ' ' || a.text[a.at] == '\t') {
		a.at++
	}
	a.found, a.arg, a.literal = what, "", false
	a.operand = false
	if a.at < len(a.text) && a.text[a.at] == '"' {
		a.arg, a.literal = a.str(), true
		rest := strings.TrimLeft(a.text[a.at:], " \t")
		if rest != "" && (isWord(rest[0]) || rest[0] == '$' || rest[0] == '"' || rest[0] == '(') { // concatenated
			a.literal = false
		}
		a.operand = true
	}
	return true
}
