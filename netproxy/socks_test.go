package netproxy

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// socksDial speaks the client's part; the code is 0 when the connection stands.
func (b *bench) socksDial(kind byte, host []byte, port uint16) (net.Conn, byte) {
	b.t.Helper()
	c, err := net.Dial("tcp", b.address)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	request := []byte{5, 2, 0, 2, 5, 1, 0, kind}
	if kind == socksName {
		request = append(request, byte(len(host)))
	}
	request = binary.BigEndian.AppendUint16(append(request, host...), port)
	if _, err := c.Write(request); err != nil {
		b.t.Fatal(err)
	}
	var answer [12]byte
	if _, err := io.ReadFull(c, answer[:]); err != nil {
		b.t.Fatalf("%v: %v", request, err)
	}
	if answer[0] != 5 || answer[1] != 0 || answer[2] != 5 || !bytes.Equal(answer[5:], []byte{1, 0, 0, 0, 0, 0, 0}) {
		b.t.Errorf("answer %v", answer)
	}
	return c, answer[3]
}

func v4(s string) []byte { a := netip.MustParseAddr(s).As4(); return a[:] }
func v6(s string) []byte { a := netip.MustParseAddr(s).As16(); return a[:] }

func TestSOCKS(t *testing.T) {
	b := proxy(t, "good.test,"+public+":443,[2606:2800:220:1::1]:443")
	far := echo(t)
	b.lead("443", far)
	b.to["[2606:2800:220:1::1]:443"] = far
	for _, c := range []struct {
		kind byte
		host []byte
		want byte
	}{
		{socksName, []byte("good.test"), socksDone},
		{socksName, []byte("GOOD.test."), socksDone},
		{socksName, []byte(public), socksDone}, // an address as a name
		{socksIPv4, v4(public), socksDone},
		{socksIPv6, v6("2606:2800:220:1::1"), socksDone},
		{socksIPv6, v6("::ffff:" + public), socksDone},
		{socksName, []byte("evil.test"), socksRefused},
		{socksName, []byte("good.test\x00.evil.test"), socksRefused},
		{socksName, []byte("good.test\r\n"), socksRefused},
		{socksName, []byte(""), socksRefused},
		{socksName, []byte("169.254.169.254"), socksRefused},
		{socksName, []byte("0xa9fea9fe"), socksRefused},
		{socksIPv4, v4("169.254.169.254"), socksRefused},
		{socksIPv4, v4("10.0.0.1"), socksRefused},
		{socksIPv6, v6("::1"), socksRefused},
		{socksIPv6, v6("::ffff:169.254.169.254"), socksRefused},
		{socksIPv6, v6("64:ff9b::a9fe:a9fe"), socksRefused},
	} {
		conn, got := b.socksDial(c.kind, c.host, 443)
		if got != c.want {
			t.Errorf("%q: answer %d, want %d", c.host, got, c.want)
			continue
		}
		if got != socksDone {
			continue
		}
		_, _ = io.WriteString(conn, "ping")
		buf := make([]byte, 4)
		if _, err := io.ReadFull(conn, buf); err != nil || string(buf) != "ping" {
			t.Errorf("%q: %q, %v", c.host, buf, err)
		}
	}
	for _, d := range b.dials() {
		if d != public+":443" && d != "[2606:2800:220:1::1]:443" {
			t.Errorf("dialled %s", d)
		}
	}
	var text strings.Builder
	for _, d := range b.denials() {
		if d.Layer != sandbox.LayerProxy || d.Operation != sandbox.DeniedConnect {
			t.Errorf("%+v", d)
		}
		text.WriteString(d.String() + "\n")
	}
	for _, want := range []string{"evil.test:443: refused by proxy, host not listed", "169.254.169.254:443", `good.test\x00.evil.test`} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}

func TestSOCKSFailures(t *testing.T) {
	b := proxy(t, "good.test,nowhere.test,127.0.0.1:*")
	for host, want := range map[string]byte{"nowhere.test": socksHost, "127.0.0.1": socksPeer} {
		if _, got := b.socksDial(socksName, []byte(host), map[string]uint16{"nowhere.test": 443, "127.0.0.1": 1}[host]); got != want {
			t.Errorf("%s: %d, want %d", host, got, want)
		}
	}
	for name, c := range map[string]struct{ send, want string }{
		"no method without password": {"\x05\x01\x02", "\x05\xff"},
		"bind":                       {"\x05\x01\x00\x05\x02\x00\x01\x01\x02\x03\x04\x00\x50", "\x05\x00\x05\x07\x00\x01\x00\x00\x00\x00\x00\x00"},
		"another kind of address":    {"\x05\x01\x00\x05\x01\x00\x09", "\x05\x00\x05\x08\x00\x01\x00\x00\x00\x00\x00\x00"},
		"port 0":                     {"\x05\x01\x00\x05\x01\x00\x01\x01\x02\x03\x04\x00\x00", "\x05\x00\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00"},
	} {
		if got := b.raw(c.send); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
