//go:build amd64 || arm64

package probes

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Protocols and families that package unix has no name for everywhere.
const (
	protoMPTCP   = 262
	protoSCTP    = 132
	protoUDPLite = 136
)

// socketActs connect and send. Whether something arrives is seen outside.
func socketActs() []act {
	return []act{
		{"tcp", func(a arguments) error { return connectTo(unix.AF_INET, unix.SOCK_STREAM, 0, ip4(a)) }},
		{"tcp-named", connectNamed},
		{"tcp6", func(a arguments) error { return connectTo(unix.AF_INET6, unix.SOCK_STREAM, 0, ip6(a, false)) }},
		{"tcp-mapped", func(a arguments) error { return connectTo(unix.AF_INET6, unix.SOCK_STREAM, 0, ip6(a, true)) }},
		{"tcp-any", func(a arguments) error {
			return connectTo(unix.AF_INET, unix.SOCK_STREAM, 0, &unix.SockaddrInet4{Port: a.number(0)})
		}},
		{"mptcp", func(a arguments) error { return connectTo(unix.AF_INET, unix.SOCK_STREAM, protoMPTCP, ip4(a)) }},
		{"sctp", func(a arguments) error { return connectTo(unix.AF_INET, unix.SOCK_STREAM, protoSCTP, ip4(a)) }},
		{"fastopen", func(a arguments) error { return sendTo(unix.AF_INET, unix.SOCK_STREAM, 0, unix.MSG_FASTOPEN, ip4(a)) }},
		{"udp", func(a arguments) error { return sendTo(unix.AF_INET, unix.SOCK_DGRAM, 0, 0, ip4(a)) }},
		{"udp6", func(a arguments) error { return sendTo(unix.AF_INET6, unix.SOCK_DGRAM, 0, 0, ip6(a, false)) }},
		{"udp-connected", func(a arguments) error { return connectTo(unix.AF_INET, unix.SOCK_DGRAM, 0, ip4(a)) }},
		{"udplite", func(a arguments) error { return socketOf(unix.AF_INET, unix.SOCK_DGRAM, protoUDPLite) }},
		{"io-uring-connect", ioUringConnect},

		{"icmp", func(arguments) error { return socketOf(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP) }},
		{"raw", func(arguments) error { return socketOf(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW) }},
		{"raw6", func(arguments) error { return socketOf(unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_RAW) }},
		{"packet", func(arguments) error { return socketOf(unix.AF_PACKET, unix.SOCK_RAW, 0) }},
		{"packet-old", func(arguments) error { return socketOf(unix.AF_INET, unix.SOCK_PACKET, 0) }},
		{"vsock", func(arguments) error { return socketOf(unix.AF_VSOCK, unix.SOCK_STREAM, 0) }},
		{"alg", func(arguments) error { return socketOf(unix.AF_ALG, unix.SOCK_SEQPACKET, 0) }},
		{"xdp", func(arguments) error { return socketOf(unix.AF_XDP, unix.SOCK_RAW, 0) }},
		{"netlink-audit", func(arguments) error { return socketOf(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT) }},
		{"netlink-netfilter", func(arguments) error { return socketOf(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER) }},
		{"netlink-uevent", func(arguments) error { return socketOf(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT) }},
		{"netlink-generic", func(arguments) error { return socketOf(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC) }},

		{"unix-stream", func(a arguments) error {
			return connectTo(unix.AF_UNIX, unix.SOCK_STREAM, 0, &unix.SockaddrUnix{Name: a.text(0)})
		}},
		{"unix-link", func(a arguments) error {
			if err := os.Symlink(a.text(0), a.text(1)); err != nil {
				return setup("symlink in the workspace", err)
			}
			return connectTo(unix.AF_UNIX, unix.SOCK_STREAM, 0, &unix.SockaddrUnix{Name: a.text(1)})
		}},
		{"unix-dgram", func(a arguments) error {
			return sendTo(unix.AF_UNIX, unix.SOCK_DGRAM, 0, 0, &unix.SockaddrUnix{Name: a.text(0)})
		}},
		{"unix-raw", func(a arguments) error { // the unix family makes a datagram socket of it
			return sendTo(unix.AF_UNIX, unix.SOCK_RAW, 0, 0, &unix.SockaddrUnix{Name: a.text(0)})
		}},
		{"unix-sendmsg", func(a arguments) error { return unixMessage(a, false) }},
		{"unix-sendmmsg", func(a arguments) error { return unixMessage(a, true) }},
		{"pair-send", func(a arguments) error { return pairSend(a, false) }},
		{"pair-connect", func(a arguments) error { return pairSend(a, true) }},
		{"abstract-stream", func(a arguments) error {
			return connectTo(unix.AF_UNIX, unix.SOCK_STREAM, 0, &unix.SockaddrUnix{Name: "@" + a.text(0)})
		}},
		{"abstract-dgram", func(a arguments) error {
			return sendTo(unix.AF_UNIX, unix.SOCK_DGRAM, 0, 0, &unix.SockaddrUnix{Name: "@" + a.text(0)})
		}},
		{"known-sockets", knownSockets},
	}
}

