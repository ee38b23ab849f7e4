//go:build unix

package far

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox/ssh/wire"
)

// decode reads an order. What this sbx does not know may have been meant to
// confine.
func decode(text []byte, o *wire.Order) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(o)
}

// streams are this side's ends of the command's streams.
type streams struct {
	conn   *conn
	theirs []*os.File // the command's ends, open until it has ended
	ours   []*os.File
	out    sync.WaitGroup
	drain  *os.File // the terminal
}

// open makes the streams of a command and begins to carry them.
func (c *conn) open(t *Task) (*streams, error) {
	s := &streams{conn: c}
	want := t.Order.Streams
	if slices.Contains(want[:], wire.Terminal) {
		end, err := c.openTerminal(s, wire.Size{Rows: t.Order.Rows, Columns: t.Order.Columns})
		if err != nil {
			s.drop()
			return nil, err
		}
		if want[0] == wire.Terminal {
			t.Stdin = end
		}
		for i, to := range [...]*io.Writer{&t.Stdout, &t.Stderr} {
			if want[i+1] == wire.Terminal {
				*to = end
			}
		}
	}
	if want[0] == wire.Pipe {
		read, write, err := s.pipe()
		if err != nil {
			s.drop()
			return nil, err
		}
		t.Stdin = read
		s.theirs, s.ours = append(s.theirs, read), append(s.ours, write)
		go c.feed(write, true)
	} else if want[0] == wire.Terminal {
		go c.feed(s.drain, false)
	}
	for i, to := range [...]*io.Writer{&t.Stdout, &t.Stderr} {
		if want[i+1] != wire.Pipe {
			continue
		}
		read, write, err := s.pipe()
		if err != nil {
			s.drop()
			return nil, err
		}
		*to = write
		s.theirs, s.ours = append(s.theirs, write), append(s.ours, read)
		c.mu.Lock()
		c.outputs[i] = read
		c.mu.Unlock()
		kind := [...]wire.Kind{wire.Output, wire.Diagnosis}[i]
		s.out.Go(func() { c.carry(read, kind) })
	}
	if s.drain != nil {
		s.out.Go(func() { c.carry(s.drain, wire.Output) })
	}
	return s, nil
}

func (s *streams) pipe() (read, write *os.File, err error) { return os.Pipe() }

// drop lets go of what was opened.
func (s *streams) drop() {
	for _, f := range append(s.theirs, s.ours...) {
		_ = f.Close()
	}
}

// close waits until what the command has written is sent.
func (s *streams) close() {
	for _, f := range s.theirs {
		_ = f.Close()
	}
	s.out.Wait()
	s.conn.mu.Lock()
	s.conn.terminal, s.conn.outputs = nil, [2]*os.File{}
	s.conn.mu.Unlock()
	for _, f := range s.ours {
		_ = f.Close()
	}
}

// carry sends what the command writes.
func (c *conn) carry(from *os.File, kind wire.Kind) {
	buffer := make([]byte, wire.Chunk)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if serr := c.out.Send(kind, buffer[:n]); serr != nil {
				c.end()
				_, _ = io.Copy(io.Discard, from)
				return
			}
		}
		if err != nil { // also EIO, of a terminal that nobody has open
			return
		}
	}
}

// feed gives the command its input, and credit for what it took. An end of input
// is an end of a pipe; a terminal has none.
func (c *conn) feed(to *os.File, closes bool) {
	broken := false
	for {
		data, err := c.input.take()
		if err != nil {
			if closes {
				_ = to.Close()
			}
			return
		}
		if !broken {
			_, werr := to.Write(data)
			broken = errors.Is(werr, unix.EPIPE) || errors.Is(werr, os.ErrClosed) || errors.Is(werr, unix.EIO)
		}
		_ = c.out.Send(wire.Credit, wire.Number(len(data)))
	}
}
