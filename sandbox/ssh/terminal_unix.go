//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package ssh

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// terminal is the caller's. Without one its methods do nothing.
type terminal struct {
	streams [3]bool
	first   *os.File // the first stream that is one
	input   *os.File
	restore *unix.Termios
}

// terminalOf finds the streams that are terminals.
func terminalOf(c sandbox.Command) *terminal {
	t := &terminal{}
	for i, stream := range [3]any{c.Stdin, c.Stdout, c.Stderr} {
		f, ok := stream.(*os.File)
		if !ok || f == nil {
			continue
		}
		if _, err := unix.IoctlGetTermios(int(f.Fd()), getTermios); err != nil {
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
	fd := int(t.input.Fd())
	have, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return false
	}
	mode := *have
	mode.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	mode.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	mode.Oflag &^= unix.OPOST
	mode.Cc[unix.VMIN], mode.Cc[unix.VTIME] = 1, 0
	if unix.IoctlSetTermios(fd, setTermios, &mode) != nil {
		return false
	}
	t.restore = have
	return true
}

// close gives the terminal back as it was.
func (t *terminal) close() {
	if t.restore != nil {
		_ = unix.IoctlSetTermios(int(t.input.Fd()), setTermios, t.restore)
		t.restore = nil
	}
}
