package hook

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// scalar reads a number or a word.
func (s *scanner) scalar() error {
	start := s.pos
	for s.pos < len(s.src) && isScalarByte(s.src[s.pos]) {
		s.pos++
	}
	word := string(s.src[start:s.pos])
	switch word {
	case "true", "false", "null":
		return nil
	}
	if isNumber(word) {
		return nil
	}
	s.pos = start
	return s.fail("not a JSON value")
}

// isNumber holds a word against the grammar of RFC 8259. A number's value is
// never used.
func isNumber(w string) bool {
	w = strings.TrimPrefix(w, "-")
	whole := digits(w)
	if whole == 0 || whole > 1 && w[0] == '0' {
		return false
	}
	w = w[whole:]
	if fraction, ok := strings.CutPrefix(w, "."); ok {
		if digits(fraction) == 0 {
			return false
		}
		w = fraction[digits(fraction):]
	}
	if w != "" && (w[0] == 'e' || w[0] == 'E') {
		w = w[1:]
		if w != "" && (w[0] == '+' || w[0] == '-') {
			w = w[1:]
		}
		return w != "" && digits(w) == len(w)
	}
	return w == ""
}

// digits counts the digits that a text begins with.
func digits(w string) int {
	n := 0
	for n < len(w) && w[n] >= '0' && w[n] <= '9' {
		n++
	}
	return n
}

func isScalarByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '+' || c == '.'
}

// str reads a string and decodes it.
func (s *scanner) str() (string, error) {
	open := s.pos
	s.pos++
	start := s.pos
	for s.pos < len(s.src) { // no escape: the common case
		switch c := s.src[s.pos]; {
		case c == '"':
			s.pos++
			return string(s.src[start : s.pos-1]), nil
		case c == '\\':
			return s.escaped(open, start)
		case c < ' ':
			return "", s.fail("a control character in a string")
		}
		s.pos++
	}
	return "", placed(s.src, open, "the string does not end")
}

func (s *scanner) escaped(open, start int) (string, error) {
	out := append(make([]byte, 0, 2*(s.pos-start)+64), s.src[start:s.pos]...)
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		switch {
		case c == '"':
			s.pos++
			return string(out), nil
		case c < ' ':
			return "", s.fail("a control character in a string")
		case c != '\\':
			out = append(out, c)
			s.pos++
		default:
			r, err := s.escape()
			if err != nil {
				return "", err
			}
			out = utf8.AppendRune(out, r)
		}
	}
	return "", placed(s.src, open, "the string does not end")
}

// escape reads one escape. A surrogate without its other half becomes U+FFFD,
// which is also what the tool hands to the shell for it.
func (s *scanner) escape() (rune, error) {
	if s.pos+1 >= len(s.src) {
		return 0, s.fail("the string does not end")
	}
	if at := strings.IndexByte(`"\/bfnrt`, s.src[s.pos+1]); at >= 0 {
		s.pos += 2
		return rune("\"\\/\b\f\n\r\t"[at]), nil
	}
	r, ok := s.hex(s.pos)
	if !ok {
		return 0, s.fail("an unknown escape in a string")
	}
	s.pos += 6
	if utf16.IsSurrogate(r) {
		low, ok := s.hex(s.pos)
		if pair := utf16.DecodeRune(r, low); ok && pair != utf8.RuneError {
			s.pos += 6
			return pair, nil
		}
		return utf8.RuneError, nil
	}
	return r, nil
}

// hex reads \uXXXX at pos.
func (s *scanner) hex(pos int) (rune, bool) {
	if pos+6 > len(s.src) || s.src[pos] != '\\' || s.src[pos+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s.src[pos+2:pos+6]), 16, 32)
	return rune(n), err == nil
}

// str decodes a string value of src.
func (n *node) str(src []byte) string {
	s := &scanner{src: src, pos: n.start}
	v, _ := s.str() // it was read before
	return v
}

// appendJSON writes a string. Everything that is not printable ASCII or valid
// UTF-8 is escaped, so that the answer reads the same whatever reads it.
func appendJSON(out []byte, v string) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for _, r := range v {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r == '\n':
			out = append(out, '\\', 'n')
		case r == '\t':
			out = append(out, '\\', 't')
		case r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029':
			out = append(out, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return append(out, '"')
}
