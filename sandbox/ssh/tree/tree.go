// Package tree carries a directory between two machines: what has changed since
// the two were last the same, in both directions, deletions included. What
// changed on both sides is a conflict, and neither is overwritten. Names that
// come from the other side are never trusted: everything is done below one opened
// directory, and through no link.
package tree

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Kind is what an entry is. Others (sockets, pipes, devices) are not carried.
type Kind byte

// The kinds.
const (
	None      Kind = iota // there is nothing
	File                  // regular
	Directory             //
	Link                  // symbolic, carried as a text and never followed
)

// Entry is one name below the directory.
type Entry struct {
	Path  string // slashes, relative, clean; any byte but NUL
	Kind  Kind
	Mode  fs.FileMode // permissions alone: nothing that is set-id crosses
	MTime int64       // of a file, in nanoseconds
	Size  int64       // of a file
	Sum   [sha256.Size]byte
	To    string // of a link
}

// same says whether two entries hold the same. When a file was changed is not
// part of that.
func (e Entry) same(o Entry) bool {
	if e.Kind != o.Kind {
		return false
	}
	switch e.Kind {
	case File:
		return e.Mode == o.Mode && e.Size == o.Size && e.Sum == o.Sum
	case Directory:
		return e.Mode == o.Mode
	case Link:
		return e.To == o.To
	}
	return true
}

// List is a directory: entries in the order of their paths.
type List []Entry

// find gives the entry of a path; one of kind None when there is none.
func (l List) find(p string) Entry {
	if i, ok := slices.BinarySearchFunc(l, p, func(e Entry, p string) int { return strings.Compare(e.Path, p) }); ok {
		return l[i]
	}
	return Entry{Path: p}
}

func (l List) sort() {
	slices.SortFunc(l, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
}

// Digest tells lists apart.
func (l List) Digest() [sha256.Size]byte { return sha256.Sum256(l.Bytes()) }

// Bytes is the form of a list in files and on the wire.
func (l List) Bytes() []byte {
	var b []byte
	for _, e := range l {
		b = e.append(b)
	}
	return b
}

func (e Entry) append(b []byte) []byte {
	b = binary.AppendUvarint(append(b, byte(e.Kind)), uint64(e.Mode))
	b = binary.AppendVarint(b, e.MTime)
	b = binary.AppendVarint(b, e.Size)
	if e.Kind == File {
		b = append(b, e.Sum[:]...)
	}
	for _, text := range [...]string{e.Path, e.To} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return b
}

var errForm = errors.New("a list of files is damaged")

// maxName bounds a path and the text of a link, as the kernel does.
const maxName = 4096

// Parse reads the form of a list. It refuses names that would not stay below the
// directory, that stand twice, or that lie below something that is no directory.
func Parse(b []byte) (List, error) {
	var list List
	r := bytes.NewReader(b)
	for r.Len() > 0 {
		e, err := read(r)
		if err != nil {
			return nil, err
		}
		if err := checkName(e.Path); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	list.sort()
	for i, e := range list {
		if i > 0 && list[i-1].Path == e.Path {
			return nil, fmt.Errorf("name %q: it stands twice", e.Path)
		}
	}
	return list, nil
}

// whole refuses a list that is no directory: a name lies below something else.
func (l List) whole() error {
	for _, e := range l {
		if dir := path.Dir(e.Path); dir != "." && l.find(dir).Kind != Directory {
			return fmt.Errorf("name %q: %q is no directory", e.Path, dir)
		}
	}
	return nil
}

func read(r *bytes.Reader) (e Entry, err error) {
	fail := func() (Entry, error) { return e, errForm }
	kind, _ := r.ReadByte()
	mode, err := binary.ReadUvarint(r)
	if err != nil || Kind(kind) > Link {
		return fail()
	}
	e.Kind, e.Mode = Kind(kind), fs.FileMode(mode)&fs.ModePerm
	if e.MTime, err = binary.ReadVarint(r); err != nil {
		return fail()
	}
	if e.Size, err = binary.ReadVarint(r); err != nil || e.Size < 0 {
		return fail()
	}
	if e.Kind == File {
		if n, _ := r.Read(e.Sum[:]); n != len(e.Sum) {
			return fail()
		}
	}
	for _, to := range [...]*string{&e.Path, &e.To} {
		n, err := binary.ReadUvarint(r)
		if err != nil || n > maxName || n > uint64(r.Len()) {
			return fail()
		}
		text := make([]byte, n)
		_, _ = r.Read(text)
		*to = string(text)
	}
	return e, nil
}

// checkName refuses a path that is not one plain way down.
func checkName(p string) error {
	if p == "" || len(p) > maxName || strings.IndexByte(p, 0) >= 0 || path.IsAbs(p) {
		return fmt.Errorf("name %q: no name below the workspace", p)
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("name %q: it does not stay below the workspace", p)
		}
	}
	return nil
}
