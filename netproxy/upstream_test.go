package netproxy

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// upstream is a proxy of the caller's that wants a password.
func upstream(t *testing.T, to string) (at string, seen *[]string) {
	seen = new([]string)
	var mu sync.Mutex
	s, at := origin(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		*seen = append(*seen, r.Method+" "+r.RequestURI)
		mu.Unlock()
		if r.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("ann:s3cret")) {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		if r.Method != http.MethodConnect {
			fmt.Fprint(w, "by way of upstream")
			return
		}
		far, err := net.Dial("tcp", to)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer far.Close()
		c, _, _ := http.NewResponseController(w).Hijack()
		defer c.Close()
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(far, c) }()
		_, _ = io.Copy(c, far)
	})
	_ = s
	return at, seen
}

func TestUpstream(t *testing.T) {
	at, seen := upstream(t, echo(t))
	up := &url.URL{Scheme: "http", Host: at, User: url.UserPassword("ann", "s3cret")}
	b := proxy(t, "good.test,unknown.test,inside.test", func(c *Config) { c.Upstream = http.ProxyURL(up) })
	b.book.names["inside.test"] = []string{"10.0.0.1"}
	for _, host := range []string{"good.test", "unknown.test"} { // the second is known to the upstream proxy only
		c, r, err := b.tunnel(host + ":443")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, "ping\n")
		if got, err := r.ReadString('\n'); got != "ping\n" || err != nil {
			t.Errorf("%s: %q, %v", host, got, err)
		}
		c.Close()
	}
	resp, err := b.client().Get("http://good.test/x")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if string(text) != "by way of upstream" {
		t.Errorf("%s %q", resp.Status, text)
	}
	// Judged as ever: what is not listed, and what leads inside as far as is known.
	for _, host := range []string{"evil.test", "inside.test", "10.0.0.1"} {
		if _, _, err := b.tunnel(host + ":443"); err == nil || !strings.Contains(err.Error(), "403") {
			t.Errorf("%s: %v", host, err)
		}
	}
	want := "CONNECT good.test:443,CONNECT unknown.test:443,GET http://good.test/x"
	if got := strings.Join(*seen, ","); got != want {
		t.Errorf("upstream saw %s", got)
	}
	if h := b.Report().Hosts; len(h) != 3 {
		t.Errorf("%+v", h)
	}
}

// An upstream proxy that speaks SOCKS: another server of ours, which wants no
// password, and one of the test that wants one.
func TestUpstreamSOCKS(t *testing.T) {
	far := proxy(t, "good.test")
	far.lead("443", echo(t))
	_, site := origin(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "fine") })
	far.lead("80", site)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	login := make(chan string, 1)
	go func() { // asks for the password and hands on to the other one
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		b := make([]byte, 64)
		_, _ = io.ReadFull(c, b[:3])
		_, _ = c.Write([]byte{5, 2})
		_, _ = io.ReadFull(c, b[:2+3+1+6])
		login <- string(b[2:5]) + ":" + string(b[6:12])
		_, _ = c.Write([]byte{1, 0})
		next, err := net.Dial("tcp", far.address)
		if err != nil {
			return
		}
		defer next.Close()
		_, _ = next.Write([]byte{5, 1, 0})
		_, _ = io.ReadFull(next, b[:2])
		go func() { _, _ = io.Copy(next, c) }()
		_, _ = io.Copy(c, next)
	}()
	for _, up := range []*url.URL{
		{Scheme: "socks5", Host: far.address},
		{Scheme: "socks5h", Host: far.address},
		{Scheme: "socks5h", Host: l.Addr().String(), User: url.UserPassword("ann", "s3cret")},
	} {
		b := proxy(t, "good.test,inside.test", func(c *Config) { c.Upstream = http.ProxyURL(up) })
		b.book.names["inside.test"] = []string{"10.0.0.1"}
		c, r, err := b.tunnel("good.test:443")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, "ping\n")
		if got, err := r.ReadString('\n'); got != "ping\n" || err != nil {
			t.Errorf("%s: %q, %v", up, got, err)
		}
		c.Close()
		if _, _, err := b.tunnel("inside.test:443"); err == nil || !strings.Contains(err.Error(), "403") {
			t.Errorf("%s: %v", up, err)
		}
		if up.User == nil {
			resp, err := b.client().Get("http://good.test/")
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(text) != "fine" {
				t.Errorf("%s: %q", up, text)
			}
		}
		b.Close()
	}
	if got := <-login; got != "ann:s3cret" {
		t.Errorf("the proxy was told %q", got)
	}
}

// What goes wrong upstream is told without its address and password.
func TestUpstreamFails(t *testing.T) {
	at, _ := upstream(t, "127.0.0.1:1")
	for name, up := range map[string]*url.URL{
		"wrong password": {Scheme: "http", Host: at, User: url.UserPassword("ann", "wr0ng")},
		"not there":      {Scheme: "http", Host: "127.0.0.1:1", User: url.UserPassword("ann", "wr0ng")},
		"another kind":   {Scheme: "gopher", Host: at, User: url.UserPassword("ann", "wr0ng")},
		"no TLS":         {Scheme: "https", Host: at, User: url.UserPassword("ann", "wr0ng")},
	} {
		b := proxy(t, "good.test", func(c *Config) { c.Upstream = http.ProxyURL(up) })
		for _, request := range []string{"CONNECT good.test:443 HTTP/1.1\r\n\r\n", "GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\n\r\n"} {
			out := b.raw(request)
			if strings.Contains(out, "wr0ng") || strings.Contains(out, "127.0.0.1") || !strings.HasPrefix(out, "HTTP/1.1 502") && !strings.HasPrefix(out, "HTTP/1.1 407") {
				t.Errorf("%s: %q", name, out)
			}
		}
		b.Close()
	}
	b := proxy(t, "good.test", func(c *Config) {
		c.Upstream = func(*http.Request) (*url.URL, error) { return nil, errors.New("http://ann:wr0ng@x") }
	})
	if out := b.raw("CONNECT good.test:443 HTTP/1.1\r\n\r\n"); strings.Contains(out, "wr0ng") || !strings.HasPrefix(out, "HTTP/1.1 502") {
		t.Errorf("%q", out)
	}
}
