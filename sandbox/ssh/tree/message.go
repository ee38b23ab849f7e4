package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Conn carries messages to the other side and back, in order.
type Conn interface {
	Send(message []byte) error
	Receive() ([]byte, error)
}

// The first byte of a message. Who sends it is in the comment.
const (
	opList    = 'l' // near: the digest of what it believes to be there
	opSame    = 's' // far: so it is
	opPart    = 'p' // far: a part of the list, or of what has changed
	opEnd     = '.' // far: the end of it; one byte: 1 when the directory is new
	opChange  = 'c' // near: two entries, a change without bytes
	opFile    = 'f' // both: two entries, or the one that was asked for: bytes follow
	opData    = 'd' // both: bytes
	opDone    = 'e' // both: the end of the bytes
	opFetch   = 'g' // near: an entry whose bytes it wants
	opMissing = 'x' // far: in place of a file, why not
	opCommit  = 'k' // near: what was sent is all; far: what failed, as JSON
	opRun     = 'r' // near: the command may run
	opQuit    = 'q' // near: the exchange is over
)

// chunk bounds the bytes of one message, and listPart a part of a list.
const (
	chunk    = 32 << 10
	listPart = 1 << 20
)

var errTalk = errors.New("the exchange of files lost its order")

// change is the form of two entries.
func (c Change) bytes() []byte { return c.To.append(c.From.append(nil)) }

func parseChange(b []byte) (c Change, err error) {
	r := bytes.NewReader(b)
	if c.From, err = read(r); err != nil {
		return c, err
	}
	if c.To, err = read(r); err != nil {
		return c, err
	}
	if c.From.Path != c.To.Path || r.Len() > 0 {
		return c, errForm
	}
	return c, checkName(c.From.Path)
}

// parseChanges reads the forms of many.
func parseChanges(b []byte) (list []Change, err error) {
	for r := bytes.NewReader(b); r.Len() > 0; {
		var c Change
		if c.From, err = read(r); err != nil {
			return nil, err
		}
		if c.To, err = read(r); err != nil {
			return nil, err
		}
		if c.From.Path != c.To.Path {
			return nil, errForm
		}
		if err := checkName(c.From.Path); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

func send(c Conn, op byte, data []byte) error {
	return c.Send(append([]byte{op}, data...))
}

// receive takes a message that is one of those that may come now.
func receive(c Conn, ops string) (byte, []byte, error) {
	m, err := c.Receive()
	if err != nil {
		return 0, nil, err
	}
	if len(m) == 0 || strings.IndexByte(ops, m[0]) < 0 {
		return 0, nil, errTalk
	}
	return m[0], m[1:], nil
}

// sendParts sends a long text.
func sendParts(c Conn, text []byte, fresh bool) error {
	for len(text) > 0 {
		n := min(len(text), listPart)
		if err := send(c, opPart, text[:n]); err != nil {
			return err
		}
		text = text[n:]
	}
	flag := byte(0)
	if fresh {
		flag = 1
	}
	return send(c, opEnd, []byte{flag})
}

// maxList bounds a list: a million files have less.
const maxList = 1 << 30

// receiveParts takes it. same: the other side has what was believed.
func receiveParts(c Conn) (text []byte, fresh, same bool, err error) {
	for {
		op, data, err := receive(c, string([]byte{opPart, opEnd, opSame}))
		switch {
		case err != nil:
			return nil, false, false, err
		case op == opSame:
			return nil, false, true, nil
		case op == opEnd:
			return text, len(data) == 1 && data[0] == 1, false, nil
		}
		if text = append(text, data...); len(text) > maxList {
			return nil, false, false, errForm
		}
	}
}

// Error lists what could not be carried.
type Error struct {
	What string // in a sentence: "not carried to HOST"
	List []Conflict
}

// maxListed is how many names stand in a message.
const maxListed = 10

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.What)
	for i, c := range e.List {
		if i == maxListed {
			fmt.Fprintf(&b, "; and %d more", len(e.List)-i)
			break
		}
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&b, "%s%q %s", sep, c.Path, c.Why)
	}
	return b.String()
}

// conflictsJSON is the form of failures on the wire.
func conflictsJSON(list []Conflict) []byte {
	text, _ := json.Marshal(list)
	return text
}
