package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// isPath says that a descriptor is a name of something, and not for reading or
// writing.
func isPath(f *os.File) bool {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_PATH != 0
}
