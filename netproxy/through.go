package netproxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sbx-run/sbx/netrules"
)

// upstreamAddress is where a proxy listens.
func upstreamAddress(up *url.URL) (string, error) {
	port := up.Port()
	switch {
	case port != "":
	case up.Scheme == "http":
		port = "80"
	case up.Scheme == "https":
		port = "443"
	default:
		port = "1080"
	}
	switch up.Scheme {
	case "http", "https", "socks5", "socks5h":
	default:
		return "", fmt.Errorf("the caller's proxy speaks %q: want http, https or socks5", up.Scheme)
	}
	return net.JoinHostPort(up.Hostname(), port), nil
}

// dialThrough asks an upstream proxy for a tunnel. Its address comes from the
// caller's environment, so it is not judged.
func (s *Server) dialThrough(ctx context.Context, up *url.URL, t netrules.Target) (net.Conn, error) {
	address, err := upstreamAddress(up)
	if err != nil {
		return nil, err
	}
	conn, err := s.dialOut(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect to the caller's proxy: %w", plainCause(err))
	}
	if up.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{ServerName: up.Hostname(), NextProtos: []string{"http/1.1"}})
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	ask := askTunnel
	if strings.HasPrefix(up.Scheme, "socks5") {
		ask = askSOCKS
	}
	rest, err := ask(conn, up, t)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	if rest.Buffered() > 0 {
		return &early{Conn: conn, rest: rest}, nil
	}
	return conn, nil
}

// plainCause leaves out the address of a proxy: it is the caller's business.
func plainCause(err error) error {
	if op, ok := err.(*net.OpError); ok {
		return op.Err
	}
	return err
}

func askTunnel(conn net.Conn, up *url.URL, t netrules.Target) (*bufio.Reader, error) {
	ask := fmt.Sprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n", t, t)
	if up.User != nil {
		password, _ := up.User.Password()
		ask += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(up.User.Username()+":"+password)) + "\r\n"
	}
	if _, err := io.WriteString(conn, ask+"\r\n"); err != nil {
		return nil, fmt.Errorf("ask the caller's proxy: %w", plainCause(err))
	}
	r := bufio.NewReader(conn)
	response, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return nil, fmt.Errorf("ask the caller's proxy: %w", plainCause(err))
	}
	if response.StatusCode/100 != 2 {
		return nil, fmt.Errorf("the caller's proxy answers %q", printable(response.Status))
	}
	return r, nil
}

// askSOCKS is askTunnel for a SOCKS 5 proxy (RFC 1928, RFC 1929). The name is left
// to the proxy, whichever way the scheme is written.
func askSOCKS(conn net.Conn, up *url.URL, t netrules.Target) (*bufio.Reader, error) {
	r := bufio.NewReader(conn)
	method := byte(socksNoAuth)
	if up.User != nil {
		method = socksPassword
	}
	if err := exchange(conn, r, []byte{socksVersion, 1, method}, []byte{socksVersion, method}); err != nil {
		return nil, err
	}
	if up.User != nil {
		password, _ := up.User.Password()
		if len(up.User.Username()) > 255 || len(password) > 255 {
			return nil, errors.New("the name or password of the caller's proxy is too long for SOCKS")
		}
		login := append([]byte{1, byte(len(up.User.Username()))}, up.User.Username()...)
		login = append(append(login, byte(len(password))), password...)
		if err := exchange(conn, r, login, []byte{1, 0}); err != nil {
			return nil, err
		}
	}
	request := []byte{socksVersion, socksConnect, 0}
	switch {
	case t.Addr.Is4():
		request = append(append(request, socksIPv4), t.Addr.AsSlice()...)
	case t.Addr.Is6():
		request = append(append(request, socksIPv6), t.Addr.AsSlice()...)
	default:
		request = append(append(request, socksName, byte(len(t.Name))), t.Name...)
	}
	request = binary.BigEndian.AppendUint16(request, t.Port)
	if err := exchange(conn, r, request, []byte{socksVersion, socksDone, 0}); err != nil {
		return nil, err
	}
	return r, skipAddress(r)
}

// exchange sends a message and wants one answer.
func exchange(w io.Writer, r io.Reader, send, want []byte) error {
	if _, err := w.Write(send); err != nil {
		return fmt.Errorf("ask the caller's proxy: %w", plainCause(err))
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r, got); err != nil {
		return fmt.Errorf("ask the caller's proxy: %w", plainCause(err))
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("the caller's proxy answers %v, want %v", got, want)
	}
	return nil
}

// skipAddress reads the address in an answer, which is of no use.
func skipAddress(r *bufio.Reader) error {
	kind, err := r.ReadByte()
	size := 4
	switch {
	case err != nil:
	case kind == socksIPv6:
		size = 16
	case kind == socksName:
		var n byte
		n, err = r.ReadByte()
		size = int(n)
	}
	if err == nil {
		_, err = r.Discard(size + 2)
	}
	if err != nil {
		return fmt.Errorf("ask the caller's proxy: %w", plainCause(err))
	}
	return nil
}

// early is a connection of which something was read already.
type early struct {
	net.Conn
	rest *bufio.Reader
}

func (e *early) Read(b []byte) (int, error) { return e.rest.Read(b) }

func (e *early) CloseWrite() error {
	if half, ok := e.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return e.Close()
}

// roundTripThrough sends one request by way of the upstream proxy. Connections
// to that are shared by all hosts, so bodies are counted and not connections.
func (s *Server) roundTripThrough(r *http.Request, to *route) (*http.Response, error) {
	if _, err := upstreamAddress(to.up); err != nil {
		return nil, err
	}
	tally := s.use.of(to.target)
	tally.connections.Add(1)
	if r.Body != nil && r.Body != http.NoBody {
		r = r.Clone(r.Context())
		r.Body = &countedBody{r.Body, &tally.out}
	}
	response, err := s.through.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("by way of the caller's proxy: %w", plainCause(err))
	}
	if response.StatusCode != http.StatusSwitchingProtocols { // an upgraded body is a connection
		response.Body = &countedBody{response.Body, &tally.in}
	}
	return response, nil
}

type countedBody struct {
	io.ReadCloser
	count *atomic.Int64
}

func (c *countedBody) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.count.Add(int64(n))
	return n, err
}
