//go:build unix

package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// Duplicate gives a descriptor above 2 for the same file: a write to 1 or 2 that
// nobody reads would end this process (os/signal).
func Duplicate(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
