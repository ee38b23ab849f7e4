//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package proc

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)
