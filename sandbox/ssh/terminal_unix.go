//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package ssh

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/proc"
)

// terminal is the caller's. Without one its methods do nothing.
type terminal struct {
	streams [3]bool
	first   *os.File // the first stream that is one
	input   *os.File
	restore func()
}

// terminalOf finds the streams that are terminals.
func terminalOf(c sandbox.Command) *terminal {
	t := &terminal{}
	for i, stream := range [3]any{c.Stdin, c.Stdout, c.Stderr} {
		f, ok := stream.(*os.File)
		if !ok || f == nil {
			continue
		}
		if !proc.IsTerminal(f) {
			continue
		}
		t.streams[i] = true
		if t.first == nil {
			t.first = f
		}
		if i == 0 {
			t.input = f
		}
	}
	return t
}

func (t *terminal) is() bool      { return t.first != nil }
func (t *terminal) out() *os.File { return t.first }

func (t *terminal) size() (rows, columns uint16) {
	if t.first != nil {
		if s, err := unix.IoctlGetWinsize(int(t.first.Fd()), unix.TIOCGWINSZ); err == nil {
			return s.Row, s.Col
		}
	}
	return 0, 0
}

// mayRead says whether reading would not stop us: a background job must leave
// its terminal alone.
func (t *terminal) mayRead() bool {
	group, err := unix.IoctlGetInt(int(t.input.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp() // with an error it is not the controlling one
}

// begin lets the keys through as they are, so that the terminal there makes
// signals of them.
func (t *terminal) begin() (raw bool) {
	if t.input == nil || !t.mayRead() {
		return false
	}
	restore, err := proc.RawTerminal(t.input)
	if err != nil {
		return false
	}
	t.restore = restore
	return true
}

// close gives the terminal back as it was.
func (t *terminal) close() {
	if t.restore != nil {
		t.restore()
		t.restore = nil
	}
}
