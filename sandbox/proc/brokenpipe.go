package proc

import (
	"errors"
	"io/fs"
	"syscall"
)

// brokenPipe: the command did not read all of its input, which is its right.
func brokenPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, fs.ErrClosed)
}
