package guard

import (
	"strings"
	"unicode/utf8"
)

// lang is what guard needs to know of a programming language to find the
// strings and calls in a program. It is a scan for literal harm, not a parser.
type lang struct {
	name     string
	hash     bool // # starts a comment
	slashes  bool // // and /* */ are comments
	dollar   bool // "$name" in double quotes is a variable
	hashExpr bool // "#{…}" is an expression
	backtick byte // what `…` is: 'x' a command, 's' a string with ${…}
	bare     bool // calls need no parentheses: system "x"
	percent  bool // %w[], %x() as in Ruby
	quoteOps bool // q(), qq(), qw(), qx() as in Perl
	regexp   bool // /…/ may be a pattern
}

// token is one piece of a program: an identifier, a string, or one byte.
type token struct {
	kind  byte // 'i' identifier, 's' string, 'x' command in backticks, or the byte itself
	text  string
	raw   bool // no escapes in the string
	vars  bool // variables in the string stand for unknown text
	brace bool // {…} in the string stands for unknown text: an f-string
}

// maxTokens bounds one program. What is beyond it is not scanned.
const maxTokens = 20000

type lexer struct {
	lang *lang
	s    string
	at   int
	out  []token
}

func lex(l *lang, s string) []token {
	x := lexer{lang: l, s: s}
	for x.at < len(x.s) && len(x.out) < maxTokens {
		x.next()
	}
	return x.out
}

func (x *lexer) put(t token) { x.out = append(x.out, t) }

func (x *lexer) peek(n int) byte {
	if x.at+n < len(x.s) {
		return x.s[x.at+n]
	}
	return 0
}

func (x *lexer) next() {
	c := x.s[x.at]
	switch {
	case c == ' ' || c == '\t' || c == '\r':
		x.at++
	case c == '#' && x.lang.hash && (x.at == 0 || strings.IndexByte(" \t\n;", x.s[x.at-1]) >= 0),
		c == '/' && x.peek(1) == '/' && x.lang.slashes:
		x.skipTo("\n", 0)
	case c == '/' && x.peek(1) == '*' && x.lang.slashes:
		x.skipTo("*/", 2)
	case c == '"' || c == '\'' || c == '`' && x.lang.backtick != 0:
		x.quoted(c, false, false)
	case isLetter(c) || c == '_' || c >= utf8.RuneSelf || (c == '$' || c == '@') && (isLetter(x.peek(1)) || x.peek(1) == '_'):
		x.identifier()
	case c == '$' && x.lang.name == "js" && x.peek(1) == '`':
		x.put(token{kind: 'i', text: "$"})
		x.at++
	case c == '%' && x.lang.percent && x.percentString():
	case c == '~' && x.lang.name == "elixir" && (x.peek(1) == 'w' || x.peek(1) == 's' || x.peek(1) == 'c') && x.delimited(2, x.peek(1) == 'w', 's'):
	case c == '/' && x.lang.regexp && x.patternMayStart() && x.pattern():
	default:
		x.put(token{kind: c})
		x.at++
	}
}

func (x *lexer) skipTo(end string, n int) {
	i := strings.Index(x.s[x.at:], end)
	if i < 0 {
		x.at = len(x.s)
		return
	}
	x.at += i + n
}

func (x *lexer) identifier() {
	start := x.at
	x.at++
	for x.at < len(x.s) {
		c := x.s[x.at]
		if !isLetter(c) && !isDigit(c) && c != '_' && c < utf8.RuneSelf {
			break
		}
		x.at++
	}
	name := x.s[start:x.at]
	if x.lang.name == "python" && len(name) <= 2 && (x.peek(0) == '"' || x.peek(0) == '\'') && strings.Trim(name, "fFrRbBuU") == "" {
		x.quoted(x.s[x.at], strings.ContainsAny(name, "rR"), strings.ContainsAny(name, "fF"))
		return
	}
	if x.lang.quoteOps {
		switch name {
		case "q", "qq":
			if x.delimited(0, false, 's') {
				return
			}
		case "qw":
			if x.delimited(0, true, 's') {
				return
			}
		case "qx":
			if x.delimited(0, false, 'x') {
				return
			}
		case "s", "y", "tr", "m", "qr":
			if x.substitution(name != "m" && name != "qr") {
				return
			}
		}
	}
	x.put(token{kind: 'i', text: name})
}

// quoted takes a string, also a Python one in triple quotes.
func (x *lexer) quoted(q byte, raw, brace bool) {
	end := string(q)
	if x.lang.name == "python" || x.lang.name == "elixir" || x.lang.name == "groovy" {
		if triple := strings.Repeat(end, 3); strings.HasPrefix(x.s[x.at:], triple) {
			end = triple
		}
	}
	start := x.at + len(end)
	i := start
	for i < len(x.s) && !strings.HasPrefix(x.s[i:], end) {
		if x.s[i] == '\\' {
			i++
		}
		i++
	}
	i = min(i, len(x.s))
	t := token{kind: 's', text: x.s[start:i], raw: raw, brace: brace}
	t.vars = q != '\'' && (x.lang.dollar || x.lang.hashExpr) || q == '`'
	if q == '`' && x.lang.backtick == 'x' {
		t.kind = 'x'
	}
	x.at = min(i+len(end), len(x.s))
	x.put(t)
}

