//go:build amd64 || arm64

package notify

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Held is a connect that waits for its answer. Whoever has it answers once, by
// Done, GoOn or Pass.
type Held struct {
	w      *Watcher
	event  Event
	id     uint64
	thread int
	socket int
}

// Peer is where the command wants to connect to, as it was copied.
func (h *Held) Peer() netip.AddrPort { return h.event.Peer }

// Socket takes a descriptor of the command's socket: what is done to it is done
// to that socket. Another thread of the command can have put something else in
// its place.
func (h *Held) Socket() (int, error) {
	process, err := processOf(h.thread)
	if err != nil {
		return -1, err
	}
	pidfd, err := unix.PidfdOpen(process, 0)
	if err != nil {
		return -1, fmt.Errorf("open process: %w", err)
	}
	defer unix.Close(pidfd)
	fd, err := unix.PidfdGetfd(pidfd, h.socket, 0)
	if err != nil {
		return -1, fmt.Errorf("take the socket: %w", err)
	}
	if !h.Waits() { // the number of the thread may be somebody else's by now
		_ = unix.Close(fd)
		return -1, unix.ESRCH
	}
	return fd, nil
}

// Waits says that the caller still waits for the answer.
func (h *Held) Waits() bool {
	return h.w.ioctl(unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&h.id)) == 0
}

// Done ends the call with a result: 0, or an errno.
func (h *Held) Done(errno unix.Errno) {
	reply := answer{id: h.id, error: -int32(errno)}
	_ = h.w.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&reply))
}

// GoOn lets the kernel do the call in the command's own network namespace. The
// event is judged like any other.
func (h *Held) GoOn() {
	reply := answer{id: h.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	if h.w.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&reply)) != 0 {
		return
	}
	select {
	case h.w.events <- h.event:
	default:
		h.w.lost.Add(1)
	}
}

// Pass lets the kernel do the call, which is of no interest to the judge.
func (h *Held) Pass() {
	reply := answer{id: h.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	_ = h.w.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&reply))
}

// leadsOut says that an address is not of the command's own loopback.
func leadsOut(p netip.AddrPort) bool {
	a := p.Addr()
	return p.Port() != 0 && !a.IsLoopback() && !a.IsUnspecified() && !a.IsMulticast()
}

// processOf finds the process of a thread.
func processOf(thread int) (int, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(thread) + "/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(text, []byte("\nTgid:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	process, err := strconv.Atoi(string(bytes.TrimSpace(line)))
	if err != nil {
		return 0, errors.Join(errors.New("read the status of a thread"), err)
	}
	return process, nil
}
