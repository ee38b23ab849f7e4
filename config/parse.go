package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// maxDepth bounds the nesting, so that a small file cannot exhaust the stack.
const maxDepth = 256

// object is a JSON object with its keys in the order of the file. Keys that
// nobody of ours reads may stand twice; both values are kept.
type object []member

type member struct {
	key    string
	offset int64 // just after the key
	value  any   // nil, bool, json.Number, string, []any, object
}

// reader turns the text into values and collects the references on the way.
type reader struct {
	dec        *json.Decoder
	references []string
}

var errEmpty = errors.New("the file is empty; an object is wanted, at least {}")

// Parse reads the text of a configuration; path is for messages only. A byte
// order mark is skipped. It is pure.
func Parse(path string, data []byte) (Config, error) {
	d, root, references, err := parseObject(path, data)
	if err != nil {
		return Config{}, err
	}
	c := d.config(root)
	if d.err != nil {
		return Config{}, d.err
	}
	slices.Sort(references)
	c.References = slices.Compact(references)
	return c, nil
}

// parseObject reads a text that is one object.
func parseObject(path string, data []byte) (d decoder, root object, references []string, err error) {
	text := bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	at := func(offset int64, err error) error {
		line, col := position(text, offset)
		return &Error{Path: path, Line: line, Col: col, Err: err}
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return d, nil, nil, at(0, errEmpty)
	}
	if i := invalidUTF8(text); i >= 0 {
		return d, nil, nil, at(int64(i), errors.New("not UTF-8"))
	}
	// One strict pass first: the token reader below is looser about what
	// follows the value, and this one gives exact offsets.
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return d, nil, nil, at(max(syntax.Offset-1, 0), errors.New(syntax.Error()))
		}
		return d, nil, nil, at(0, err)
	}
	r := reader{dec: json.NewDecoder(bytes.NewReader(text))}
	r.dec.UseNumber()
	value, err := r.value(0)
	if err != nil {
		return d, nil, nil, at(r.dec.InputOffset(), err)
	}
	root, ok := value.(object)
	if !ok {
		return d, nil, nil, at(0, fmt.Errorf("want an object, have %s", describe(value)))
	}
	return decoder{path: path, text: text}, root, r.references, nil
}

// value reads one value with everything below it.
func (r *reader) value(depth int) (any, error) {
	tok, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := tok.(type) {
	case string:
		r.references = appendReferences(r.references, t)
	case json.Delim:
		if depth == maxDepth {
			return nil, fmt.Errorf("nested deeper than %d levels", maxDepth)
		}
		if t == '{' {
			return r.object(depth)
		}
		return r.array(depth)
	}
	return tok, nil
}

func (r *reader) object(depth int) (any, error) {
	o := object{}
	for r.dec.More() {
		key, err := r.dec.Token()
		if err != nil {
			return nil, err
		}
		m := member{key: key.(string), offset: r.dec.InputOffset()}
		r.references = appendReferences(r.references, m.key)
		if m.value, err = r.value(depth + 1); err != nil {
			return nil, err
		}
		o = append(o, m)
	}
	_, err := r.dec.Token() // the closing brace
	return o, err
}

func (r *reader) array(depth int) (any, error) {
	list := []any{}
	for r.dec.More() {
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := r.dec.Token() // the closing bracket
	return list, err
}

// appendReferences collects NAME from every ${NAME in s. Pepe resolves exactly
// ${[A-Z0-9_]+}; small letters, ${NAME:-x} and a missing brace count here too,
// because the writer meant a secret and removing one name more is cheap.
func appendReferences(names []string, s string) []string {
	for i := 0; i+2 < len(s); i++ {
		if s[i] != '$' || s[i+1] != '{' {
			continue
		}
		start := i + 2
		end := start
		for end < len(s) && isNameByte(s[end]) {
			end++
		}
		if end > start {
			names = append(names, s[start:end])
		}
		i = end - 1
	}
	return names
}

func isNameByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// position turns a byte offset into line and column, both from 1, the column
// in characters.
func position(text []byte, offset int64) (line, col int) {
	before := text[:min(offset, int64(len(text)))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

// invalidUTF8 is the offset of the first byte that is not UTF-8, or -1. The
// JSON reader would quietly put another character there, and a path would
// name another file.
func invalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for i := 0; ; {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
}
