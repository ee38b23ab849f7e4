package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The file is edited in place: one list or text is written anew, and every other
// byte stays as it was.

// grantsKey is the name of the lists of grants.
const grantsKey = "auto_approve"

const (
	lockWait  = 10 * time.Second // for other programs that write
	editTries = 8                // with a file that others change without the lock
	listWidth = 80               // columns up to which a list stands on one line
)

// AgentError: grants are kept for agents that there are. Making one would give it
// every tool, because that is what an agent without a list of tools has.
type AgentError struct{ Path, Agent string }

func (e *AgentError) Error() string {
	return fmt.Sprintf("config %q: there is no agent %q; add it under \"agents\", or name another one", e.Path, e.Agent)
}

// HeldError: somebody else had a lock all the time.
type HeldError struct {
	Path string
	Wait time.Duration
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("another program has held %q for %v; nothing was written", e.Path, e.Wait)
}

// EditGrants changes the grants of an agent ("": sbx.auto_approve) and returns what
// they are now. change gets those that the file has at that moment; it may be called
// again when the file has changed meanwhile. The file is made where there is none,
// and is readable for its owner only.
func EditGrants(path, agent string, change func([]string) []string) (grants []string, err error) {
	err = editFile(path, func(path string, before []byte) (after []byte, err error) {
		after, grants, err = withGrants(path, before, agent, change)
		return after, err
	})
	return grants, err
}

// editFile puts what change makes of the text of a file in its place, as a whole.
// change may be called again; path is where a link leads.
func editFile(path string, change func(path string, before []byte) ([]byte, error)) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // the link stays one
	}
	fail := func(err error) error { return &Error{Path: path, Err: err} }
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fail(cause(err))
	}
	lock, err := lockFile(context.Background(), path+".lock", lockWait)
	if err != nil {
		return fail(err)
	}
	defer lock.Close()
	for range editTries {
		before, err := readRegular(path)
		gone := errors.Is(err, fs.ErrNotExist)
		if err != nil && !gone {
			return fail(err)
		}
		after, err := change(path, before)
		if err != nil || bytes.Equal(after, before) {
			return err
		}
		switch err := replace(path, before, after, gone); {
		case errors.Is(err, errMeanwhile):
		case err != nil:
			return fail(err)
		default:
			return nil
		}
	}
	return fail(errors.New("it changes all the time; nothing was written"))
}

// withGrants is the text of the file with other grants. It is pure but for change.
func withGrants(path string, text []byte, agent string, change func([]string) []string) ([]byte, []string, error) {
	before := text
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	c, err := Parse(path, text)
	if err != nil {
		return nil, nil, err
	}
	rest, marked := bytes.CutPrefix(text, []byte("\xef\xbb\xbf"))
	at, have := []string{"sbx", grantsKey}, c.Grants
	if agent != "" {
		a, known := c.Agents[agent]
		if !known {
			return nil, nil, &AgentError{path, agent}
		}
		at, have = []string{"agents", agent, grantsKey}, a.AutoApprove
	}
	grants := change(slices.Clone(have))
	if slices.Equal(grants, have) {
		return before, have, nil
	}
	out, err := setList(rest, at, grants)
	if err != nil {
		return nil, nil, &Error{Path: path, Key: strings.Join(at, "."), Err: err}
	}
	if marked {
		out = append([]byte("\xef\xbb\xbf"), out...)
	}
	if _, err := Parse(path, out); err != nil { // what cannot be read back is not written
		return nil, nil, err
	}
	return out, grants, nil
}

// spot is a member of an object, by offsets in the text.
type spot struct {
	key               string
	keyAt, start, end int
}

// spots lists the members of the object that begins at start, and where it ends.
func spots(text []byte, start int) (list []spot, end int, err error) {
	dec := json.NewDecoder(bytes.NewReader(text[start:]))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, 0, errors.New("want an object")
	}
	for dec.More() {
		keyAt := start + int(dec.InputOffset())
		keyAt += bytes.IndexByte(text[keyAt:], '"')
		key, err := dec.Token()
		if err != nil {
			return nil, 0, err
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, 0, err
		}
		valueEnd := start + int(dec.InputOffset())
		list = append(list, spot{key.(string), keyAt, valueEnd - len(raw), valueEnd})
	}
	_, err = dec.Token()
	return list, start + int(dec.InputOffset()), err
}

// rendering writes a value whose first line stands at an indentation.
type rendering func(indent, unit string) string