// delimited takes q(…) and its kin from skip bytes ahead.
func (x *lexer) delimited(skip int, words bool, kind byte) bool {
	i := x.at + skip
	for skip == 0 && i < len(x.s) && x.s[i] == ' ' {
		i++
	}
	if i >= len(x.s) || strings.IndexByte("([{</|!#'\"~^", x.s[i]) < 0 {
		return false
	}
	body, end, ok := bracketed(x.s, i)
	if !ok {
		return false
	}
	x.at = end
	if !words {
		x.put(token{kind: kind, text: body, vars: true})
		return true
	}
	x.put(token{kind: '['})
	for n, f := range strings.Fields(body) {
		if n > 0 {
			x.put(token{kind: ','})
		}
		x.put(token{kind: 's', text: f, raw: true})
	}
	x.put(token{kind: ']'})
	return true
}

// bracketed finds the text between a delimiter at i and its partner.
func bracketed(s string, i int) (body string, end int, ok bool) {
	open, closer := s[i], s[i]
	if n := strings.IndexByte("([{<", open); n >= 0 {
		closer = ")]}>"[n]
	}
	depth := 1
	for j := i + 1; j < len(s); j++ {
		switch {
		case s[j] == '\\':
			j++
		case s[j] == closer:
			if depth--; depth == 0 {
				return s[i+1 : j], j + 1, true
			}
		case s[j] == open:
			depth++
		}
	}
	return "", i, false
}

// substitution skips s/a/b/ and m/a/, whose quotes would be misread.
func (x *lexer) substitution(two bool) bool {
	if x.at >= len(x.s) || strings.IndexByte("/{|#!(", x.s[x.at]) < 0 {
		return false
	}
	paired := strings.IndexByte("{(", x.s[x.at]) >= 0
	_, end, ok := bracketed(x.s, x.at)
	if !ok {
		return false
	}
	if two {
		if !paired {
			end--
		}
		if end < len(x.s) {
			_, end, ok = bracketed(x.s, end)
		}
	}
	if ok {
		x.at = end
	}
	return ok
}

// percentString takes %w[], %q(), %x() and %() of Ruby.
func (x *lexer) percentString() bool {
	switch c := x.peek(1); c {
	case 'w', 'W', 'i', 'I':
		return x.delimited(2, true, 's')
	case 'q', 'Q':
		return x.delimited(2, false, 's')
	case 'x':
		return x.delimited(2, false, 'x')
	case '(':
		return x.delimited(1, false, 's')
	}
	return false
}

func (x *lexer) patternMayStart() bool {
	if len(x.out) == 0 {
		return true
	}
	switch last := x.out[len(x.out)-1]; last.kind {
	case 'i', 's', ')', ']', '}':
		return false
	default:
		return !isDigit(last.kind)
	}
}

func (x *lexer) pattern() bool {
	for i := x.at + 1; i < len(x.s) && x.s[i] != '\n'; i++ {
		switch x.s[i] {
		case '\\':
			i++
		case '/':
			x.at = i + 1
			return true
		}
	}
	return false
}

// hole stands for a piece of text that a program computes. A shell reads it as
// an unknown variable.
const hole = "${_}"

// value undoes escapes, and puts holes where the program inserts something.
func (t *token) value(lookup func(string) (string, bool)) string {
	if strings.IndexByte(t.text, '\\') < 0 && !t.vars && !t.brace {
		return t.text
	}
	var b strings.Builder
	for i := 0; i < len(t.text); i++ {
		c := t.text[i]
		switch {
		case c == '\\' && !t.raw && i+1 < len(t.text):
			i = unescape(&b, t.text, i+1)
		case t.brace && c == '{':
			i = t.insert(&b, i, 1, "}", lookup)
		case t.vars && (c == '#' || c == '$') && i+1 < len(t.text) && t.text[i+1] == '{':
			i = t.insert(&b, i, 2, "}", lookup)
		case t.vars && (c == '$' || c == '@') && i+1 < len(t.text) && isLetter(t.text[i+1]):
			end := i + 1
			for end < len(t.text) && (isLetter(t.text[end]) || isDigit(t.text[end]) || t.text[end] == '_') {
				end++
			}
			put(&b, t.text[i:end], lookup)
			i = end - 1
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func (t *token) insert(b *strings.Builder, i, skip int, end string, lookup func(string) (string, bool)) int {
	rest := t.text[i+skip:]
	n := strings.Index(rest, end)
	if n < 0 {
		b.WriteString(t.text[i : i+skip])
		return i + skip - 1
	}
	put(b, strings.TrimSpace(rest[:n]), lookup)
	return i + skip + n
}

func put(b *strings.Builder, name string, lookup func(string) (string, bool)) {
	if v, ok := lookup(name); ok {
		b.WriteString(v)
	} else {
		b.WriteString(hole)
	}
}

// unescape undoes one escape whose letter is at i, and returns the last index
// it used.
func unescape(b *strings.Builder, s string, i int) int {
	width := 0
	switch c := s[i]; c {
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case 'r':
		b.WriteByte('\r')
	case '\n':
	case 'x':
		width = 2
	case 'u':
		width = 4
	case '0', '1', '2', '3', '4', '5', '6', '7':
		n, j := 0, i
		for j < len(s) && j < i+3 && '0' <= s[j] && s[j] <= '7' {
			n = n*8 + int(s[j]-'0')
			j++
		}
		b.WriteByte(byte(n))
		return j - 1
	default:
		b.WriteByte(c)
	}
	if width == 0 {
		return i
	}
	n, j := 0, i+1
	for j < len(s) && j <= i+width {
		d := strings.IndexByte("0123456789abcdef", s[j]|0x20)
		if isDigit(s[j]) {
			d = int(s[j] - '0')
		}
		if d < 0 {
			break
		}
		n = n*16 + d
		j++
	}
	b.WriteRune(rune(n))
	return j - 1
}
