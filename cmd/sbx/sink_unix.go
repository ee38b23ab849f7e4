//go:build unix

package main

import (
	"errors"

	"golang.org/x/sys/unix"
)

// inherited checks that fd came from the caller and can be written to, and
// keeps it from the command. The runtime's own descriptors are all closed on
// exec, so none of them can be taken for the caller's.
func inherited(fd int) error {
	if fd == 0 {
		return errors.New("it is standard input")
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC != 0 {
		return errors.New("the caller did not open it")
	}
	mode, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || mode&unix.O_ACCMODE == unix.O_RDONLY {
		return errors.New("it is not open for writing")
	}
	if fd > 2 {
		unix.CloseOnExec(fd)
	}
	return nil
}
