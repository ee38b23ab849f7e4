//go:build unix

package egress

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// StartHere starts the proxy with a listener of this machine, for sandboxes that
// have no network of their own. It says where that is: at a free port of the
// loopback, which the other programs of this machine reach as well.
func StartHere(e *sandbox.Egress) (gate *Gate, address string, err error) {
	if e == nil || e.Proxy == "" {
		return nil, "", errNoProxy
	}
	listener, port, err := listen()
	if err != nil {
		return nil, "", fmt.Errorf("make the listener of sbx-proxy: %w", err)
	}
	defer unix.Close(listener)
	control, err := streamPair()
	if err != nil {
		return nil, "", fmt.Errorf("make socket: %w", err)
	}
	pid, err := execProxy(e.Proxy, control[1], listener)
	_ = unix.Close(control[1])
	if err != nil {
		_ = unix.Close(control[0])
		return nil, "", fmt.Errorf("start %q: %w", e.Proxy, err)
	}
	if gate, err = newGate(e, pid, control[0], -1); err != nil {
		return nil, "", err
	}
	if err := gate.Ready(); err != nil {
		gate.Kill()
		return nil, "", err
	}
	return gate, "127.0.0.1:" + strconv.Itoa(port), nil
}

// listen opens a free port of the loopback.
func listen() (fd, port int, err error) {
	syscall.ForkLock.RLock()
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return -1, 0, err
	}
	err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	if err == nil {
		err = unix.Listen(fd, backlog)
	}
	var at unix.Sockaddr
	if err == nil {
		at, err = unix.Getsockname(fd)
	}
	ip, ok := at.(*unix.SockaddrInet4)
	if err == nil && !ok {
		err = unix.EAFNOSUPPORT
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, 0, err
	}
	return fd, ip.Port, nil
}

// backlog is how many connections wait at most; systems bound it themselves.
const backlog = 4096

// streamPair is a socket pair that nothing else started meanwhile inherits. Not
// every system can make one so in a single call.
func streamPair() ([2]int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return pair, err
	}
	unix.CloseOnExec(pair[0])
	unix.CloseOnExec(pair[1])
	return pair, nil
}

// execProxy executes the proxy in a session of its own: a signal of the terminal
// is for the command.
func execProxy(path string, control, listener int) (int, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	none := null.Fd()
	return syscall.ForkExec(path, []string{"sbx-proxy", "3", "4"}, &syscall.ProcAttr{
		Dir: "/", Env: environment(os.Environ()),
		Files: []uintptr{none, none, none, uintptr(control), uintptr(listener)},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
}
