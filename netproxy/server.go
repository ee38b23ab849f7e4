// Package netproxy is the way out of a sandbox whose network is a list of
// rules: a proxy for CONNECT, plain HTTP and SOCKS5 on one listener. Each
// connection is judged by package netrules, once, on the very target that is
// connected to: a name is looked up here, its addresses are judged, and one of
// those is dialled.
package netproxy

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/sbx-run/sbx/netrules"
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/egress"
)

// Config says what a Server lets through and how it goes out.
type Config struct {
	Policy netrules.Policy
	// Upstream names the proxy that a request goes through, nil for none, as
	// http.Transport.Proxy does. nil: never one.
	Upstream func(*http.Request) (*url.URL, error)
	// Resolver looks up names; nil: the host's.
	Resolver Resolver
	// Dial opens a connection to an address; nil: a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Here lists the addresses of this host's interfaces; nil: they are read
	// from the kernel at the start.
	Here []netip.Addr
}

// Resolver looks up the addresses of a name.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// maxConnections bounds the connections that are served at once. What is
// beyond waits in the kernel's queue: descriptors and memory have an end.
const maxConnections = 4096

// sendBuffer bounds what is on its way to a client. Between the two there is a
// loopback and no distance, so that more would only leave the processor's cache
// before it is read. The kernel takes the double.
const sendBuffer = 200 << 10

// Server serves one sandbox.
type Server struct {
	policy   netrules.Policy
	here     []netip.Addr
	names    *names
	fakes    fakes
	upstream func(*http.Request) (*url.URL, error)
	dialOut  func(ctx context.Context, network, address string) (net.Conn, error)

	use     meter
	denials sandbox.DenialLog
	http    *http.Server
	inbox   *inbox // connections that speak HTTP
	forward *httputil.ReverseProxy
	direct  *http.Transport
	through *http.Transport // by way of the upstream proxy

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup
	mu     sync.Mutex
	open   map[io.Closer]struct{}
	closed bool
}

// New makes a server. It serves nothing yet.
func New(c Config) *Server {
	s := &Server{policy: c.Policy, here: c.Here, upstream: c.Upstream, dialOut: c.Dial, open: map[io.Closer]struct{}{}, inbox: newInbox()}
	if s.here == nil {
		s.here = interfaceAddrs()
	}
	if s.upstream == nil {
		s.upstream = func(*http.Request) (*url.URL, error) { return nil, nil }
	}
	if s.dialOut == nil {
		s.dialOut = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	}
	if c.Resolver == nil {
		c.Resolver = &net.Resolver{PreferGo: true}
	}
	s.names = newNames(c.Resolver)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.direct, s.through = s.transports()
	s.forward = s.reverseProxy()
	s.http = &http.Server{
		Handler: s, MaxHeaderBytes: 64 << 10, DisableGeneralOptionsHandler: true,
		ErrorLog: log.New(io.Discard, "", 0), BaseContext: func(net.Listener) context.Context { return s.ctx },
	}
	return s
}

// interfaceAddrs lists the addresses of this host. What cannot be read leaves
// the check of each connection once it stands, see self.
func interfaceAddrs() []netip.Addr {
	list, _ := net.InterfaceAddrs()
	var addrs []netip.Addr
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok {
			if addr, ok := netip.AddrFromSlice(n.IP); ok {
				addrs = append(addrs, addr.Unmap())
			}
		}
	}
	return addrs
}

// Serve accepts connections until Close.
func (s *Server) Serve(l net.Listener) error {
	if !s.track(l) || !s.begin() {
		return net.ErrClosed
	}
	go func() {
		defer s.work.Done()
		_ = s.http.Serve(s.inbox)
	}()
	slots := make(chan struct{}, maxConnections)
	for {
		select {
		case slots <- struct{}{}:
		case <-s.ctx.Done():
			return net.ErrClosed
		}
		conn, err := l.Accept()
		if err != nil {
			<-slots
			if s.ctx.Err() != nil {
				return net.ErrClosed
			}
			if temporary(err) { // out of descriptors, or the peer left already
				select {
				case <-time.After(20 * time.Millisecond):
				case <-s.ctx.Done():
				}
				continue
			}
			return err
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetWriteBuffer(sendBuffer)
		}
		tracked := &client{Conn: conn, server: s, slots: slots}
		if !s.begin() {
			_ = conn.Close()
			return net.ErrClosed
		}
		go func() {
			defer s.work.Done()
			s.welcome(tracked)
		}()
	}
}

// temporary reports whether accepting can go on.
func temporary(err error) bool {
	ne, ok := err.(net.Error)
	//lint:ignore SA1019 there is no other word for what accept(2) says about lack of descriptors
	return ok && ne.Temporary()
}

// client is a connection from the sandbox. Closing it twice is no harm.
type client struct {
	net.Conn
	server *Server
	slots  chan struct{}
	once   sync.Once
}

func (c *client) Close() error {
	var err error
	c.once.Do(func() {
		err = c.Conn.Close()
		c.server.forget(c)
		<-c.slots
	})
	return err
}

// welcome tells SOCKS from HTTP by the first byte, which stays unread.
func (s *Server) welcome(c *client) {
	if !s.track(c) {
		_ = c.Close()
		return
	}
	first, err := peek(c.Conn)
	switch {
	case err != nil:
		_ = c.Close()
	case first == socksVersion:
		s.socks(c)
	default:
		if !s.inbox.put(c) {
			_ = c.Close()
		}
	}
}

// track remembers what Close has to close; false when it was called already.
func (s *Server) track(c io.Closer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.open[c] = struct{}{}
	return true
}

// begin counts a request that Close waits for; false when it was called already.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.work.Add(1)
	return true
}

func (s *Server) forget(c io.Closer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
}

// Close ends all connections and waits for those who serve them.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	var all []io.Closer
	for c := range s.open {
		all = append(all, c)
	}
	s.mu.Unlock()
	s.cancel()
	for _, c := range all {
		_ = c.Close()
	}
	_ = s.inbox.Close()
	_ = s.http.Close()
	s.direct.CloseIdleConnections()
	s.through.CloseIdleConnections()
	s.work.Wait()
}

// Report is what went through so far, sorted by host, and what was refused.
func (s *Server) Report() egress.Report {
	var r egress.Report
	r.Hosts, r.HostsBeyond = s.use.list()
	r.Denials, r.DenialsBeyond = s.denials.Denials()
	return r
}

// inbox is a listener that gets its connections from us.
type inbox struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newInbox() *inbox { return &inbox{conns: make(chan net.Conn), done: make(chan struct{})} }

func (i *inbox) put(c net.Conn) bool {
	select {
	case i.conns <- c:
		return true
	case <-i.done:
		return false
	}
}

func (i *inbox) Accept() (net.Conn, error) {
	select {
	case c := <-i.conns:
		return c, nil
	case <-i.done:
		return nil, net.ErrClosed
	}
}

func (i *inbox) Close() error   { i.once.Do(func() { close(i.done) }); return nil }
func (i *inbox) Addr() net.Addr { return &net.TCPAddr{} }