func ip4(a arguments) unix.Sockaddr {
	return &unix.SockaddrInet4{Port: a.number(0), Addr: [4]byte{127, 0, 0, 1}}
}

func ip6(a arguments, mapped bool) unix.Sockaddr {
	s := &unix.SockaddrInet6{Port: a.number(0)}
	if mapped { // ::ffff:127.0.0.1
		copy(s.Addr[10:], []byte{0xff, 0xff, 127, 0, 0, 1})
	} else {
		s.Addr[15] = 1
	}
	return s
}

func socketOf(family, kind, protocol int) error {
	begun()
	return closing(unix.Socket(family, kind, protocol))
}

// connectTo connects and sends a word.
func connectTo(family, kind, protocol int, to unix.Sockaddr) error {
	begun()
	fd, err := unix.Socket(family, kind, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, to); err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte("probe\n"))
	return past(err, unix.EPIPE, unix.ECONNRESET) // the listener closes at once
}

// connectNamed asks the resolver on the loopback for the address of a name of
// one word, and connects to that, as programs do that know of no proxy.
func connectNamed(a arguments) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return setup("make a socket", err)
	}
	defer unix.Close(fd)
	wait := unix.Timeval{Sec: 3}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
		return setup("set a time limit", err)
	}
	begun()
	// RFC 1035: a header that wishes recursion and has one question; an address (A, IN).
	name := a.text(0)
	query := append([]byte{0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, byte(len(name))}, name...)
	query = append(query, 0, 0, 1, 0, 1)
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: 53, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if _, err := unix.Write(fd, query); err != nil {
		return err
	}
	var answer [512]byte
	n, err := unix.Read(fd, answer[:])
	if err != nil {
		return err
	}
	if n < len(query)+16 || answer[7] != 1 { // one answer, whose last bytes are the address
		return fmt.Errorf("the resolver knows no %s", name)
	}
	return connectTo(unix.AF_INET, unix.SOCK_STREAM, 0, &unix.SockaddrInet4{Port: a.number(1), Addr: [4]byte(answer[n-4 : n])})
}

func sendTo(family, kind, protocol, flags int, to unix.Sockaddr) error {
	begun()
	fd, err := unix.Socket(family, kind, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Sendto(fd, []byte("probe\n"), flags, to)
}

// rawUnix is a sockaddr_un of a path.
func rawUnix(path string) (*unix.RawSockaddrUnix, uintptr) {
	s := &unix.RawSockaddrUnix{Family: unix.AF_UNIX}
	for i, c := range []byte(path) {
		if i < len(s.Path)-1 {
			s.Path[i] = int8(c)
		}
	}
	return s, unsafe.Sizeof(*s)
}

// unixMessage sends a datagram to a path by sendmsg or sendmmsg.
func unixMessage(a arguments, many bool) error {
	begun()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return message(fd, a.text(0), many)
}

func message(fd int, path string, many bool) error {
	to, size := rawUnix(path)
	word := []byte("probe\n")
	vec := unix.Iovec{Base: &word[0], Len: uint64(len(word))}
	var m struct {
		header unix.Msghdr
		sent   uint64
	}
	m.header.Name, m.header.Namelen = (*byte)(unsafe.Pointer(to)), uint32(size)
	m.header.Iov, m.header.Iovlen = &vec, 1
	if many {
		return call(unix.SYS_SENDMMSG, uintptr(fd), pointer(&m), 1, 0)
	}
	return call(unix.SYS_SENDMSG, uintptr(fd), pointer(&m.header), 0)
}

// pairSend uses one end of a datagram pair, which a filter on socket(2) does
// not see, against a path.
func pairSend(a arguments, connect bool) error {
	begun()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	if !connect {
		return message(pair[0], a.text(0), false)
	}
	if err := unix.Connect(pair[0], &unix.SockaddrUnix{Name: a.text(0)}); err != nil {
		return err
	}
	_, err = unix.Write(pair[0], []byte("probe\n"))
	return err
}

// knownSockets connects to what daemons listen on, says nothing, and hangs up.
func knownSockets(arguments) error {
	begun()
	last := error(unix.ENOENT)
	runtimeDir := fmt.Sprintf("/run/user/%d", os.Getuid())
	for _, path := range []string{
		"/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock", runtimeDir + "/podman/podman.sock",
		"/run/containerd/containerd.sock", "/run/dbus/system_bus_socket", runtimeDir + "/bus", "/run/systemd/private",
		runtimeDir + "/systemd/private", "/run/systemd/journal/stdout", "/run/nscd/socket", "/tmp/.X11-unix/X0", runtimeDir + "/wayland-0",
	} {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
		_ = unix.Close(fd)
		if err == nil {
			fmt.Println("connected to", path)
			return nil
		}
		if !errors.Is(err, unix.ENOENT) {
			last = err
		}
	}
	return last
}
