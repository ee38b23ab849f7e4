//go:build unix

package netproxy

import (
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// peek waits for the first byte of a connection and leaves it there, so that
// the connection needs no wrapper that would keep the kernel from moving the
// data by itself.
func peek(c net.Conn) (byte, error) {
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var b [1]byte
	var n int
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		n, _, failed = unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK)
		return failed != unix.EAGAIN && failed != unix.EINTR
	})
	switch {
	case err != nil:
		return 0, err
	case failed != nil:
		return 0, failed
	case n == 0:
		return 0, io.EOF
	}
	return b[0], nil
}
