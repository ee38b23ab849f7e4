package direct

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/notify"
)

// Programs that ignore proxies are led to the proxy all the same. A connect to
// another host is held; the command's own socket is connected to the proxy of
// its network namespace, and the address that was asked for is told there, by
// SOCKS 5. Then the call ends with what the proxy said. Nothing is done that the
// command could not have done itself, so that nothing here has to be trusted
// with a decision: rules, records and the way out are the proxy's.

const (
	// carryTime is how long a connection may take. The proxy gives up earlier.
	carryTime = 40 * time.Second
	// glance is how often a held call is looked at: its caller may be gone.
	glance = 250 * time.Millisecond
	// atOnce is how many connections are made at once; the rest waits. Each takes
	// a descriptor of ours meanwhile.
	atOnce = 256
)

var errGone = errors.New("the caller is gone")

// carrier answers held connects, so many at once.
func carrier() func(*notify.Held) {
	slots := make(chan struct{}, atOnce)
	return func(h *notify.Held) {
		slots <- struct{}{}
		defer func() { <-slots }()
		carry(h)
	}
}

func carry(h *notify.Held) {
	fd, err := h.Socket()
	if err != nil {
		h.GoOn() // into a network without a way out
		return
	}
	defer unix.Close(fd)
	if !carriable(fd) {
		h.GoOn()
		return
	}
	errno := throughProxy(h, fd)
	if errno != 0 {
		disconnect(fd) // the command may try again with it
	}
	h.Done(errno)
}

// carriable says that a socket is of TCP and was not connected yet.
func carriable(fd int) bool {
	option := func(name int) int {
		n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, name)
		if err != nil {
			return -1
		}
		return n
	}
	domain, protocol := option(unix.SO_DOMAIN), option(unix.SO_PROTOCOL)
	if domain != unix.AF_INET && domain != unix.AF_INET6 || option(unix.SO_TYPE) != unix.SOCK_STREAM {
		return false
	}
	if protocol != unix.IPPROTO_TCP && protocol != unix.IPPROTO_MPTCP {
		return false
	}
	_, err := unix.Getpeername(fd)
	return errors.Is(err, unix.ENOTCONN)
}

// throughProxy connects a socket to the proxy and asks it for the peer.
func throughProxy(h *notify.Held, fd int) unix.Errno {
	until := time.Now().Add(carryTime)
	err := unix.Connect(fd, proxyFor(fd))
	if err != nil && !errors.Is(err, unix.EINPROGRESS) && !errors.Is(err, unix.EINTR) {
		return errnoOf(err)
	}
	if err := ready(h, fd, unix.POLLOUT, until); err != nil {
		return errnoOf(err)
	}
	if n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR); err != nil || n != 0 {
		return unix.ENETUNREACH
	}
	var reply [10]byte
	for _, step := range []struct{ say, hear []byte }{
		{[]byte{5, 1, 0}, reply[:2]}, // version 5, one method: none
		{socksRequest(h.Peer()), reply[:]},
	} {
		if err := exchange(h, fd, step.say, step.hear, until); err != nil {
			return errnoOf(err)
		}
		if reply[0] != 5 {
			return unix.EPROTO
		}
		if reply[1] != 0 {
			return socksErrno(reply[1])
		}
	}
	return 0
}

// proxyFor is the proxy's address as a socket of this family takes it.
func proxyFor(fd int) unix.Sockaddr {
	at := netip.MustParseAddrPort(sandbox.ProxyAddress)
	if domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN); err == nil && domain == unix.AF_INET6 {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0) // the proxy has an IPv4 address
		return &unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()}
	}
	return &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
}

// socksRequest asks for a connection (RFC 1928).
func socksRequest(to netip.AddrPort) []byte {
	kind := byte(4)
	if to.Addr().Is4() {
		kind = 1
	}
	return binary.BigEndian.AppendUint16(append([]byte{5, 1, 0, kind}, to.Addr().AsSlice()...), to.Port())
}

// socksErrno translates the proxy's refusals.
func socksErrno(code byte) unix.Errno {
	switch code {
	case 2: // by its rules
		return unix.EACCES
	case 4:
		return unix.EHOSTUNREACH
	case 5:
		return unix.ECONNREFUSED
	}
	return unix.ETIMEDOUT
}

// exchange says something and hears exactly as much as is expected: what comes
// behind it is for the command.
func exchange(h *notify.Held, fd int, say, hear []byte, until time.Time) error {
	for len(say) > 0 {
		if err := ready(h, fd, unix.POLLOUT, until); err != nil {
			return err
		}
		n, err := unix.SendmsgN(fd, say, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if err != nil && !again(err) {
			return err
		}
		say = say[max(n, 0):]
	}
	for len(hear) > 0 {
		if err := ready(h, fd, unix.POLLIN, until); err != nil {
			return err
		}
		n, _, err := unix.Recvfrom(fd, hear, unix.MSG_DONTWAIT)
		switch {
		case err != nil && !again(err):
			return err
		case err == nil && n == 0:
			return unix.ECONNRESET // the proxy has ended
		}
		hear = hear[max(n, 0):]
	}
	return nil
}

func again(err error) bool { return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) }

// ready waits for a socket as long as somebody waits for the answer.
func ready(h *notify.Held, fd int, events int16, until time.Time) error {
	for time.Now().Before(until) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: events}}
		n, err := unix.Poll(fds, int(glance/time.Millisecond))
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return err
		case n > 0:
			return nil
		case !h.Waits():
			return errGone
		}
	}
	return unix.ETIMEDOUT
}

func errnoOf(err error) unix.Errno {
	var errno unix.Errno
	if errors.As(err, &errno) && errno != 0 {
		return errno
	}
	return unix.ECONNABORTED
}

// disconnect makes a socket one that was never connected.
func disconnect(fd int) {
	address := unix.RawSockaddr{Family: unix.AF_UNSPEC}
	_, _, _ = unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&address)), unsafe.Sizeof(address))
}
