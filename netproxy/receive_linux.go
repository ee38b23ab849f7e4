package netproxy

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox/egress"
)

// hideMemory: what the caller's proxy wants to know must not be read from here.
func hideMemory() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// receiveSocket waits for a message of the sandbox with one socket, which
// belongs to the network in which it was made, wherever it is used.
func receiveSocket[T any](from *os.File, open func(*os.File) (T, error)) (socket T, err error) {
	var text [8]byte
	control := make([]byte, unix.CmsgSpace(4))
	n, cn, _, _, err := unix.Recvmsg(int(from.Fd()), text[:], control, unix.MSG_CMSG_CLOEXEC)
	switch {
	case err != nil:
		return socket, fmt.Errorf("receive socket: %w", err)
	case n == 0:
		return socket, egress.ErrNoListener
	}
	messages, err := unix.ParseSocketControlMessage(control[:cn])
	if err != nil || len(messages) != 1 {
		return socket, errors.New("receive socket: the message holds none")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return socket, errors.New("receive socket: the message holds none")
	}
	file := os.NewFile(uintptr(fds[0]), "socket")
	defer file.Close()
	if socket, err = open(file); err != nil {
		return socket, fmt.Errorf("receive socket: %w", err)
	}
	return socket, nil
}
