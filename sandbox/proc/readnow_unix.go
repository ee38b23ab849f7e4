//go:build unix

package proc

import (
	"io"
	"os"
	"syscall"
	"time"
)

// readNow reads what is there and does not wait; the deadline is taken away.
func readNow(pipe *os.File, b []byte) (n int, err error) {
	if err := pipe.SetReadDeadline(time.Time{}); err != nil {
		return 0, err
	}
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	failed := raw.Read(func(fd uintptr) bool {
		for n, err = syscall.Read(int(fd), b); err == syscall.EINTR; {
			n, err = syscall.Read(int(fd), b)
		}
		return true
	})
	switch {
	case failed != nil:
		return 0, failed
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}