// setList puts a list of texts at a path, and makes what is missing on the way.
func setList(text []byte, at []string, list []string) ([]byte, error) {
	return setMember(text, at, func(indent, unit string) string { return renderList(list, indent, unit) }, func(old []byte) error {
		var have []string
		if json.Unmarshal(old, &have) != nil {
			return errors.New("it is no list of texts; correct it by hand")
		}
		return nil
	})
}

// setMember puts a value at a path, unless check refuses to replace what is there.
func setMember(text []byte, at []string, value rendering, check func(old []byte) error) ([]byte, error) {
	start := len(text) - len(bytes.TrimLeft(text, " \t\r\n"))
	for depth, key := range at {
		members, end, err := spots(text, start)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(members, func(m spot) bool { return m.key == key })
		last := depth == len(at)-1
		switch {
		case i < 0:
			return insertMember(text, start, end, members, at[depth:], value), nil
		case !last:
			start = members[i].start
			continue
		}
		m := members[i]
		if err := check(text[m.start:m.end]); err != nil {
			return nil, err
		}
		return splice(text, m.start, m.end, value(lineIndent(text, m.keyAt), unitOf(text))), nil
	}
	return nil, errors.New("no place for it")
}

// insertMember puts a member at the end of an object, in the layout of the file.
func insertMember(text []byte, start, end int, members []spot, path []string, value rendering) []byte {
	unit := unitOf(text)
	indent := lineIndent(text, start) + unit
	if len(members) > 0 {
		first := members[0].keyAt
		if own := bytes.TrimRight(text[:first], " \t"); !bytes.HasSuffix(own, []byte("\n")) { // all on one line
			at := members[len(members)-1].end
			return splice(text, at, at, ", "+renderMember(path, value, lineIndent(text, start), unit))
		}
		indent = lineIndent(text, first)
		at := members[len(members)-1].end
		return splice(text, at, at, ",\n"+indent+renderMember(path, value, indent, unit))
	}
	return splice(text, start, end, "{\n"+indent+renderMember(path, value, indent, unit)+"\n"+lineIndent(text, start)+"}")
}

func renderMember(path []string, value rendering, indent, unit string) string {
	if len(path) == 1 {
		return quoteJSON(path[0]) + ": " + value(indent, unit)
	}
	return quoteJSON(path[0]) + ": {\n" + indent + unit + renderMember(path[1:], value, indent+unit, unit) + "\n" + indent + "}"
}

// renderList writes a short list on one line, a longer one with a line for each.
func renderList(list []string, indent, unit string) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = quoteJSON(w)
	}
	if one := "[" + strings.Join(words, ", ") + "]"; len(one) <= listWidth {
		return one
	}
	return "[\n" + indent + unit + strings.Join(words, ",\n"+indent+unit) + "\n" + indent + "]"
}

func quoteJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string can always be written
	return strings.TrimSuffix(b.String(), "\n")
}

// lineIndent is the white space that the line of a place begins with.
func lineIndent(text []byte, at int) string {
	line := text[bytes.LastIndexByte(text[:at], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// unitOf is one step of indentation: that of the first line that has one.
func unitOf(text []byte) string {
	for line := range bytes.Lines(text) {
		if indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]; len(indent) > 0 && len(bytes.TrimSpace(line)) > 0 {
			return string(indent)
		}
	}
	return "  "
}

func splice(text []byte, from, to int, with string) []byte {
	return slices.Concat(text[:from], []byte(with), text[to:])
}

// errMeanwhile: somebody has written the file who does not take the lock.
var errMeanwhile = errors.New("it was changed meanwhile")

// replace puts the new text in the place of the old one as a whole, unless the old
// one is not there any more. It belongs to whom the old one belonged.
func replace(path string, before, after []byte, gone bool) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".config-*.tmp")
	if err != nil {
		return cause(err)
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	if err := tmp.Chmod(0o600); err != nil { // not every system's CreateTemp says so
		return cause(err)
	}
	if info, err := os.Stat(path); err == nil {
		if err := keepOwner(tmp, info); err != nil {
			return fmt.Errorf("give it to its owner: %w", cause(err))
		}
	}
	if _, err := io.Copy(tmp, bytes.NewReader(after)); err != nil {
		return cause(err)
	}
	if err := tmp.Sync(); err != nil {
		return cause(err)
	}
	now, err := readRegular(path)
	if errors.Is(err, fs.ErrNotExist) != gone || err != nil && !gone || !bytes.Equal(now, before) {
		return errMeanwhile
	}
	if err := tmp.Close(); err != nil {
		return cause(err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return cause(err)
	}
	syncDir(filepath.Dir(path))
	return nil
}
