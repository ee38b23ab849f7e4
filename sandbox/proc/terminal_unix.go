//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// IsTerminal reports a file that is a terminal.
func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	return err == nil
}

// RawTerminal lets the keys through as they are, so that a terminal elsewhere makes
// signals of them. restore gives the terminal back as it was.
func RawTerminal(f *os.File) (restore func(), err error) {
	return changeTerminal(f, func(mode *unix.Termios) {
		mode.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
		mode.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
		mode.Oflag &^= unix.OPOST
	})
}

// KeysTerminal lets single keys be read, and what is shown be shown as usual.
// restore gives the terminal back as it was.
func KeysTerminal(f *os.File) (restore func(), err error) {
	return changeTerminal(f, func(mode *unix.Termios) {
		mode.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG | unix.IEXTEN
		mode.Iflag &^= unix.ICRNL | unix.IXON
	})
}

func changeTerminal(f *os.File, change func(*unix.Termios)) (restore func(), err error) {
	fd := int(f.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, err
	}
	mode := *before
	change(&mode)
	mode.Cc[unix.VMIN], mode.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, setTermios, &mode); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(int(f.Fd()), setTermios, before) }, nil
}
