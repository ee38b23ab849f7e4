package hook

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// kind is the kind of a JSON value.
type kind uint8

const (
	object kind = iota
	array
	text
	scalar // a number, true, false, null
)

// node is a value at its place in the bytes it was read from. An event is
// decoded from it, and a settings file is edited by its places, so that
// everything around an edit stays as it was, byte for byte.
type node struct {
	kind       kind
	start, end int
	items      []item // of an object or array
}

// item is a member of an object or an element of an array.
type item struct {
	key      string // of a member, decoded
	keyStart int
	value    node
	comma    int // place of the comma after it, -1 when there is none
}

// start is where the item begins: its key, or its value.
func (i item) start() int {
	if i.keyStart >= 0 {
		return i.keyStart
	}
	return i.value.start
}

// member finds a member of an object; nil when it is not there.
func (n *node) member(key string) *node {
	for i := range n.items {
		if n.items[i].keyStart >= 0 && n.items[i].key == key {
			return &n.items[i].value
		}
	}
	return nil
}

// maxNesting bounds the recursion. Neither an event nor a settings file comes
// near it.
const maxNesting = 200

// syntaxError is a place in a JSON text that cannot be read.
type syntaxError struct {
	line, column int // from 1, bytes
	msg          string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("%d:%d: %s", e.line, e.column, e.msg) }

// scanner reads JSON. A key that is there twice is always an error: two readers
// may take different ones.
type scanner struct {
	src []byte
	pos int
	// comments says that //, /* */ and a comma before a closing bracket are
	// fine, as in the settings files that people write. An event has none.
	comments bool
}

// parseJSON reads one value and what stands around it, and nothing more.
func parseJSON(src []byte, comments bool) (*node, error) {
	s := &scanner{src: src, comments: comments}
	if len(src) >= 3 && string(src[:3]) == bom {
		s.pos = 3
	}
	if !utf8.Valid(src) {
		return nil, s.fail("it is not UTF-8")
	}
	if err := s.space(); err != nil {
		return nil, err
	}
	n, err := s.value(0)
	if err != nil {
		return nil, err
	}
	if err := s.space(); err != nil {
		return nil, err
	}
	if s.pos < len(src) {
		return nil, s.fail("there is more after the value")
	}
	return &n, nil
}

// bom is the byte order mark, which some editors put before UTF-8.
const bom = "\xef\xbb\xbf"

func (s *scanner) fail(msg string) error { return placed(s.src, s.pos, msg) }

func placed(src []byte, pos int, msg string) error {
	before := string(src[:min(pos, len(src))])
	return &syntaxError{
		line:   strings.Count(before, "\n") + 1,
		column: len(before) - strings.LastIndexByte(before, '\n'),
		msg:    msg,
	}
}

func (s *scanner) peek() byte {
	if s.pos < len(s.src) {
		return s.src[s.pos]
	}
	return 0
}

// space skips white space, and comments where they are fine.
func (s *scanner) space() error {
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case c == '\r' && s.comments && !bytes.HasPrefix(s.src[s.pos:], []byte("\r\n")):
			// It would become part of an end of line that is put behind it.
			return s.fail("a carriage return that ends no line")
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			s.pos++
		case c == '/' && s.comments:
			if err := s.comment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

func (s *scanner) comment() error {
	rest := s.src[s.pos:]
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			end = len(rest)
		}
		if rest[end-1] == '\r' {
			end--
		}
		s.pos += end
		return nil
	case bytes.HasPrefix(rest, []byte("/*")):
		end := bytes.Index(rest[2:], []byte("*/"))
		if end < 0 {
			return s.fail("the comment does not end")
		}
		s.pos += 2 + end + 2
		return nil
	}
	return s.fail("a lone slash")
}

func (s *scanner) value(depth int) (node, error) {
	if depth > maxNesting {
		return node{}, s.fail("nested too deeply")
	}
	n := node{start: s.pos}
	var err error
	switch c := s.peek(); {
	case c == '{':
		n.kind = object
		n.items, err = s.container('}', depth)
	case c == '[':
		n.kind = array
		n.items, err = s.container(']', depth)
	case c == '"':
		n.kind = text
		_, err = s.str()
	case s.pos >= len(s.src):
		err = s.fail("it ends where a value should stand")
	default:
		n.kind = scalar
		err = s.scalar()
	}
	n.end = s.pos
	return n, err
}

// container reads an object or array from its opening bracket on.
func (s *scanner) container(closer byte, depth int) ([]item, error) {
	var items []item
	var seen map[string]bool
	s.pos++
	for {
		if err := s.space(); err != nil {
			return nil, err
		}
		if s.peek() == closer && (len(items) == 0 || s.comments) {
			s.pos++
			return items, nil
		}
		it := item{keyStart: -1, comma: -1}
		if closer == '}' {
			if seen == nil {
				seen = map[string]bool{}
			}
			if err := s.key(&it, seen); err != nil {
				return nil, err
			}
		}
		var err error
		if it.value, err = s.value(depth + 1); err != nil {
			return nil, err
		}
		if err := s.space(); err != nil {
			return nil, err
		}
		switch s.peek() {
		case ',':
			it.comma = s.pos
		case closer:
		default:
			return nil, s.fail("want a comma or " + string(closer))
		}
		items = append(items, it)
		s.pos++
		if it.comma < 0 {
			return items, nil
		}
	}
}

func (s *scanner) key(it *item, seen map[string]bool) error {
	it.keyStart = s.pos
	if s.peek() != '"' {
		return s.fail("want a key in quotes")
	}
	var err error
	if it.key, err = s.str(); err != nil {
		return err
	}
	if seen[it.key] {
		return placed(s.src, it.keyStart, "the key "+strconv.Quote(it.key)+" is there twice")
	}
	seen[it.key] = true
	if err := s.space(); err != nil {
		return err
	}
	if s.peek() != ':' {
		return s.fail("want a colon after the key")
	}
	s.pos++
	return s.space()
}

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
