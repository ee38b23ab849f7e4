// Package redact takes credentials out of a stream of output: the values of
// known secrets wherever they stand, also encoded, and then what has the shape of
// a credential. It is a courtesy to whoever reads the output, and no boundary: a
// command that wants to print a secret can spell it in a way that nobody finds.
package redact

import (
	"io"
	"sync"
)

const (
	// ShortestSecret is the length in bytes below which a value is not looked
	// for: a short one stands in ordinary words.
	ShortestSecret = 12

	// sniffed bytes at the beginning of a stream decide whether it is text.
	sniffed = 512

	// Removed stands for the value of a known secret.
	Removed = "«redacted secret»"
)

// Writer redacts what is written to it and passes it on. It is safe for
// concurrent use. What may be the beginning of a credential is held back, at
// most about 8 KiB, until more is written, Flush or Close.
type Writer struct {
	mu      sync.Mutex
	out     io.Writer
	values  search
	exact   bool // shapes are not looked for
	shapes  shapes
	seen    int  // bytes so far, up to sniffed
	binary  bool // a NUL was among the first: nothing is changed any more
	scratch []byte
	hits    int
	err     error
}

// Secrets are values to look for. They serve any number of writers at a time.
type Secrets struct{ needles *needles }

// Prepare makes values ready to be found: those of at least ShortestSecret bytes.
func Prepare(values []string) Secrets { return Secrets{newNeedles(values)} }

// NewWriter redacts the secrets, those of at least ShortestSecret bytes, and
// what is shaped like one.
func NewWriter(out io.Writer, secrets []string) *Writer {
	return Prepare(secrets).Writer(out, true)
}

// Writer redacts the secrets, and what is shaped like one where shapes is set.
func (s Secrets) Writer(out io.Writer, shapes bool) *Writer {
	return &Writer{out: out, values: search{needles: s.needles}, exact: !shapes}
}

// Write redacts p. It accepts all of p also where some of it is held back.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if w.seen < sniffed && !w.binary {
		head := p[:min(len(p), sniffed-w.seen)]
		w.seen += len(head)
		for _, c := range head {
			if c == 0 {
				w.flush()
				w.binary = true
				break
			}
		}
	}
	if w.binary {
		return w.pass(p, len(p))
	}
	w.scratch = w.values.next(w.scratch[:0], p, false, &w.hits)
	return w.shaped(len(p), false)
}

// shaped runs the second stage over what the first one gave.
func (w *Writer) shaped(n int, final bool) (int, error) {
	text := w.scratch
	if !w.exact {
		text = w.shapes.next(text, final, &w.hits)
	}
	if len(text) == 0 {
		return n, w.err
	}
	return w.pass(text, n)
}

func (w *Writer) pass(p []byte, n int) (int, error) {
	if w.err == nil {
		if _, err := w.out.Write(p); err != nil {
			w.err = err
			return 0, err
		}
	}
	return n, w.err
}

func (w *Writer) flush() {
	if w.binary {
		return
	}
	w.scratch = w.values.next(w.scratch[:0], nil, true, &w.hits)
	_, _ = w.shaped(0, true)
}

// Flush passes on what is held back, as if the output ended here. It is for a
// pause in the output: a prompt that waits for an answer has to be seen. What
// follows a value that was cut in two this way is redacted all the same.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush()
	return w.err
}

// Close is Flush. The writer below is not closed.
func (w *Writer) Close() error { return w.Flush() }

// Hits is the number of places that were redacted.
func (w *Writer) Hits() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hits
}

// Text redacts a whole text.
func Text(text string, secrets []string) string {
	var b sink
	w := NewWriter(&b, secrets)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return string(b)
}

type sink []byte

func (s *sink) Write(p []byte) (int, error) {
	*s = append(*s, p...)
	return len(p), nil
}
