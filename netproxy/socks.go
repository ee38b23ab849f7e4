package netproxy

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"

	"github.com/sbx-run/sbx/netrules"
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/egress"
)

// SOCKS 5, RFC 1928: connections only, and nobody has to say who he is, since
// only the sandbox reaches the listener.
const (
	socksVersion    = 5
	socksNoAuth     = 0
	socksPassword   = 2
	socksNoMethod   = 0xff
	socksConnect    = 1
	socksIPv4       = 1
	socksName       = 3
	socksIPv6       = 4
	socksDone       = 0
	socksFailed     = 1
	socksRefused    = 2
	socksHost       = 4 // unreachable
	socksPeer       = 5 // the peer refused
	socksNoCommand  = 7
	socksNoAddrType = 8
)

// socks serves one SOCKS connection.
func (s *Server) socks(c *client) {
	defer c.Close()
	target, later, code, err := s.socksRequest(c.Conn)
	if err != nil {
		if code != socksDone {
			_ = socksReply(c.Conn, code)
		}
		return
	}
	remote, err := s.dial(s.ctx, target)
	if err != nil {
		_ = socksReply(c.Conn, socksCode(err))
		return
	}
	defer remote.Close()
	if socksReply(c.Conn, socksDone) != nil {
		return
	}
	local := c.Conn
	if later {
		if local, err = rejoin(local); err != nil {
			return
		}
		defer local.Close()
		if !s.track(local) {
			return
		}
		defer s.forget(local)
	}
	s.relay(local, nil, remote, target)
}

// socksRequest reads the greeting and the request, later is one of
// egress.LaterCommand. A code says what to answer to one that is not served.
func (s *Server) socksRequest(c net.Conn) (t netrules.Target, later bool, code byte, err error) {
	var b [257]byte
	if _, err := io.ReadFull(c, b[:2]); err != nil {
		return t, false, socksDone, err
	}
	methods := b[2 : 2+int(b[1])]
	if _, err := io.ReadFull(c, methods); err != nil {
		return t, false, socksDone, err
	}
	method := byte(socksNoMethod)
	for _, m := range methods {
		if m == socksNoAuth {
			method = socksNoAuth
		}
	}
	if _, err := c.Write([]byte{socksVersion, method}); err != nil {
		return t, false, socksDone, err
	}
	if method == socksNoMethod {
		return t, false, socksDone, errors.New("no method of authentication that is served")
	}
	if _, err := io.ReadFull(c, b[:4]); err != nil {
		return t, false, socksDone, err
	}
	command, kind := b[1], b[3]
	switch {
	case b[0] != socksVersion:
		return t, false, socksFailed, errors.New("not the version of the greeting")
	case command != socksConnect && command != egress.LaterCommand:
		return t, false, socksNoCommand, errors.New("only connections are served")
	}
	t, code, err = s.socksTarget(c, kind)
	return t, command == egress.LaterCommand, code, err
}

func (s *Server) socksTarget(c net.Conn, kind byte) (t netrules.Target, code byte, err error) {
	var b [255 + 2]byte
	size := 0
	switch kind {
	case socksIPv4:
		size = 4
	case socksIPv6:
		size = 16
	case socksName:
		if _, err := io.ReadFull(c, b[:1]); err != nil {
			return t, socksDone, err
		}
		size = int(b[0])
	default:
		return t, socksNoAddrType, errors.New("not a type of address")
	}
	if _, err := io.ReadFull(c, b[:size+2]); err != nil {
		return t, socksDone, err
	}
	host, port := b[:size], binary.BigEndian.Uint16(b[size:size+2])
	switch {
	case port == 0:
		err = errors.New("the port is 0")
	case kind == socksName:
		t, err = netrules.NewTarget(string(host), port)
	default:
		a, _ := netip.AddrFromSlice(host)
		t = s.fakes.target(netrules.AddrTarget(a, port))
	}
	if err != nil {
		return t, socksRefused, s.refuseText(sandbox.DeniedConnect, string(host), err)
	}
	return t, socksDone, nil
}

func socksCode(err error) byte {
	var no *refusal
	var dns *net.DNSError
	switch {
	case errors.As(err, &no):
		return socksRefused
	case errors.As(err, &dns), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return socksHost
	case errors.Is(err, syscall.ECONNREFUSED):
		return socksPeer
	}
	return socksFailed
}

// socksReply tells no address: it would be one of the host's.
func socksReply(c net.Conn, code byte) error {
	_, err := c.Write([]byte{socksVersion, code, 0, socksIPv4, 0, 0, 0, 0, 0, 0})
	return err
}
