//go:build amd64 || arm64

package direct

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"sync"
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

// carrier answers held connects of one run, so many at once.
type carrier struct {
	slots   chan struct{}
	stop    [2]int // a pipe: its end ends all that waits
	sockets *mint  // of the command's network; nil: connections that do not block are held, too
	later   sync.WaitGroup
}

func newCarrier() *carrier { return &carrier{slots: make(chan struct{}, atOnce), stop: [2]int{-1, -1}} }

func (c *carrier) open() error { return unix.Pipe2(c.stop[:], unix.O_CLOEXEC) }

// cancel ends what waits.
func (c *carrier) cancel() {
	closeAll(c.stop[1])
	c.stop[1] = -1
}

// end lets go of everything. No call is held any more.
func (c *carrier) end() {
	if c == nil {
		return
	}
	c.cancel()
	c.later.Wait()
	closeAll(c.stop[0])
	c.sockets.close()
	c.stop[0], c.sockets = -1, nil
}

func (c *carrier) carry(h *notify.Held) {
	c.slots <- struct{}{}
	release := func() { <-c.slots }
	fd, err := h.Socket()
	if err != nil {
		release()
		h.GoOn() // into a network without a way out
		return
	}
	switch what := kindOf(fd); {
	case what == notCarried:
		h.GoOn()
	case what == underWay:
		h.Pass() // EALREADY, EISCONN or, once, 0
	case what == notBlocking && c.startLater(h, fd, release):
		return // fd and the slot are its own now
	default:
		errno := c.throughProxy(h, fd)
		if errno != 0 {
			disconnect(fd) // the command may try again with it
		}
		h.Done(errno)
	}
	_ = unix.Close(fd)
	release()
}

// kind is what a socket is to the carrier.
type kind int

const (
	notCarried  kind = iota // not of TCP
	underWay                // connected, or about to be
	blocking                // the call returns when it is connected
	notBlocking             // the call returns at once
)

func kindOf(fd int) kind {
	option := func(name int) int {
		n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, name)
		if err != nil {
			return -1
		}
		return n
	}
	domain := option(unix.SO_DOMAIN)
	if domain != unix.AF_INET && domain != unix.AF_INET6 || option(unix.SO_TYPE) != unix.SOCK_STREAM {
		return notCarried
	}
	switch option(unix.SO_PROTOCOL) {
	case unix.IPPROTO_TCP:
	case unix.IPPROTO_MPTCP: // has states of its own
		if _, err := unix.Getpeername(fd); !errors.Is(err, unix.ENOTCONN) {
			return underWay
		}
		return blocking
	default:
		return notCarried
	}
	if stateOf(fd) != tcpClose {
		return underWay
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err == nil && flags&unix.O_NONBLOCK != 0 {
		return notBlocking
	}
	return blocking
}

// States of tcp(7) as TCP_INFO tells them.
const (
	tcpSynSent = 2
	tcpClose   = 7
)

func stateOf(fd int) uint8 {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return 0
	}
	return info.State
}

// throughProxy connects a socket to the proxy and asks it for the peer.
func (c *carrier) throughProxy(h *notify.Held, fd int) unix.Errno {
	w := waiting{c.stop[0], h.Waits, time.Now().Add(carryTime)}
	if err := w.ask(fd, socksConnect, h.Peer()); err != nil {
		return errnoOf(err)
	}
	return w.answer(fd)
}

const socksConnect = 1

// ask connects a socket to the proxy, and says what is wanted.
func (w waiting) ask(fd int, command byte, peer netip.AddrPort) error {
	err := unix.Connect(fd, proxyFor(fd))
	if err != nil && !errors.Is(err, unix.EINPROGRESS) && !errors.Is(err, unix.EINTR) {
		return err
	}
	if err := w.ready(fd, unix.POLLOUT); err != nil {
		return err
	}
	if n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR); err != nil || n != 0 {
		return unix.ENETUNREACH
	}
	var methods [2]byte
	if err := w.exchange(fd, []byte{5, 1, 0}, methods[:]); err != nil { // version 5, one method: none
		return err
	}
	if methods != [2]byte{5, 0} {
		return unix.EPROTO
	}
	return w.exchange(fd, socksRequest(command, peer), nil)
}

// answer hears what the proxy says to that.
func (w waiting) answer(fd int) unix.Errno {
	var reply [10]byte
	if err := w.exchange(fd, nil, reply[:]); err != nil {
		return errnoOf(err)
	}
	switch {
	case reply[0] != 5:
		return unix.EPROTO
	case reply[1] != 0:
		return socksErrno(reply[1])
	}
	return 0
}

// proxyFor is the proxy's address as a socket of this family takes it.
func proxyFor(fd int) unix.Sockaddr { return addressFor(fd, sandbox.ProxyAddress) }

func addressFor(fd int, address string) unix.Sockaddr {
	at := netip.MustParseAddrPort(address)
	if domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN); err == nil && domain == unix.AF_INET6 {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0) // the proxy has an IPv4 address
		return &unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()}
	}
	return &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
}

// socksRequest asks for a connection (RFC 1928).
func socksRequest(command byte, to netip.AddrPort) []byte {
	kind := byte(4)
	if to.Addr().Is4() {
		kind = 1
	}
	return binary.BigEndian.AppendUint16(append([]byte{5, command, 0, kind}, to.Addr().AsSlice()...), to.Port())
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

// waiting says how long to wait.
type waiting struct {
	stop  int         // a descriptor whose end ends it
	alive func() bool // somebody waits for the answer; nil: always
	until time.Time
}

// exchange says something and hears exactly as much as is expected: what comes
// behind it is for the command.
func (w waiting) exchange(fd int, say, hear []byte) error {
	for len(say) > 0 {
		if err := w.ready(fd, unix.POLLOUT); err != nil {
			return err
		}
		n, err := unix.SendmsgN(fd, say, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if err != nil && !again(err) {
			return err
		}
		say = say[max(n, 0):]
	}
	for len(hear) > 0 {
		if err := w.ready(fd, unix.POLLIN); err != nil {
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

// ready waits for a socket.
func (w waiting) ready(fd int, events int16) error {
	for {
		left := time.Until(w.until)
		if left <= 0 {
			return unix.ETIMEDOUT
		}
		if w.alive != nil {
			left = min(left, glance)
		}
		fds := []unix.PollFd{{Fd: int32(fd), Events: events}, {Fd: int32(w.stop)}}
		_, err := unix.Poll(fds, int((left+time.Millisecond-1)/time.Millisecond))
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return err
		case fds[1].Revents != 0:
			return errGone
		case fds[0].Revents != 0:
			return nil
		case w.alive != nil && !w.alive():
			return errGone
		}
	}
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
