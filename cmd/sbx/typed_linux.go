package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// forgetTyped drops what the terminal has read and nobody has taken.
func forgetTyped(tty *os.File) {
	_ = unix.IoctlSetInt(int(tty.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
