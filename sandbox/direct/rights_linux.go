//go:build amd64 || arm64

package direct

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox/spawn"
)

// A child hands a descriptor of its own to who started it over a socket.

// rights is a control message that carries one descriptor (cmsg(3)). The
// descriptor has 32 bits; little endian, so a step can store its 64-bit result
// there.
type rights struct {
	length      uint64
	level, kind uint32
	fd          uint64
}

func newRights() *rights {
	return &rights{length: uint64(unix.CmsgLen(4)), level: unix.SOL_SOCKET, kind: unix.SCM_RIGHTS}
}

// planSend sends a descriptor that an earlier step stored in r.
func planSend(p *spawn.Plan, what string, socket int, r *rights) {
	part := &unix.Iovec{Base: new(byte), Len: 1}
	spawn.Ptr(p, part.Base)
	spawn.Ptr(p, part)
	spawn.Ptr(p, r)
	m := &unix.Msghdr{Iov: part, Iovlen: 1, Control: (*byte)(unsafe.Pointer(r)), Controllen: uint64(unix.CmsgSpace(4))}
	p.Call(what, unix.SYS_SENDMSG, []uintptr{uintptr(socket), spawn.Ptr(p, m), unix.MSG_NOSIGNAL})
}

// received takes the one descriptor that was sent.
func received(socket int) (int, error) {
	data, control := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(socket, data, control, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, err
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err == nil && len(messages) == 1 {
		var fds []int
		if fds, err = unix.ParseUnixRights(&messages[0]); err == nil && len(fds) == 1 {
			return fds[0], nil
		}
	}
	return -1, errors.Join(err, errors.New("no descriptor came"))
}
