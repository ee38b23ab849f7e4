//go:build amd64 || arm64

package probes

import (
	"fmt"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// listener is one socket outside.
type listener struct {
	name     string
	family   int
	kind     int
	protocol int
	path     string // unix family
	fd, port int
	count    int
}

// inbox counts what arrives.
type inbox struct {
	mu   sync.Mutex
	all  []*listener
	stop chan struct{}
	done sync.WaitGroup
}

func (b *inbox) open(r *room) error {
	stream, dgram := unix.SOCK_STREAM, unix.SOCK_DGRAM
	want := []*listener{
		{name: "tcp", family: unix.AF_INET, kind: stream},
		{name: "tcp6", family: unix.AF_INET6, kind: stream},
		{name: "udp", family: unix.AF_INET, kind: dgram},
		{name: "udp6", family: unix.AF_INET6, kind: dgram},
		{name: "sctp", family: unix.AF_INET, kind: stream, protocol: protoSCTP},
		{name: "abstract stream", family: unix.AF_UNIX, kind: stream, path: "@" + r.mark + "-stream"},
		{name: "abstract dgram", family: unix.AF_UNIX, kind: dgram, path: "@" + r.mark + "-dgram"},
	}
	for _, dir := range []string{r.base + "/sock", r.temp, r.sockets} {
		if dir != "" {
			want = append(want, &listener{name: dir + "/stream", family: unix.AF_UNIX, kind: stream, path: dir + "/stream"},
				&listener{name: dir + "/dgram", family: unix.AF_UNIX, kind: dgram, path: dir + "/dgram"})
		}
	}
	b.stop = make(chan struct{})
	for _, l := range want {
		switch err := l.open(); {
		case err == nil:
			b.all = append(b.all, l)
		case l.name == "tcp" || l.family == unix.AF_UNIX:
			return fmt.Errorf("listen on %s: %w", l.name, err)
		}
	}
	b.done.Go(b.serve)
	return nil
}

func (l *listener) open() error {
	fd, err := unix.Socket(l.family, l.kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, l.protocol)
	if err != nil {
		return err
	}
	var at unix.Sockaddr = &unix.SockaddrUnix{Name: l.path}
	switch l.family {
	case unix.AF_INET:
		at = &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	case unix.AF_INET6:
		at = &unix.SockaddrInet6{Addr: [16]byte{15: 1}}
	}
	err = unix.Bind(fd, at)
	if err == nil && l.kind == unix.SOCK_STREAM {
		err = unix.Listen(fd, 16)
	}
	if err != nil {
		_ = unix.Close(fd)
		return err
	}
	l.fd = fd
	if l.family == unix.AF_UNIX && l.path[0] != '@' {
		return os.Chmod(l.path, 0o777)
	}
	bound, err := unix.Getsockname(fd)
	switch bound := bound.(type) {
	case *unix.SockaddrInet4:
		l.port = bound.Port
	case *unix.SockaddrInet6:
		l.port = bound.Port
	}
	return err
}

// serve hangs up on everybody, so that no client waits for an answer.
func (b *inbox) serve() {
	fds := make([]unix.PollFd, len(b.all))
	for i, l := range b.all {
		fds[i] = unix.PollFd{Fd: int32(l.fd), Events: unix.POLLIN}
	}
	for {
		select {
		case <-b.stop:
			return
		default:
		}
		if n, _ := unix.Poll(fds, 20); n > 0 {
			b.drain()
		}
	}
}

func (b *inbox) drain() {
	b.mu.Lock()
	defer b.mu.Unlock()
	buffer := make([]byte, 256)
	for _, l := range b.all {
		for {
			var err error
			if l.kind == unix.SOCK_STREAM {
				var fd int
				if fd, _, err = unix.Accept4(l.fd, unix.SOCK_CLOEXEC); err == nil {
					_ = unix.Close(fd)
				}
			} else {
				_, _, err = unix.Recvfrom(l.fd, buffer, unix.MSG_DONTWAIT)
			}
			if err != nil {
				break
			}
			l.count++
		}
	}
}

func (b *inbox) watch(s state) {
	b.drain()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.all {
		s["listener "+l.name] = strconv.Itoa(l.count)
	}
}

func (b *inbox) port(name string) int {
	for _, l := range b.all {
		if l.name == name {
			return l.port
		}
	}
	return 0
}

func (b *inbox) close() {
	if b.stop != nil {
		close(b.stop)
		b.done.Wait()
	}
	for _, l := range b.all {
		_ = unix.Close(l.fd)
	}
}
