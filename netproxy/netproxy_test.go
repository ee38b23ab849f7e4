package netproxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sbx-run/sbx/netrules"
	"github.com/sbx-run/sbx/sandbox"
)

// public is an address that no host of a test has. Connections to it end at the
// test's own servers; see proxy.
const public = "93.184.216.34"

// phoneBook is a resolver that counts.
type phoneBook struct {
	mu    sync.Mutex
	names map[string][]string
	asked []string
	wait  chan struct{}
}

func (p *phoneBook) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if p.wait != nil {
		<-p.wait
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, host)
	var addrs []netip.Addr
	for _, a := range p.names[strings.TrimSuffix(host, ".")] {
		addrs = append(addrs, netip.MustParseAddr(a))
	}
	if addrs == nil {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return addrs, nil
}

// bench is a server under test and what it has dialled.
type bench struct {
	*Server
	t       *testing.T
	address string
	book    *phoneBook
	mu      sync.Mutex
	dialled []string
	to      map[string]string // where connections to a public address and port end
}

// proxy serves rules. Loopback is listed besides, because the servers of a test
// are there; the tests of package netrules and those in namespaces are not so.
func proxy(t *testing.T, rules string, change ...func(*Config)) *bench {
	t.Helper()
	policy, err := netrules.Parse("allow:127.0.0.1:*," + rules)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, book: &phoneBook{names: map[string][]string{"good.test": {public}, "other.test": {public}}}, to: map[string]string{}}
	c := Config{Policy: policy, Resolver: b.book, Here: []netip.Addr{}, Dial: b.dial}
	for _, f := range change {
		f(&c)
	}
	b.Server = New(c)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.address = l.Addr().String()
	served := make(chan error)
	go func() { served <- b.Serve(l) }()
	t.Cleanup(func() {
		b.Close()
		if err := <-served; !errors.Is(err, net.ErrClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return b
}

func (b *bench) dial(ctx context.Context, network, address string) (net.Conn, error) {
	b.mu.Lock()
	b.dialled = append(b.dialled, address)
	if to := b.to[address]; to != "" {
		address = to
	}
	b.mu.Unlock()
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}

func (b *bench) dials() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.dialled...)
}

// lead makes connections to the public address end at a server.
func (b *bench) lead(port string, server string) { b.to[net.JoinHostPort(public, port)] = server }

func (b *bench) client() *http.Client {
	u := &url.URL{Scheme: "http", Host: b.address}
	tr := &http.Transport{Proxy: http.ProxyURL(u)}
	b.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 20 * time.Second}
}

// raw sends bytes and reads what comes until the end or a pause.
func (b *bench) raw(text string) string {
	c, err := net.Dial("tcp", b.address)
	if err != nil {
		b.t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		b.t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(2 * time.Second))
	out, _ := io.ReadAll(c)
	return string(out)
}

func (b *bench) denials() []sandbox.Denial { list, _ := b.Server.denials.Denials(); return list }

func origin(t *testing.T, h http.HandlerFunc) (*httptest.Server, string) {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s, s.Listener.Addr().String()
}

