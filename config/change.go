package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
)

// Change is a text of the file that is to be another one, or to go.
type Change struct {
	Key    []string // from the top, e.g. "sbx", "network"
	Value  string
	Remove bool
}

// Name is the key in one word.
func (c Change) Name() string { return strings.Join(c.Key, ".") }

// Apply makes changes in a file. It is written as a whole or not at all, is readable
// for its owner only, and all of it that is not named stays as it is, to the byte. A
// file that is not there is made, unless there is nothing to set.
func Apply(path string, changes []Change) error {
	return editFile(path, func(path string, before []byte) ([]byte, error) { return Changed(path, before, changes) })
}

// RemoveEmpty removes a file in which nothing is said.
func RemoveEmpty(path string) error {
	lock, err := lockFile(context.Background(), path+".lock", lockWait)
	if err != nil {
		return &Error{Path: path, Err: err}
	}
	defer lock.Close()
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil // none, or a link to somebody's
	}
	text, err := readRegular(path)
	if err != nil || string(bytes.Join(bytes.Fields(text), nil)) != "{}" {
		return nil // it is somebody's
	}
	if err := os.Remove(path); err != nil {
		return &Error{Path: path, Err: cause(err)}
	}
	return nil
}

// Changed is the text of a file after some changes; path is for messages only. It
// is pure.
func Changed(path string, text []byte, changes []Change) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		if !slices.ContainsFunc(changes, func(c Change) bool { return !c.Remove }) {
			return text, nil
		}
		text = []byte("{}\n")
	}
	if _, err := Parse(path, text); err != nil {
		return nil, err
	}
	out, marked := bytes.CutPrefix(text, []byte("\xef\xbb\xbf"))
	for _, c := range changes {
		var err error
		if c.Remove {
			out, err = removeMember(out, c.Key)
		} else {
			value := func(string, string) string { return quoteJSON(c.Value) }
			out, err = setMember(out, c.Key, value, func([]byte) error { return nil })
		}
		if err != nil {
			return nil, &Error{Path: path, Key: c.Name(), Err: err}
		}
	}
	if marked {
		out = append([]byte("\xef\xbb\xbf"), out...)
	}
	if _, err := Parse(path, out); err != nil { // what cannot be read back is not written
		return nil, err
	}
	return out, nil
}

// removeMember takes a member out, and objects on the way that are empty then. One
// that is not there is no error.
func removeMember(text []byte, at []string) ([]byte, error) {
	start := len(text) - len(bytes.TrimLeft(text, " \t\r\n"))
	for depth, key := range at {
		members, end, err := spots(text, start)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(members, func(m spot) bool { return m.key == key })
		switch {
		case i < 0:
			return text, nil
		case depth < len(at)-1:
			start = members[i].start
			continue
		}
		switch last := len(members) - 1; {
		case last == 0 && depth > 0:
			return removeMember(text, at[:depth])
		case last == 0:
			return splice(text, start+1, end-1, ""), nil
		case i < last:
			return splice(text, members[i].keyAt, members[i+1].keyAt, ""), nil
		default:
			return splice(text, members[i-1].end, members[i].end, ""), nil
		}
	}
	return nil, errors.New("no place for it")
}

// ReadText gives the text at a key of a file; ok is false where there is none, or
// something else than a text. No file has none.
func ReadText(path string, key []string) (value string, ok bool) {
	data, err := readRegular(path)
	if err != nil {
		return "", false
	}
	text := bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	start := len(text) - len(bytes.TrimLeft(text, " \t\r\n"))
	for depth, name := range key {
		members, _, err := spots(text, start)
		i := slices.IndexFunc(members, func(m spot) bool { return m.key == name })
		if err != nil || i < 0 {
			return "", false
		}
		if depth == len(key)-1 {
			err := json.Unmarshal(text[members[i].start:members[i].end], &value)
			return value, err == nil
		}
		start = members[i].start
	}
	return "", false
}
