//go:build amd64 || arm64

package direct

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/egress"
	"github.com/sbx-run/sbx/sandbox/notify"
	"github.com/sbx-run/sbx/sandbox/spawn"
)

// A socket that does not block is in progress until its host has answered. The
// command's own socket is made to connect to where nobody answers, the call
// returns EINPROGRESS, and the proxy is asked by a socket of ours. When it has the
// host it connects to the command's socket from the address that this one
// waits for. The kernel joins the two (simultaneous open), and only then the
// socket is writable. If the host cannot be reached, the socket is disconnected: it
// has the error ECONNRESET.

// grace is how long the call is held all the same. What is refused by a rule,
// or by a host that is near, is told by the call itself, with the right error.
const grace = 5 * time.Millisecond

// startLater answers a connect of a socket that does not block, and takes the socket
// over. false: it could not, and nothing has happened.
func (c *carrier) startLater(h *notify.Held, fd int, release func()) bool {
	if c.sockets == nil {
		return false
	}
	our, err := c.sockets.make()
	if err != nil {
		return false
	}
	w := waiting{c.stop[0], h.Waits, time.Now().Add(carryTime)}
	if err := w.ask(our, egress.LaterCommand, h.Peer()); err != nil {
		closeAll(our)
		return false
	}
	done := func() {
		closeAll(our, fd)
		release()
	}
	soon := w
	soon.until = time.Now().Add(grace)
	answered := !errors.Is(soon.ready(our, unix.POLLIN), unix.ETIMEDOUT)
	if answered {
		if errno := w.answer(our); errno != 0 {
			h.Done(errno)
			done()
			return true
		}
	}
	port, err := wait(fd)
	if err != nil {
		h.Done(errnoOf(err))
		done()
		return true
	}
	w.alive = nil // the call will be over
	c.later.Go(func() {
		defer done()
		if answered || w.answer(our) == 0 {
			w.join(our, port, fd)
		}
		if waitsAt(fd, port) {
			disconnect(fd)
		}
	})
	h.Done(unix.EINPROGRESS)
	return true
}

// wait makes a socket connect to where nobody answers, and says from which port.
func wait(fd int) (uint16, error) {
	err := unix.Connect(fd, addressFor(fd, sandbox.WaitAddress))
	if !errors.Is(err, unix.EINPROGRESS) {
		return 0, errors.Join(err, errors.New("it did not have to wait"))
	}
	return portOf(fd)
}

func portOf(fd int) (uint16, error) {
	address, err := unix.Getsockname(fd)
	switch a := address.(type) {
	case *unix.SockaddrInet4:
		return uint16(a.Port), nil
	case *unix.SockaddrInet6:
		return uint16(a.Port), nil
	}
	return 0, errors.Join(errors.New("no address"), err)
}

// waitsAt says that a socket waits still: the command can have done something
// else with it.
func waitsAt(fd int, port uint16) bool {
	now, err := portOf(fd)
	return err == nil && now == port && stateOf(fd) == tcpSynSent
}

// joinTime is how long the proxy may take to connect to a socket that waits.
const joinTime = 10 * time.Second

// join tells the proxy where its connection is wanted, and waits for it. The end
// of our socket is part of it.
func (w waiting) join(our int, port uint16, fd int) {
	_, _ = unix.SendmsgN(our, binary.BigEndian.AppendUint16(nil, port), nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	_ = unix.Shutdown(our, unix.SHUT_WR)
	w.until = time.Now().Add(joinTime)
	_ = w.ready(fd, unix.POLLOUT)
}

// mint makes sockets of the command's network, in which we are not. One is
// accepted and disconnected: it stays in the network it was made in.
type mint struct {
	mu    sync.Mutex
	door  int // a listener
	knock int // connects to it
	room  int // the listener of sandbox.WaitAddress, whose queue is full
	seat  int // fills it
}

// planMint makes the two sockets that a mint starts with and sends them.
func (x *explainer) planMint(p *spawn.Plan) {
	if x.carrier == nil {
		return
	}
	for _, listens := range []bool{true, false} {
		m := newRights()
		fd := p.Word(&m.fd)
		p.Call("open a socket of this network", unix.SYS_SOCKET, []uintptr{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, 0}, spawn.Store(fd))
		if listens {
			p.Call("listen on it", unix.SYS_LISTEN, []uintptr{0, 16}, spawn.Load(fd))
		}
		planSend(p, "send it to what connects for the command", x.sockets[1], m)
	}
}

// newMint takes the two over.
func newMint(socket int) (*mint, error) {
	m := &mint{door: -1, knock: -1, room: -1, seat: -1}
	for _, fd := range []*int{&m.door, &m.knock} {
		var err error
		if *fd, err = received(socket); err != nil {
			m.close()
			return nil, fmt.Errorf("receive a socket: %w", err)
		}
		_ = unix.SetNonblock(*fd, true)
	}
	if err := m.furnish(); err != nil {
		m.close()
		return nil, fmt.Errorf("make a place to wait: %w", err)
	}
	return m, nil
}

// furnish makes a listener that answers nobody: its queue holds one, who is there.
func (m *mint) furnish() (err error) {
	if m.room, err = m.make(); err != nil {
		return err
	}
	if m.seat, err = m.make(); err != nil {
		return err
	}
	return errors.Join(
		unix.SetsockoptInt(m.room, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
		unix.SetsockoptInt(m.room, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1), // the proxy connects from there
		unix.Bind(m.room, addressFor(m.room, sandbox.WaitAddress)),
		unix.Listen(m.room, 0),
		m.connect(m.seat, addressFor(m.seat, sandbox.WaitAddress)),
	)
}

// make gives a socket that does not block.
func (m *mint) make() (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	port, err := portOf(m.door)
	if err != nil {
		return -1, err
	}
	if err := m.connect(m.knock, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return -1, err
	}
	defer disconnect(m.knock)
	own, err := portOf(m.knock)
	if err != nil {
		return -1, err
	}
	for {
		fd, from, err := unix.Accept4(m.door, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		if err != nil {
			return -1, err
		}
		if a, ok := from.(*unix.SockaddrInet4); ok && a.Port == int(own) {
			disconnect(fd)
			return fd, nil
		}
		_ = unix.Close(fd) // the command has knocked itself
	}
}

// connect is for the loopback, which answers at once.
func (m *mint) connect(fd int, to unix.Sockaddr) error {
	err := unix.Connect(fd, to)
	if !errors.Is(err, unix.EINPROGRESS) {
		return err
	}
	w := waiting{-1, nil, time.Now().Add(time.Second)}
	if err := w.ready(fd, unix.POLLOUT); err != nil {
		disconnect(fd)
		return err
	}
	if n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR); err != nil || n != 0 {
		return errors.Join(unix.Errno(n), err)
	}
	return nil
}

func (m *mint) close() {
	if m != nil {
		closeAll(m.door, m.knock, m.room, m.seat)
	}
}
