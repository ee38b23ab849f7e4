package netproxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sbx-run/sbx/netrules"
	"github.com/sbx-run/sbx/sandbox"
)

// ServeHTTP answers one request to the proxy. Each is judged, also those that
// come over a connection that stands.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		return
	}
	defer s.work.Done()
	if r.Method == http.MethodConnect {
		s.connect(w, r)
		return
	}
	s.plain(w, r)
}

// connect makes a tunnel.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	// The line of the request as it came: no URL parser has touched it.
	target, err := netrules.ParseTarget(r.RequestURI, 0)
	if err != nil {
		reject(plainConn(conn), rejection(s.refuseText(sandbox.DeniedConnect, r.RequestURI, err), r.RequestURI))
		return
	}
	remote, err := s.dial(s.ctx, target)
	if err != nil {
		reject(plainConn(conn), rejection(err, target.String()))
		return
	}
	defer remote.Close()
	if _, err := conn.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		return
	}
	s.relay(plainConn(conn), buffered.Reader, remote, target)
}

// status is the HTTP status for what went wrong.
func status(err error) int {
	var no *refusal
	var dns *net.DNSError
	switch {
	case errors.As(err, &no):
		return http.StatusForbidden
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusGatewayTimeout
	case errors.As(err, &dns) && dns.IsTimeout:
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}

// sentence says what went wrong, for people.
func sentence(err error, target string) string {
	var no *refusal
	if errors.As(err, &no) {
		return "sbx: refused: " + no.Error()
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		if dns.IsNotFound {
			return "sbx: error: the name of " + printable(target) + " is not known"
		}
		return "sbx: error: look up " + printable(target) + ": the name server does not answer"
	}
	var op *net.OpError
	if errors.As(err, &op) { // without the numbers of sockets
		err = op.Err
	}
	return "sbx: error: connect to " + printable(target) + ": " + err.Error()
}

// printable keeps a text from being more than text in a header or a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7e {
			return '?'
		}
		return r
	}, s)
}

// rejection is a whole response to a CONNECT request. Many clients show its reason
// phrase and nothing else, so that holds the sentence too.
func rejection(err error, target string) []byte {
	text := sentence(err, target)
	code := status(err)
	body := text + "\n"
	return fmt.Appendf(nil, "HTTP/1.1 %d %s (%s)\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nProxy-Status: %s\r\nConnection: close\r\n\r\n%s",
		code, http.StatusText(code), printable(text), len(body), proxyStatus(code), body)
}

// reject sends an answer and closes the connection when the client has it: what
// it sent already and nobody reads would make the kernel reset the connection
// and drop the answer.
func reject(c net.Conn, text []byte) {
	_ = c.SetDeadline(time.Now().Add(rejectTime))
	if _, err := c.Write(text); err != nil {
		return
	}
	if tcp, ok := c.(*net.TCPConn); ok && tcp.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, c, 64<<10)
	}
}

// rejectTime is how long a client may take to read that it was refused.
const rejectTime = time.Second

// proxyStatus is the header of RFC 9209: who answers is the proxy, not the host.
func proxyStatus(code int) string {
	switch code {
	case http.StatusForbidden:
		return "sbx; error=http_request_denied"
	case http.StatusGatewayTimeout:
		return "sbx; error=connection_timeout"
	}
	return "sbx; error=destination_unavailable"
}

// plainConn takes our wrapper off, so that the kernel can move the data.
func plainConn(c net.Conn) net.Conn {
	if own, ok := c.(*client); ok {
		return own.Conn
	}
	return c
}

// relay moves bytes between two connections until both directions have ended,
// or one broke. first holds what the client has sent already.
func (s *Server) relay(local net.Conn, first *bufio.Reader, remote net.Conn, t netrules.Target) {
	tally := s.use.of(t)
	tally.connections.Add(1)
	if !s.track(remote) {
		return
	}
	defer s.forget(remote)
	keepNear(remote)
	var both sync.WaitGroup
	both.Go(func() {
		n, err := drain(remote, first)
		tally.out.Add(n)
		if err == nil {
			err = move(remote, local, &tally.out)
		}
		finish(err, remote, local)
	})
	both.Go(func() { finish(move(local, remote, &tally.in), local, remote) })
	both.Wait()
}

// drain sends what a reader holds already.
func drain(to net.Conn, r *bufio.Reader) (int64, error) {
	if r == nil || r.Buffered() == 0 {
		return 0, nil
	}
	b, _ := r.Peek(r.Buffered())
	n, err := to.Write(b)
	return int64(n), err
}

// finish passes the end of one direction on. A direction that broke breaks the
// other one too, so that nobody waits for what cannot come.
func finish(err error, to, from net.Conn) {
	if err == nil {
		if half, ok := to.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
			return
		}
	}
	for _, c := range [...]net.Conn{to, from} {
		if tcp, ok := c.(*net.TCPConn); ok && err != nil {
			_ = tcp.SetLinger(0) // the peer sees that it broke, and not an end
		}
		_ = c.Close()
	}
}
