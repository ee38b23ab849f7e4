package netproxy

import (
	"net"

	"golang.org/x/sys/unix"
)

const (
	// nearMicros is how far a host may be away, there and back, so that nearBuffer
	// holds what a line of 40 Gbit/s has on its way.
	nearMicros = 200
	nearBuffer = 512 << 10 // the kernel takes the double
)

// keepNear bounds the receive buffer of a connection to a host without distance: of this
// machine, or of a container on it. The kernel would let it grow beyond the
// processor's cache, which makes every byte dearer and none faster.
func keepNear(c net.Conn) {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil && info.Rtt > 0 && info.Rtt < nearMicros {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, nearBuffer)
		}
	})
}
