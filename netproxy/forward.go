package netproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/sbx-run/sbx/netrules"
	"github.com/sbx-run/sbx/sandbox"
)

// errNotProxied is a request that only a web server could answer.
var errNotProxied = errors.New("this is a proxy: want a CONNECT request or one with an absolute http:// address")

// plain passes one request on. What it asks for is read once: the host of the
// address names the target, and the same goes into the Host header.
func (s *Server) plain(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Host == "" || r.URL.Scheme == "":
		http.Error(w, "sbx: error: "+errNotProxied.Error(), http.StatusBadRequest)
		return
	case r.URL.Scheme != "http":
		http.Error(w, "sbx: error: scheme "+printable(r.URL.Scheme)+": want http, or a CONNECT request for what is encrypted", http.StatusBadRequest)
		return
	}
	target, err := netrules.ParseTarget(r.URL.Host, 80)
	if err != nil {
		writeError(w, s.refuseText(sandbox.DeniedRequest, r.URL.Host, err), r.URL.Host)
		return
	}
	if d := s.policy.Judge(target, s.here); !d.Allowed {
		writeError(w, s.refuse(sandbox.DeniedRequest, d), target.String())
		return
	}
	up, err := s.upstreamOf("http", target)
	if err == nil && up != nil {
		err = s.judgeBeyond(r.Context(), target)
	}
	if err != nil {
		writeError(w, err, target.String())
		return
	}
	s.forward.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), routeKey{}, &route{target, up})))
}

// route is where a request goes.
type route struct {
	target netrules.Target
	up     *url.URL // nil: directly
}

type routeKey struct{}

func routeOf(ctx context.Context) *route {
	r, _ := ctx.Value(routeKey{}).(*route)
	return r
}

func writeError(w http.ResponseWriter, err error, target string) {
	code := status(err)
	w.Header().Set("Proxy-Status", proxyStatus(code))
	http.Error(w, sentence(err, target), code)
}

// reverseProxy does what any HTTP proxy does: headers of one hop, trailers,
// upgrades, streams that are not buffered.
func (s *Server) reverseProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			to := routeOf(r.In.Context()).target
			host := to.String()
			if to.Port == 80 { // as clients write it
				host = to.Host()
				if to.Addr.Is6() {
					host = "[" + host + "]"
				}
			}
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.URL.User = "http", host, nil
			r.Out.URL.RawQuery = r.In.URL.RawQuery // as it came, also what Go does not parse
			r.Out.Host = host
		},
		Transport:     roundTripper{s},
		FlushInterval: -1,
		BufferPool:    &buffers{},
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			writeError(w, err, routeOf(r.Context()).target.String())
		},
	}
}

// roundTripper chooses between the direct way and the one through a proxy.
type roundTripper struct{ s *Server }

func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	to := routeOf(r.Context())
	if to.up == nil {
		return t.s.direct.RoundTrip(r)
	}
	return t.s.roundTripThrough(r, to)
}

// transports are the direct one, whose connections are judged with their
// addresses when they are made and belong to one target each, and the one that
// connects to the upstream proxy only.
func (s *Server) transports() (direct, through *http.Transport) {
	base := http.Transport{
		DisableCompression: true, MaxIdleConns: 200, MaxIdleConnsPerHost: 16, IdleConnTimeout: 60 * time.Second,
		ExpectContinueTimeout: time.Second, MaxResponseHeaderBytes: 256 << 10,
	}
	direct, through = base.Clone(), base.Clone()
	direct.DialContext = func(ctx context.Context, _, address string) (net.Conn, error) {
		target, err := netrules.ParseTarget(address, 0)
		if err != nil {
			return nil, fmt.Errorf("dial: %w", err)
		}
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		conn, err := s.dialPinned(ctx, target)
		if err != nil {
			return nil, err
		}
		tally := s.use.of(target)
		tally.connections.Add(1)
		c := &counted{Conn: conn, tally: tally}
		c.done = func() { s.forget(c) }
		if !s.track(c) {
			_ = conn.Close()
			return nil, net.ErrClosed
		}
		return c, nil
	}
	through.Proxy = func(r *http.Request) (*url.URL, error) {
		if to := routeOf(r.Context()); to != nil && to.up != nil {
			return to.up, nil
		}
		return nil, errors.New("no proxy on the way")
	}
	through.DialContext = s.dialOut
	return direct, through
}
