//go:build amd64 || arm64

package notify

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notification is struct seccomp_notif, answer is struct seccomp_notif_resp.
type notification struct {
	id         uint64
	pid, flags uint32 // pid is of the thread, in our pid namespace
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type answer struct {
	id    uint64
	val   int64
	error int32
	flags uint32
}

const (
	// backlog is how many events wait to be judged. A command that is faster than
	// that waits for the judge, up to patience.
	backlog = 1024
	// patience is how long the command is held for a judge that does not come
	// along, because a network file system hangs for example. Events are lost then.
	patience = time.Second
)

// Watcher answers the calls of one run.
type Watcher struct {
	fd     int
	stop   [2]int // a pipe: its end stops the watcher
	acts   Acts
	calls  map[uint32]*call
	events chan Event
	heard  chan struct{} // closed when no call will be heard any more
	judged chan struct{} // closed when the judge has ended
	lost   atomic.Int64
	carry  func(*Held) // nil: connections go on as all else
	held   sync.WaitGroup
}

// Watch answers the calls that come on a listener's descriptor, which it takes
// over, until nobody is left who could make one, or Finish. judge gets each
// event, one after the other, from a goroutine that calls prepare first and has
// a thread of its own, which ends with it. carry, if it is not nil, gets the
// connections to other hosts instead, each on a goroutine of its own.
func Watch(fd int, acts Acts, prepare func(), judge func(Event), carry func(*Held)) (*Watcher, error) {
	w := &Watcher{
		fd: fd, acts: acts, carry: carry, calls: map[uint32]*call{}, events: make(chan Event, backlog),
		heard: make(chan struct{}), judged: make(chan struct{}),
	}
	if err := unix.Pipe2(w.stop[:], unix.O_CLOEXEC); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	list := calls()
	for i := range list {
		w.calls[list[i].nr] = &list[i]
	}
	go func() {
		defer close(w.judged)
		runtime.LockOSThread() // never unlocked: see prepare
		prepare()
		for e := range w.events {
			judge(e)
		}
	}()
	go w.listen()
	return w, nil
}

// Finish waits until the calls that were heard are judged, but no longer than
// the time, and says how many were lost. Calls that somebody makes after it
// fail with ENOSYS, so it is for the end of the run.
func (w *Watcher) Finish(longest time.Duration) (lost int, ended bool) {
	_ = unix.Close(w.stop[1])
	timer := time.NewTimer(longest)
	defer timer.Stop()
	<-w.heard
	select {
	case <-w.judged:
		ended = true
	case <-timer.C:
		w.lost.Add(int64(len(w.events)) + 1)
	}
	return int(w.lost.Load()), ended
}

func (w *Watcher) listen() {
	defer close(w.heard)
	defer close(w.events)
	defer unix.Close(w.stop[0])
	defer unix.Close(w.fd)
	defer w.held.Wait()
	wait := patience
	for w.wait() {
		e, ok, err := w.one()
		if err != nil {
			return // the kernel has let go of everybody
		}
		if !ok {
			continue
		}
		select {
		case w.events <- e:
			wait = patience
			continue
		default:
		}
		select {
		case w.events <- e:
			wait = patience
		case <-time.After(wait):
			w.lost.Add(1)
			wait = 0
		}
	}
}

// wait blocks until a call is there; false: none will come any more.
func (w *Watcher) wait() bool {
	for {
		fds := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}, {Fd: int32(w.stop[0])}}
		_, err := unix.Poll(fds, -1)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return false
		case fds[0].Revents&unix.POLLIN != 0:
			return true
		default: // its users are gone, or the end of the run
			return false
		}
	}
}

// one answers one call. The event is worth nothing unless ok.
func (w *Watcher) one() (e Event, ok bool, err error) {
	var n notification
	switch err := w.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); err {
	case 0:
	case unix.ENOENT, unix.EINTR: // the caller was killed meanwhile
		return e, false, nil
	default:
		return e, false, err
	}
	c := w.calls[uint32(n.nr)]
	if c != nil && n.arch == auditArch {
		if e, ok = c.event(&n.args, w.acts); ok {
			var blind bool
			if e.Act == Connect {
				ok, blind = copyPeer(&e, &n)
			} else {
				ok, blind = c.copyPaths(&e, &n)
			}
			if blind {
				w.lost.Add(1)
			}
		}
	}
	// Only while the call is held do the number of the thread, its memory and its
	// descriptors belong to who made it.
	if w.ioctl(unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&n.id)) != 0 {
		return e, false, nil
	}
	if ok && w.carry != nil && e.Act == Connect && leadsOut(e.Peer) {
		w.held.Go(func() { w.carry(&Held{w: w, event: e, id: n.id, thread: int(n.pid), socket: int(int32(n.args[0]))}) })
		return e, false, nil
	}
	reply := answer{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	if w.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&reply)) != 0 {
		return e, false, nil
	}
	return e, ok, nil
}