func TestPlainRequests(t *testing.T) {
	b := proxy(t, "good.test")
	var got *http.Request
	var body []byte
	_, at := origin(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Connection", "X-Hop")
		w.Header().Set("X-Hop", "1")
		w.Header().Set("X-End", "1")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, "tea")
	})
	b.lead("80", at)
	for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "BREW"} {
		req, err := http.NewRequest(method, "http://GOOD.test./a%2Fb?x=1;y=%zz", strings.NewReader("payload"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Connection", "X-Mine")
		req.Header.Set("X-Mine", "1")
		req.Header.Set("Proxy-Authorization", "Basic x")
		req.Header.Set("X-Stays", "1")
		resp, err := b.client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusTeapot || string(text) != "tea" || resp.Header.Get("X-Hop") != "" || resp.Header.Get("X-End") != "1" {
			t.Errorf("%s: %s %q %v", method, resp.Status, text, resp.Header)
		}
		if got.Method != method || got.Host != "good.test" || got.RequestURI != "/a%2Fb?x=1;y=%zz" || string(body) != "payload" ||
			got.Header.Get("X-Mine")+got.Header.Get("Proxy-Authorization") != "" || got.Header.Get("X-Stays") != "1" {
			t.Errorf("%s arrived as %s %s %s %q %v", method, got.Method, got.Host, got.RequestURI, body, got.Header)
		}
	}
	r := b.Report()
	if len(r.Hosts) != 1 || r.Hosts[0].Host != "good.test" || r.Hosts[0].Port != 80 || r.Hosts[0].BytesIn < 8*3 || r.Hosts[0].BytesOut < 8*7 || len(r.Denials) != 0 {
		t.Errorf("report: %+v", r)
	}
	for _, d := range b.dials() {
		if d != public+":80" {
			t.Errorf("dialled %s", d)
		}
	}
}

// One connection to the proxy, several hosts: each request is judged.
func TestEachRequestIsJudged(t *testing.T) {
	b := proxy(t, "good.test")
	_, at := origin(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "fine") })
	b.lead("80", at)
	out := b.raw("GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n" +
		"GET http://evil.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n" +
		"GET http://good.test/ HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n")
	if strings.Count(out, "200 OK") != 2 || strings.Count(out, "403 Forbidden") != 1 || strings.Count(out, "fine") != 2 {
		t.Errorf("%s", out)
	}
	d := b.denials()
	if len(d) != 1 || d[0].Host != "evil.test" || d[0].Port != 80 || d[0].Rule != netrules.RuleNotListed || d[0].Allow != "--network allow:evil.test" {
		t.Errorf("%+v", d)
	}
	for _, name := range b.book.asked {
		if strings.HasPrefix(name, "evil") {
			t.Error("a name that is not listed was looked up")
		}
	}
}

func TestRedirectsAreJudged(t *testing.T) {
	b := proxy(t, "good.test")
	_, at := origin(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
	})
	b.lead("80", at)
	resp, err := b.client().Get("http://good.test/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusForbidden || !strings.Contains(string(text), "169.254.169.254:80") || !strings.Contains(string(text), "metadata") {
		t.Errorf("%s %s", resp.Status, text)
	}
}

// The sentence of a refusal names host, port, rule and what would allow it.
func TestRefusalIsReadable(t *testing.T) {
	b := proxy(t, "good.test")
	const want = "evil.test:8443: refused by proxy, host not listed; --network allow:evil.test:8443 would allow it"
	out := b.raw("CONNECT evil.test:8443 HTTP/1.1\r\nHost: evil.test:8443\r\n\r\n")
	head, body, _ := strings.Cut(out, "\r\n\r\n")
	if !strings.HasPrefix(head, "HTTP/1.1 403 Forbidden (sbx: refused: ") || !strings.Contains(head, want) ||
		!strings.Contains(body, want) || strings.Count(body, "\n") != 1 || !strings.Contains(head, "Proxy-Status: sbx; error=http_request_denied") {
		t.Errorf("CONNECT: %s", out)
	}
	resp, err := b.client().Get("http://evil.test:8443/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusForbidden || !strings.Contains(string(text), want) || resp.Header.Get("Proxy-Status") == "" {
		t.Errorf("%s %s", resp.Status, text)
	}
}

// A client that has sent more already gets the whole answer all the same.
func TestRefusalArrives(t *testing.T) {
	b := proxy(t, "good.test")
	for range 20 {
		c, err := net.Dial("tcp", b.address)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, "CONNECT evil.test:443 HTTP/1.1\r\n\r\n"+strings.Repeat("x", 20000))
		time.Sleep(5 * time.Millisecond)
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
		text, err := io.ReadAll(c)
		c.Close()
		if err != nil || !strings.HasSuffix(string(text), "retrying will not help\n") {
			t.Fatalf("%v %q", err, text)
		}
	}
}

