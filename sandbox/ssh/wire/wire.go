// Package wire is the protocol between the backend ssh and the sbx that it
// starts on another machine: frames over the two pipes of one SSH session. The
// command's streams, its signals, a heartbeat and the result share them, so that
// a command costs one session; what the command may be sent is limited by
// credit, so that a command which does not read never holds the heartbeat up.
package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Version is the version of the protocol. The two sides refuse another one.
const Version = 1

// Magic is what the far side says first. Before it may stand what the start
// files of a login shell print.
const Magic = "\x00sbx-far 1\n"

// maxNoise bounds what is skipped before Magic.
const maxNoise = 64 << 10

// Beat is how often each side says that it lives. Silence is how long the far
// side waits before it ends the command: with the time that takes, a tree is gone
// within five seconds of the last sign.
const (
	Beat    = time.Second
	Silence = 4 * time.Second
)

// Window is how many bytes of input may be on their way to a command that does
// not read them.
const Window = 256 << 10

// Chunk bounds the data of one frame of a stream, and MaxFrame any frame.
const (
	Chunk    = 32 << 10
	MaxFrame = 64 << 20
)

// Kind says what a frame is.
type Kind byte

// The kinds. The comment says who sends it and what is in it.
const (
	Begin     Kind = iota + 1 // near: an Order
	Input                     // near: bytes for the command's standard input
	InputEnd                  // near: nothing; there is no more
	Signal                    // near: the name of a signal without SIG, e.g. "TERM"
	Resize                    // near: a Size
	End                       // near: nothing; the caller is gone
	Alive                     // both: nothing
	Output                    // far: bytes of standard output, or of the terminal
	Diagnosis                 // far: bytes of standard error
	Credit                    // far: four bytes, how many more of Input may come
	Done                      // far: an Answer, the last frame
	Deaf                      // near: one byte, 1 or 2: nobody takes that output any more
	Tree                      // both: a part of the exchange of a workspace, see package tree
)

// Size is that of a terminal.
type Size struct{ Rows, Columns uint16 }

// Bytes gives the form of a frame.
func (s Size) Bytes() []byte {
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, s.Rows), s.Columns)
}

// SizeOf reads the form of a frame.
func SizeOf(b []byte) (Size, bool) {
	if len(b) != 4 {
		return Size{}, false
	}
	return Size{binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])}, true
}

// Number gives the form of a frame that is a number.
func Number(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

// NumberOf reads it.
func NumberOf(b []byte) (int, bool) {
	if len(b) != 4 {
		return 0, false
	}
	return int(binary.BigEndian.Uint32(b)), true
}

// Writer sends frames. It is safe for concurrent use.
type Writer struct {
	mu sync.Mutex
	w  io.Writer
}

// NewWriter returns a writer of frames.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Send writes one frame at once.
func (w *Writer) Send(k Kind, data []byte) error {
	frame := make([]byte, 5, 5+len(data))
	frame[0] = byte(k)
	binary.BigEndian.PutUint32(frame[1:], uint32(len(data)))
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.w.Write(append(frame, data...))
	return err
}

// SendJSON writes a frame that holds JSON.
func (w *Writer) SendJSON(k Kind, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if len(data) > MaxFrame {
		return fmt.Errorf("a message of %d bytes", len(data))
	}
	return w.Send(k, data)
}

// Reader receives frames. It is for one goroutine.
type Reader struct{ r *bufio.Reader }

// NewReader returns a reader of frames.
func NewReader(r io.Reader) *Reader { return &Reader{bufio.NewReaderSize(r, 64<<10)} }

// ErrNoMagic says that the other side ended without a word of the protocol.
var ErrNoMagic = errors.New("the other side does not speak the protocol")

// Await skips what stands before Magic.
func (r *Reader) Await() error {
	var seen []byte
	for len(seen) < maxNoise {
		b, err := r.r.ReadByte()
		if err != nil {
			return ErrNoMagic
		}
		if seen = append(seen, b); bytes.HasSuffix(seen, []byte(Magic)) {
			return nil
		}
	}
	return ErrNoMagic
}

// Next returns the next frame. io.EOF: the other side has ended.
func (r *Reader) Next() (Kind, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size > MaxFrame {
		return 0, nil, fmt.Errorf("a frame of %d bytes", size)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r.r, data); err != nil {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return Kind(head[0]), data, nil
}