func (w *Watcher) ioctl(request uintptr, p unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(w.fd), request, uintptr(p))
	return errno
}

// copyPaths fills in the paths; false when there are none: the kernel will
// answer EFAULT or EBADF itself. blind says that they may be there but we are
// not allowed to look.
func (c *call) copyPaths(e *Event, n *notification) (ok, blind bool) {
	for i := range c.paths {
		if i == 1 && c.paths[1] == none {
			break
		}
		var name string
		var err error
		if at := c.paths[i]; at != none && n.args[at] != 0 {
			name, err = readString(int(n.pid), uintptr(n.args[at]))
		}
		if err != nil {
			return false, errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS)
		}
		if c.paths[i] == none && int32(n.args[c.dirs[i]]) == unix.AT_FDCWD {
			return false, false // a call that wants an open file
		}
		if !strings.HasPrefix(name, "/") {
			base, err := start(int(n.pid), c.dirs[i], n)
			if err != nil || !strings.HasPrefix(base, "/") {
				return false, errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES)
			}
			if name == "" { // the descriptor itself; a call that wants a name refuses it
				name = base
			} else {
				name = base + "/" + name
			}
		}
		e.Paths[i] = name
	}
	return true, false
}

// copyPeer fills in the address of a connect; false when it is none of the
// internet, or none that the kernel would take.
func copyPeer(e *Event, n *notification) (ok, blind bool) {
	const address, length = 1, 2
	var b [unix.SizeofSockaddrInet6]byte
	size := min(uint64(uint32(n.args[length])), uint64(len(b)))
	if size < unix.SizeofSockaddrInet4 {
		return false, false
	}
	local := []unix.Iovec{{Base: &b[0], Len: size}}
	got, err := unix.ProcessVMReadv(int(n.pid), local, []unix.RemoteIovec{{Base: uintptr(n.args[address]), Len: int(size)}}, 0)
	if err != nil || got != int(size) {
		return false, errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS)
	}
	port := binary.BigEndian.Uint16(b[2:])
	switch family := binary.LittleEndian.Uint16(b[:]); {
	case family == unix.AF_INET:
		e.Peer = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port)
	case family == unix.AF_INET6 && size == unix.SizeofSockaddrInet6:
		e.Peer = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])).Unmap(), port)
	}
	return e.Peer.IsValid(), false
}

// start is the directory that relative paths start at, or the file of a
// descriptor.
func start(tid, dir int, n *notification) (string, error) {
	link := "/proc/" + strconv.Itoa(tid)
	if dir == none || int32(n.args[dir]) == unix.AT_FDCWD {
		link += "/cwd"
	} else {
		link += "/fd/" + strconv.Itoa(int(int32(n.args[dir])))
	}
	return os.Readlink(link)
}

// readString copies a path from the memory of a thread, up to PATH_MAX. It
// reads page by page: the string may end right before memory that is not there.
func readString(tid int, at uintptr) (string, error) {
	const page, usual = 4096, 256
	var b [unix.PathMax]byte
	for n := 0; n < len(b); {
		chunk := min(page-int(at%page), len(b)-n)
		if n == 0 {
			chunk = min(chunk, usual)
		}
		local := []unix.Iovec{{Base: &b[n], Len: uint64(chunk)}}
		got, err := unix.ProcessVMReadv(tid, local, []unix.RemoteIovec{{Base: at, Len: chunk}}, 0)
		if err != nil || got <= 0 {
			return "", errors.Join(unix.EFAULT, err)
		}
		if end := strings.IndexByte(unsafe.String(&b[n], got), 0); end >= 0 {
			return string(b[:n+end]), nil
		}
		n, at = n+got, at+uintptr(got)
	}
	return "", unix.ENAMETOOLONG // the kernel says so, too
}
