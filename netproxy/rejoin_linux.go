package netproxy

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// rejoinTime is how long the client of a connection may take to say where it is
// wanted, and the kernel to make it.
const rejoinTime = 10 * time.Second

// rejoin does what egress.LaterCommand says. A socket that was accepted belongs to
// the network of the command for ever, so that this one is of use there. It gets
// a descriptor of its own for that: what the poller of Go knows of the old one
// would be taken for an error of the new connection.
func rejoin(c net.Conn) (net.Conn, error) {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	if err := tcp.SetDeadline(time.Now().Add(rejoinTime)); err != nil {
		return nil, err
	}
	var port [2]byte
	if _, err := io.ReadFull(c, port[:]); err != nil {
		return nil, err
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		return nil, errors.New("want the end behind a port")
	}
	file, err := tcp.File()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = connectAnew(int(fd), binary.BigEndian.Uint16(port[:])) }); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, failed
	}
	return net.FileConn(file)
}

func connectAnew(fd int, port uint16) error {
	nowhere := unix.RawSockaddr{Family: unix.AF_UNSPEC}
	if _, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&nowhere)), unsafe.Sizeof(nowhere)); errno != 0 {
		return errno
	}
	for _, option := range [...]int{unix.SO_REUSEADDR, unix.SO_REUSEPORT} { // all come from one address
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, 1); err != nil {
			return err
		}
	}
	at := netip.MustParseAddrPort(sandbox.WaitAddress)
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}); err != nil {
		return err
	}
	err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(port), Addr: at.Addr().As4()})
	if !errors.Is(err, unix.EINPROGRESS) {
		return err
	}
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	for n := 0; n == 0; {
		switch n, err = unix.Poll(poll, int(rejoinTime/time.Millisecond)); {
		case errors.Is(err, unix.EINTR): // the scheduler of Go sends signals
			n = 0
		case err != nil:
			return err
		case n == 0:
			return unix.ETIMEDOUT
		}
	}
	if n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR); err != nil || n != 0 {
		return errors.Join(unix.Errno(n), err)
	}
	return nil
}
