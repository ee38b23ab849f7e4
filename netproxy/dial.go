package netproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/sbx-run/sbx/netrules"
	"github.com/sbx-run/sbx/sandbox"
)

const (
	dialTimeout = 30 * time.Second
	// nextAddress is when the next address of a name is tried beside the one
	// that does not answer (RFC 8305 has 250 ms).
	nextAddress = 300 * time.Millisecond
)

// refusal is the error of a connection that the rules do not allow.
type refusal struct{ denial sandbox.Denial }

func (r *refusal) Error() string { return r.denial.String() }

// refuse records a decision against a target.
func (s *Server) refuse(op sandbox.Operation, d netrules.Decision) *refusal {
	denial := sandbox.Denial{
		Operation: op, Host: d.Target.Host(), Port: d.Target.Port, Layer: sandbox.LayerProxy,
		Rule: d.Reason(), Allow: d.Allow,
	}
	s.denials.Add(denial)
	return &refusal{denial}
}

// refuseText records a request whose target cannot be read.
func (s *Server) refuseText(op sandbox.Operation, target string, err error) *refusal {
	const longest = 100
	if len(target) > longest {
		target = target[:longest] + "…"
	}
	denial := sandbox.Denial{Operation: op, Host: target, Layer: sandbox.LayerProxy, Rule: "not a host: " + err.Error()}
	s.denials.Add(denial)
	return &refusal{denial}
}

// dial judges a target and connects to it. The error is a *refusal when the
// rules say no.
func (s *Server) dial(ctx context.Context, t netrules.Target) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	d := s.policy.Judge(t, s.here)
	if !d.Allowed {
		return nil, s.refuse(sandbox.DeniedConnect, d)
	}
	up, err := s.upstreamOf("https", t)
	if err != nil {
		return nil, err
	}
	if up != nil {
		if err := s.judgeBeyond(ctx, t); err != nil {
			return nil, err
		}
		return s.dialThrough(ctx, up, t)
	}
	return s.dialPinned(ctx, t)
}

// upstreamOf names the proxy on the way to a target.
func (s *Server) upstreamOf(scheme string, t netrules.Target) (*url.URL, error) {
	up, err := s.upstream(&http.Request{URL: &url.URL{Scheme: scheme, Host: t.String()}})
	if err != nil { // the error quotes the value, which may hold a password
		return nil, errors.New("the caller's proxy setting cannot be read")
	}
	return up, nil
}

// judgeBeyond judges a name whose connection is made by a proxy upstream. What
// that proxy resolves the name to is not known here; what it resolves to here,
// if it does, must be allowed.
func (s *Server) judgeBeyond(ctx context.Context, t netrules.Target) error {
	if t.Addr.IsValid() {
		return nil
	}
	addrs, err := s.lookup(ctx, t)
	var no *refusal
	switch {
	case errors.As(err, &no):
		return no
	case err != nil || len(addrs) == 0: // many networks resolve at the proxy only
		return nil
	}
	if d := s.policy.JudgeAddrs(t, addrs, s.here); !d.Allowed {
		return s.refuse(sandbox.DeniedConnect, d)
	}
	return nil
}

// lookup resolves a name that was judged already.
func (s *Server) lookup(ctx context.Context, t netrules.Target) ([]netip.Addr, error) {
	addrs, err := s.names.lookup(ctx, t.Name, !s.policy.Names(t))
	if errors.Is(err, errFlood) {
		denial := sandbox.Denial{
			Operation: sandbox.DeniedResolve, Host: t.Name, Layer: sandbox.LayerProxy,
			Rule:  fmt.Sprintf("too many names: %d at once and %d a minute may be looked up below a wildcard", lookupBurst, time.Minute/lookupEvery),
			Allow: "--network allow:" + t.Name,
		}
		s.denials.Add(denial)
		return nil, &refusal{denial}
	}
	return addrs, err
}

// dialPinned looks the name up, judges what came back, and connects to that.
func (s *Server) dialPinned(ctx context.Context, t netrules.Target) (net.Conn, error) {
	var d netrules.Decision
	if t.Addr.IsValid() {
		d = s.policy.Judge(t, s.here)
	} else {
		addrs, err := s.lookup(ctx, t)
		if err != nil {
			return nil, err
		}
		d = s.policy.JudgeAddrs(t, addrs, s.here)
	}
	if !d.Allowed {
		return nil, s.refuse(sandbox.DeniedConnect, d)
	}
	conn, err := s.race(ctx, d.Addrs, t.Port)
	if err != nil {
		return nil, err
	}
	if err := s.self(conn, t); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// self refuses a connection that ended at this host: an address that came up
// after the start is known only now. Nothing was sent yet.
func (s *Server) self(conn net.Conn, t netrules.Target) error {
	local, lok := conn.LocalAddr().(*net.TCPAddr)
	remote, rok := conn.RemoteAddr().(*net.TCPAddr)
	if !lok || !rok || !local.IP.Equal(remote.IP) {
		return nil
	}
	own := remote.AddrPort().Addr().Unmap()
	if d := s.policy.JudgeAddrs(t, []netip.Addr{own}, []netip.Addr{own}); !d.Allowed {
		return s.refuse(sandbox.DeniedConnect, d)
	}
	return nil
}

// race connects to the first address that answers. They are tried in order, one
// more after each pause.
func (s *Server) race(ctx context.Context, addrs []netip.Addr, port uint16) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan result, len(addrs))
	started, pending := 0, 0
	next := func() {
		address := netip.AddrPortFrom(addrs[started], port).String()
		started++
		pending++
		go func() {
			conn, err := s.dialOut(ctx, "tcp", address)
			results <- result{conn, err}
		}()
	}
	next()
	timer := time.NewTicker(nextAddress)
	defer timer.Stop()
	var first error
	for {
		select {
		case <-timer.C:
			if started < len(addrs) {
				next()
			}
		case r := <-results:
			pending--
			if r.err == nil {
				go func() { // the others that still come
					for range pending {
						if late := <-results; late.conn != nil {
							_ = late.conn.Close()
						}
					}
				}()
				return r.conn, nil
			}
			if first == nil {
				first = r.err
			}
			if started < len(addrs) {
				next()
			} else if pending == 0 {
				return nil, first
			}
		}
	}
}
