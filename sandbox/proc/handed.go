package proc

import (
	"os"

	"github.com/sbx-run/sbx/sandbox"
)

// Handed are the streams of a command that another process starts, which gets
// them as descriptors. A file of the caller is handed over as it is; behind
// anything else is a pipe and a copier.
type Handed struct{ streams *streams }

// HandOver opens the streams of a command.
func HandOver(c sandbox.Command) (*Handed, error) {
	s, err := openStreams(c, sandbox.Limits{})
	return &Handed{s}, err
}

// Files are descriptors 0, 1 and 2.
func (h *Handed) Files() []*os.File { return h.streams.child }

// Sent closes what the other process has now and begins to copy.
func (h *Handed) Sent() { h.streams.started() }

// Finish waits for the copying once the command has ended and returns the
// bytes that were written; nil when nothing was copied.
func (h *Handed) Finish() (*int64, error) { return h.streams.finish() }

// Close lets go of streams that were not sent.
func (h *Handed) Close() { _ = h.streams.close() }
