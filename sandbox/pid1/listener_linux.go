package pid1

import (
	"errors"
	"fmt"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// offerListener makes the listener of sandbox.ProxyAddress on the container's
// own loopback, gives it to the host and waits until a proxy serves it: a
// command that has started can always reach its proxy.
func offerListener(c *Conn) error {
	at, err := netip.ParseAddrPort(sandbox.ProxyAddress)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "listener")
	defer f.Close()
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}); err != nil {
		return err
	}
	if err := unix.Listen(fd, 4096); err != nil {
		return err
	}
	if err := c.send(message{Listener: true}, f); err != nil {
		return err
	}
	m, files, err := c.receive()
	closeFiles(files)
	if err == nil && !m.Ready {
		err = errors.New("the host did not say that the proxy serves")
	}
	return err
}

// takeListener is the host's part of it.
func (c *Conn) takeListener(serve func(listener *os.File) error) error {
	m, files, err := c.receive()
	defer closeFiles(files)
	switch {
	case err != nil:
		return err
	case m.Answer != nil:
		return errors.New(m.Answer.Error)
	case !m.Listener || len(files) != 1:
		return errors.New("the container made no listener")
	}
	if err := serve(files[0]); err != nil {
		return fmt.Errorf("serve the command's proxy: %w", err)
	}
	return c.send(message{Ready: true})
}
