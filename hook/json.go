package hook

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
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
