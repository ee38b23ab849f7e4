//go:build amd64 || arm64

package egress

import (
	"math"
	"net/netip"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/spawn"
)

// startProxy executes the proxy in a session of its own: a signal of the
// terminal is for the command, and the proxy ends when the command has.
func startProxy(path string, env []string, control, listen int) (int, error) {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(null)
	pipes, err := spawn.NewPipes(0)
	if err != nil {
		return 0, err
	}
	defer pipes.Close()
	p := spawn.NewPlan()
	p.Call("make session", unix.SYS_SETSID, nil)
	fd := uintptr(null)
	p.Stdio([3]uintptr{fd, fd, fd})
	p.Call("change directory", unix.SYS_CHDIR, []uintptr{p.Str("/")})
	p.Limit("limit core dumps to 0", unix.RLIMIT_CORE, 0, 0)
	p.Call("set no_new_privs", unix.SYS_PRCTL, []uintptr{unix.PR_SET_NO_NEW_PRIVS, 1})
	p.CloseOnExec(control, listen)
	p.Exec(path, []string{"sbx-proxy", strconv.Itoa(control), strconv.Itoa(listen)}, env)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return p.Start(0, pipes)
}

// SecondAddress gives lo 127.0.0.2 too: to programs that look up only what
// the machine has addresses for (AI_ADDRCONFIG), 127.0.0.1 is none.
func SecondAddress(p *spawn.Plan) {
	fd := p.NewRef()
	request := &struct {
		name    [unix.IFNAMSIZ]byte
		address unix.RawSockaddrInet4
		_       [8]byte
	}{name: [unix.IFNAMSIZ]byte{'l', 'o', ':', '1'}, address: unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: [4]byte{127, 0, 0, 2}}}
	p.Call("open a socket for lo", unix.SYS_SOCKET, []uintptr{unix.AF_INET, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC, 0}, spawn.Store(fd))
	p.Call("give lo a second address", unix.SYS_IOCTL, []uintptr{0, unix.SIOCSIFADDR, spawn.Ptr(p, request)}, spawn.Load(fd))
}

// BindNames appends the steps that make the socket on which names are asked for
// in the network namespace of the child, and returns where its descriptor will
// stand. The port takes a capability of that namespace.
func BindNames(p *spawn.Plan) *uint64 {
	address := &unix.RawSockaddrInet4{Family: unix.AF_INET, Port: 53 << 8, Addr: [4]byte{127, 0, 0, 1}}
	fd := new(uint64)
	word := p.Word(fd)
	p.Call("open a socket for names", unix.SYS_SOCKET, []uintptr{unix.AF_INET, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC, 0}, spawn.Store(word))
	p.Call("bind the resolver's address", unix.SYS_BIND, []uintptr{0, spawn.Ptr(p, address), unix.SizeofSockaddrInet4}, spawn.Load(word))
	return fd
}

// SendListener appends the steps that make the listener in the network
// namespace of the child and send it to the proxy, and then the socket of
// BindNames.
func SendListener(p *spawn.Plan, child int, names *uint64) {
	address := &unix.RawSockaddrInet4{Family: unix.AF_INET, Port: port(), Addr: [4]byte{127, 0, 0, 1}}
	fd := new(uint64)
	word := p.Word(fd)
	p.Call("open a socket for the proxy", unix.SYS_SOCKET, []uintptr{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, 0}, spawn.Store(word))
	p.Call("bind the proxy's address", unix.SYS_BIND, []uintptr{0, spawn.Ptr(p, address), unix.SizeofSockaddrInet4}, spawn.Load(word))
	p.Call("listen for the proxy", unix.SYS_LISTEN, []uintptr{0, 4096}, spawn.Load(word))
	send(p, "send the listener to the proxy", child, word)
	send(p, "send the socket for names to the proxy", child, p.Word(names))
	p.Call("close the way to the proxy", unix.SYS_CLOSE, []uintptr{uintptr(child)})
}

// send hands a descriptor over and closes it here. What is sent is known when
// the plan runs, so that a step copies it into the message: duplicating it is a
// call that returns its number.
func send(p *spawn.Plan, what string, child int, fd spawn.Ref) {
	// One control message with one descriptor; little endian, so a step can store
	// its 64-bit result there.
	control := &struct {
		header unix.Cmsghdr
		fd     uint64
	}{header: unix.Cmsghdr{Len: uint64(unix.CmsgLen(4)), Level: unix.SOL_SOCKET, Type: unix.SCM_RIGHTS}, fd: math.MaxUint64}
	word := p.Word(&control.fd)
	text := new(uint64)
	vector := &unix.Iovec{Len: 1}
	vector.Base = (*byte)(ptr(p, text))
	message := &unix.Msghdr{Iov: vector, Iovlen: 1, Control: (*byte)(ptr(p, control)), Controllen: uint64(unix.CmsgSpace(4))}
	spawn.Ptr(p, vector)
	p.Call("take it into the message", unix.SYS_FCNTL, []uintptr{0, unix.F_DUPFD_CLOEXEC, 3}, spawn.Load(fd), spawn.Store(word))
	p.Call(what, unix.SYS_SENDMSG, []uintptr{uintptr(child), spawn.Ptr(p, message), unix.MSG_NOSIGNAL})
	p.Call("close the copy", unix.SYS_CLOSE, nil, spawn.Load(word))
	p.Call("close it here", unix.SYS_CLOSE, nil, spawn.Load(fd))
}

// port is that of sandbox.ProxyAddress, in network order.
func port() uint16 {
	at := netip.MustParseAddrPort(sandbox.ProxyAddress)
	return at.Port()<<8 | at.Port()>>8
}

// ptr keeps a value for the child.
func ptr[T any](p *spawn.Plan, v *T) unsafe.Pointer {
	spawn.Ptr(p, v)
	return unsafe.Pointer(v)
}