// What is no clean target is refused and told, and nothing is dialled.
func TestBrokenTargets(t *testing.T) {
	b := proxy(t, "*:*,good.test:*")
	b.lead("1", "127.0.0.1:1")
	for _, target := range []string{
		"good.test\x00.evil.test:443", "good.test:443@evil.test:443", "good.test", "good.test:0", "good.test:99999", "u@good.test:443",
		"[::1%25lo]:443", "good..test:443", strings.Repeat("a", 300) + ".test:443",
	} {
		out := b.raw("CONNECT " + target + " HTTP/1.1\r\nHost: good.test\r\n\r\n")
		if !strings.HasPrefix(out, "HTTP/1.1 4") {
			t.Errorf("%q: %s", target, out)
		}
	}
	for _, target := range []string{
		"http://good.test\x00/", "http://good.test:80:80/", "http://good%00.test/", "http:///x", "/x", "https://good.test/", "ftp://good.test/",
		"http://good.test:0/", "http://b\xc3\xbccher.test/", "*",
	} {
		out := b.raw("GET " + target + " HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\n\r\n")
		if !strings.HasPrefix(out, "HTTP/1.1 4") {
			t.Errorf("%q: %s", target, out)
		}
	}
	if d := b.dials(); len(d) != 0 {
		t.Errorf("dialled %v", d)
	}
	if out := b.raw("GET http://u:p@good.test:1/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.Contains(out, "502") {
		t.Errorf("control, with user and password: %s", out)
	}
}

// A name that is allowed and leads inside is refused; the answer that was judged
// is the one that is dialled, whatever the name server says a moment later.
func TestPinned(t *testing.T) {
	b := proxy(t, "*:*")
	for name, a := range map[string]string{"inside.test": "10.0.0.1", "meta.test": "169.254.169.254", "six.test": "::ffff:169.254.169.254", "self.test": "::1"} {
		b.book.names[name] = []string{a}
		if out := b.raw("CONNECT " + name + ":443 HTTP/1.1\r\n\r\n"); !strings.HasPrefix(out, "HTTP/1.1 403") || !strings.Contains(out, "it resolves to") {
			t.Errorf("%s: %s", name, out)
		}
		if out := b.raw("GET http://" + name + "/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(out, "HTTP/1.1 403") {
			t.Errorf("%s: %s", name, out)
		}
	}
	if d := b.dials(); len(d) != 0 {
		t.Fatalf("dialled %v", d)
	}
	_, at := origin(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "fine") })
	b.lead("443", at)
	b.book.names["rebind.test"] = []string{"10.0.0.1", public}
	out := b.raw("CONNECT rebind.test:443 HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n")
	if !strings.Contains(out, "fine") {
		t.Errorf("%s", out)
	}
	b.book.mu.Lock()
	b.book.names["rebind.test"] = []string{"127.0.0.1"}
	b.book.mu.Unlock()
	if out := b.raw("CONNECT rebind.test:443 HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n"); !strings.Contains(out, "fine") {
		t.Errorf("%s", out)
	}
	for _, d := range b.dials() {
		if d != public+":443" {
			t.Errorf("dialled %s", d)
		}
	}
}

// A connection that ends at this host is seen even when nobody knew the address.
func TestOwnAddressOfTheHost(t *testing.T) {
	policy, err := netrules.Parse("allow:*:*")
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan string, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err == nil {
			got, _ := io.ReadAll(c)
			sent <- string(got)
		}
	}()
	b := proxy(t, "*:*", func(c *Config) { c.Policy = policy })
	b.lead("443", l.Addr().String())
	out := b.raw("CONNECT good.test:443 HTTP/1.1\r\n\r\nsecret")
	if !strings.HasPrefix(out, "HTTP/1.1 403") || !strings.Contains(out, "127.0.0.1") {
		t.Errorf("%s", out)
	}
	if got := <-sent; got != "" {
		t.Errorf("the host got %q", got)
	}
}

