package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// canReadKeys says that single keys can be read on this system.
const canReadKeys = true

// rawTerminal lets single keys be read; restore puts things back.
func rawTerminal(tty *os.File) (restore func(), err error) {
	fd := int(tty.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, err
	}
	raw := *before
	raw.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG | unix.IEXTEN
	raw.Iflag &^= unix.ICRNL | unix.IXON
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &raw); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, unix.TCSETS, before) }, nil
}
