package hook

import (
	"bytes"
	"strings"
)

// A settings file is edited in place: an item is put behind the last one of its
// object or array, in the file's own layout, and taken out again together with
// exactly the bytes that were put in with it. Two layouts tell the difference
// between a container that was there and one that came with the item:
//   - one that came with it ends on a line of its own;
//   - one that was there and empty ends right behind the item.

// layout is how a file is written.
type layout struct {
	newline string // "\n" or "\r\n"
	unit    string // one step of indentation
}

func layoutOf(src []byte, root *node) layout {
	l := layout{newline: "\n", unit: "  "}
	if bytes.Contains(src, []byte("\r\n")) {
		l.newline = "\r\n"
	}
	if root != nil && len(root.items) > 0 {
		indent, own := indentOf(src, root.items[0].start())
		if unit, ok := strings.CutPrefix(indent, lineIndent(src, root.start)); own && ok && unit != "" {
			l.unit = unit
		}
	}
	return l
}

// indentOf is the white space before a place, and whether nothing else stands
// before it on its line.
func indentOf(src []byte, at int) (indent string, own bool) {
	start := at
	for start > 0 && (src[start-1] == ' ' || src[start-1] == '\t') {
		start--
	}
	return string(src[start:at]), start > 0 && src[start-1] == '\n'
}

// lineIndent is the white space at the beginning of the line of a place.
func lineIndent(src []byte, at int) string {
	start := bytes.LastIndexByte(src[:at], '\n') + 1
	if start == 0 && bytes.HasPrefix(src, []byte(bom)) {
		start = len(bom)
	}
	end := start
	for end < at && (src[end] == ' ' || src[end] == '\t') {
		end++
	}
	return string(src[start:end])
}

// tree is a value to write. It is rendered over several lines, or on one.
type tree struct {
	key         string // of a member
	raw         string // a value that is JSON already
	open, close string // brackets: items stand between them instead
	items       []tree
}

func leaf(key, v string) tree { return tree{key: key, raw: string(appendJSON(nil, v))} }

func objectOf(key string, items ...tree) tree {
	return tree{key: key, open: "{", close: "}", items: items}
}

func arrayOf(key string, items ...tree) tree {
	return tree{key: key, open: "[", close: "]", items: items}
}

// render writes the tree; indent is that of the line it begins on.
func (t tree) render(l layout, indent string, oneLine bool) string {
	out := ""
	if t.key != "" {
		out = string(appendJSON(nil, t.key)) + ": "
	}
	if t.open == "" {
		return out + t.raw
	}
	before, between, after := l.newline+indent+l.unit, ","+l.newline+indent+l.unit, l.newline+indent
	if oneLine {
		before, between, after = "", ", ", ""
	}
	var parts []string
	for _, it := range t.items {
		parts = append(parts, it.render(l, indent+l.unit, oneLine))
	}
	return out + t.open + before + strings.Join(parts, between) + after + t.close
}

// insertion is an item on its way into a container: bytes and where they go.
type insertion struct {
	at   int
	text string
}

// place works out how an item goes to the end of a container.
func (l layout) place(src []byte, c *node, t tree) []insertion {
	closer := c.end - 1
	if len(c.items) == 0 {
		indent := lineIndent(src, c.start) + l.unit
		return []insertion{{closer, l.newline + indent + t.render(l, indent, false)}}
	}
	last := c.items[len(c.items)-1]
	indent, own := indentOf(src, c.items[0].start())
	if !own {
		text := " " + t.render(l, "", true)
		if last.comma >= 0 { // the list ends with a comma, and goes on doing so
			return []insertion{{last.comma + 1, text + ","}}
		}
		return []insertion{{last.value.end, "," + text}}
	}
	text := l.newline + indent + t.render(l, indent, false)
	if last.comma >= 0 {
		return []insertion{{endOfRemark(src, last.comma+1), text + ","}}
	}
	at := endOfRemark(src, last.value.end)
	if at == last.value.end {
		return []insertion{{at, "," + text}}
	}
	return []insertion{{last.value.end, ","}, {at, text}}
}

// endOfRemark is the end of the comments that follow on the same line; at when
// there are none.
func endOfRemark(src []byte, at int) int {
	end := at
	s := &scanner{src: src, pos: at, comments: true}
	for {
		for s.peek() == ' ' || s.peek() == '\t' {
			s.pos++
		}
		if s.peek() != '/' || s.comment() != nil || bytes.IndexByte(src[at:s.pos], '\n') >= 0 {
			return end
		}
		end = s.pos
	}
}

func insert(src []byte, list []insertion) []byte {
	var out []byte
	from := 0
	for _, in := range list {
		out = append(append(out, src[from:in.at]...), in.text...)
		from = in.at
	}
	return append(out, src[from:]...)
}

// cut takes items from to to, both included, out of a container.
func cut(src []byte, c *node, from, to int) []byte {
	begin, end := c.items[from].start(), c.items[to].value.end
	after := c.items[to].comma
	begin = beforeSpace(src, begin)
	switch {
	case after >= 0: // the list ends with a comma, or something was put behind
		return splice(src, begin, after+1)
	case from == 0:
		return splice(src, begin, end)
	}
	src = splice(src, begin, end)
	comma := c.items[from-1].comma
	return splice(src, comma, comma+1)
}

// beforeSpace goes back over the indentation and one end of line.
func beforeSpace(src []byte, at int) int {
	for at > 0 && (src[at-1] == ' ' || src[at-1] == '\t') {
		at--
	}
	if at > 0 && src[at-1] == '\n' {
		at--
		if at > 0 && src[at-1] == '\r' {
			at--
		}
	}
	return at
}

func splice(src []byte, from, to int) []byte {
	return append(append([]byte(nil), src[:from]...), src[to:]...)
}