func TestLookupsAreLimited(t *testing.T) {
	b := proxy(t, "*.zone.test,good.test")
	now := time.Now()
	b.names.now = func() time.Time { return now }
	for i := range lookupBurst + 50 {
		_, _ = b.Server.dial(context.Background(), netrules.Target{Name: fmt.Sprintf("x%d.zone.test", i), Port: 443})
	}
	if n := len(b.book.asked); n != lookupBurst {
		t.Errorf("%d names were asked for, want %d", n, lookupBurst)
	}
	d := b.denials()
	if len(d) != 50 || d[0].Operation != sandbox.DeniedResolve || !strings.Contains(d[0].Rule, "too many names") {
		t.Errorf("%d denials, %+v", len(d), d[:min(1, len(d))])
	}
	// A name that is listed by itself is still found, and one remembered too.
	_, at := origin(t, func(http.ResponseWriter, *http.Request) {})
	b.lead("443", at)
	if c, err := b.Server.dial(context.Background(), netrules.Target{Name: "good.test", Port: 443}); err != nil {
		t.Error(err)
	} else {
		c.Close()
	}
	now = now.Add(10 * lookupEvery)
	before := len(b.book.asked)
	for i := range 50 {
		_, _ = b.Server.dial(context.Background(), netrules.Target{Name: fmt.Sprintf("y%d.zone.test", i), Port: 443})
	}
	if n := len(b.book.asked) - before; n != 10 {
		t.Errorf("after a pause %d names were asked for, want 10", n)
	}
}

func TestOneQuestionForManyConnections(t *testing.T) {
	b := proxy(t, "good.test")
	b.book.wait = make(chan struct{})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { _, _ = b.Server.lookup(context.Background(), netrules.Target{Name: "good.test", Port: 443}) })
	}
	time.Sleep(20 * time.Millisecond)
	close(b.book.wait)
	all.Wait()
	if n := len(b.book.asked); n != 1 {
		t.Errorf("asked %d times", n)
	}
	if len(b.names.answers) != 1 {
		t.Errorf("%d answers", len(b.names.answers))
	}
}

// localhost is the host's loopback, whoever could answer otherwise.
func TestLocalhost(t *testing.T) {
	b := proxy(t, "*:*")
	for _, name := range []string{"localhost", "LOCALHOST.", "a.localhost"} {
		b.book.names[strings.ToLower(name)] = []string{public}
		policy, err := netrules.Parse("allow:*:*")
		if err != nil {
			t.Fatal(err)
		}
		c := proxy(t, "*:*", func(c *Config) { c.Policy, c.Resolver = policy, b.book })
		if out := c.raw("CONNECT " + name + ":443 HTTP/1.1\r\n\r\n"); !strings.Contains(out, "loopback address (it resolves to 127.0.0.1") {
			t.Errorf("%s: %s", name, out)
		}
	}
	if len(b.book.asked) > 0 {
		t.Errorf("asked for %v", b.book.asked)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	n := newNames(&phoneBook{})
	for i := range maxAnswers + 100 {
		_, _ = n.lookup(context.Background(), fmt.Sprint("x", i), false)
	}
	if len(n.answers) > maxAnswers {
		t.Errorf("%d answers are kept", len(n.answers))
	}
}

func TestHostsAreBounded(t *testing.T) {
	var m meter
	for i := range maxHosts + 5 {
		m.of(netrules.Target{Name: fmt.Sprint("h", i), Port: 1}).connections.Add(1)
	}
	if list, beyond := m.list(); len(list) != maxHosts || beyond != 5 {
		t.Errorf("%d hosts, %d beyond", len(list), beyond)
	}
}

func TestUpgradeIsPassedOn(t *testing.T) {
	b := proxy(t, "good.test")
	_, at := origin(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "ping" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c, rw, _ := http.NewResponseController(w).Hijack()
		defer c.Close()
		fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ping\r\n\r\n")
		line, _ := rw.ReadString('\n')
		fmt.Fprint(c, "pong "+line)
	})
	b.lead("80", at)
	c, err := net.Dial("tcp", b.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\nConnection: Upgrade\r\nUpgrade: ping\r\n\r\n")
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v %v", resp, err)
	}
	fmt.Fprint(c, "there\n")
	if line, _ := r.ReadString('\n'); line != "pong there\n" {
		t.Errorf("%q", line)
	}
}
