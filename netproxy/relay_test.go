package netproxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// openRelay is a host that connects to whatever it is asked for: here to one
// canary, whose name it writes down.
func openRelay(t *testing.T, canary string) (at string, asked chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	asked = make(chan string, 16)
	relay := func(c net.Conn) {
		defer c.Close()
		in := bufio.NewReader(c)
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		asked <- r.Method + " " + r.RequestURI
		if r.Method != http.MethodConnect {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			return
		}
		far, err := net.Dial("tcp", canary)
		if err != nil {
			return
		}
		defer far.Close()
		fmt.Fprint(c, "HTTP/1.1 200 Relayed\r\n\r\n")
		go func() { _, _ = io.Copy(far, in) }()
		_, _ = io.Copy(c, far)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go relay(c)
		}
	}()
	return l.Addr().String(), asked
}

// soon is what comes, and a failure when nothing does.
func soon(t *testing.T, from chan string) string {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(20 * time.Second):
		t.Fatal("nothing reached the relay")
	}
	return ""
}

// What is judged is the host that is connected to. What is said over a tunnel is
// not read: a listed host that forwards is asked for another one, and the proxy
// neither connects there itself nor looks the name up, also when the second
// request came with the first.
func TestRelayIsNotReopened(t *testing.T) {
	canary, at := origin(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "canary") })
	defer canary.Close()
	relay, asked := openRelay(t, at)
	b := proxy(t, "good.test")
	b.lead("443", relay)
	b.lead("80", relay)
	b.book.names["evil.test"] = []string{public}

	// The control: the proxy itself is asked for that host.
	const first, second = "CONNECT good.test:443 HTTP/1.1\r\nHost: good.test:443\r\n\r\n", "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n"
	if out := b.raw(second); !strings.HasPrefix(out, "HTTP/1.1 403 ") || len(b.dials()) > 0 {
		t.Fatalf("control: %s, dialled %q", out, b.dials())
	}
	const get = "GET / HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n"
	for name, steps := range map[string][]string{
		"in turn":         {first, second, get},
		"at once":         {first + second + get},
		"a part at once":  {first + second[:9], second[9:], get},
		"by way of SOCKS": {"\x05\x01\x00", "\x05\x01\x00\x03\x09good.test\x01\xbb", second, get},
	} {
		before := len(b.dials())
		out := b.say(steps)
		if got := soon(t, asked); got != "CONNECT evil.test:443" {
			t.Errorf("%s: the relay was asked %q", name, got)
		}
		if strings.Count(out, "HTTP/1.1 200 Relayed\r\n") != 1 || !strings.HasSuffix(out, "canary") {
			t.Errorf("%s: %q", name, out)
		}
		if dials := b.dials()[before:]; !slices.Equal(dials, []string{public + ":443"}) {
			t.Errorf("%s: the proxy dialled %q", name, dials)
		}
	}
	// A request that is not in a tunnel is written anew, for the host that was judged.
	b.raw("GET http://good.test/http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n")
	if got := soon(t, asked); got != "GET /http://evil.test/" {
		t.Errorf("the relay was asked %q", got)
	}
	for _, name := range b.book.asked {
		if strings.HasPrefix(name, "evil") {
			t.Errorf("%s was looked up", name)
		}
	}
	r := b.Report()
	if len(r.Denials) != 1 || r.Denials[0].Host != "evil.test" || len(r.Hosts) != 2 { // ports 80 and 443
		t.Errorf("%+v", r)
	}
	for _, h := range r.Hosts {
		if h.Host != "good.test" {
			t.Errorf("host %s", h.Host)
		}
	}
}

// say sends one part after the other, each when something has come back for the
// one before, and returns all that came.
func (b *bench) say(parts []string) string {
	b.t.Helper()
	c, err := net.Dial("tcp", b.address)
	if err != nil {
		b.t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	var all strings.Builder
	buf := make([]byte, 4096)
	for i, part := range parts {
		if _, err := io.WriteString(c, part); err != nil {
			b.t.Fatal(err)
		}
		if i == len(parts)-1 {
			break
		}
		n, err := c.Read(buf)
		if err != nil {
			b.t.Fatalf("behind %q: %v", part, err)
		}
		all.Write(buf[:n])
	}
	rest, _ := io.ReadAll(c)
	all.Write(rest)
	return all.String()
}
