package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDatagrams: with a list of hosts no datagram leaves, to listed hosts neither,
// and the program gets the error that makes clients of QUIC fall back to TCP.
func TestDatagrams(t *testing.T) {
	inInternet(t, "TestDatagrams", func(t *testing.T, h *host) {
		h.t = t
		if h.world.mail == nil {
			for _, a := range []string{webAddr, evilAddr, innerAddr, evilAddr6} {
				h.world.mailbox(net.JoinHostPort(a, mailPort))
			}
		}
		h.datagrams()
	})
}

const (
	mailPort = "9999"
	endMark  = "end"
)

// mailbox is a canary that writes down each datagram; it is served for as long
// as the world is there.
func (w *world) mailbox(address string) {
	var conn net.PacketConn
	var err error
	w.in(func() { conn, err = net.ListenPacket("udp", address) })
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	w.mail = append(w.mail, address)
	go func() {
		buf := make([]byte, 512)
		for {
			n, _, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			w.mu.Lock()
			w.visits = append(w.visits, address+" "+string(buf[:n]))
			w.mu.Unlock()
		}
	}()
}

// received is what has come to the mailboxes. A datagram of ours is sent behind
// it to each: what was on its way is there when that has come.
func (h *host) received() []string {
	h.t.Helper()
	for _, address := range h.world.mail {
		conn, err := net.Dial("udp", address)
		if err != nil {
			h.t.Fatal(err)
		}
		if _, err := conn.Write([]byte(endMark)); err != nil {
			h.t.Fatal(err)
		}
		conn.Close()
	}
	var all []string
	ends := 0
	for began := time.Now(); ends < len(h.world.mail); time.Sleep(time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			h.t.Fatalf("%d of %d mailboxes answer", ends, len(h.world.mail))
		}
		visits, _ := h.world.taken()
		for _, v := range visits {
			if strings.HasSuffix(v, " "+endMark) {
				ends++
			} else {
				all = append(all, v)
			}
		}
	}
	return all
}

// datagrams are sent with and without a list.
func (h *host) datagrams() {
	program := filepath.Join(h.ws(), "datagram.py")
	if err := os.WriteFile(program, []byte(datagram), 0o644); err != nil {
		h.t.Fatal(err)
	}
	h.world.taken()
	send := func(network, how, to string) (out string, got []string) {
		h.t.Helper()
		out, err := h.command(nil, filepath.Join(os.Getenv(binVar), "sbx"), "exec", "--network", network, "--explain-denials", "--",
			"python3", program, how, to, mailPort)
		if err != nil {
			h.t.Errorf("%s, %s to %s: %v\n%s", network, how, to, err, out)
		}
		return out, h.received()
	}
	const all = "allow:*:*"
	for _, c := range []struct{ network, to, reaches string }{
		{"allow:" + webAddr + ":*", webAddr, webAddr}, // listed, the port too
		{"allow:" + webAddr + ":*", evilAddr, evilAddr},
		{"allow:www.test:*", "www.test", webAddr}, // by name
		{all, evilAddr, evilAddr},
		{all, innerAddr, innerAddr},
		{all, evilAddr6, evilAddr6},
		{"allow:", webAddr, webAddr},
		{"off", webAddr, webAddr},
	} {
		for _, how := range []string{"sendto", "connect"} {
			want := []string{net.JoinHostPort(c.reaches, mailPort) + " " + how}
			if out, got := send("on", how, c.to); !strings.HasPrefix(out, "sent\n") || !slices.Equal(got, want) {
				h.t.Errorf("control: %s to %s: %q, received %q", how, c.to, out, got)
			}
			out, got := send(c.network, how, c.to)
			first, rest, _ := strings.Cut(out, "\n")
			if first != "ENETUNREACH" || len(got) > 0 {
				h.t.Errorf("%s, %s to %s: %q, received %q", c.network, how, c.to, out, got)
			}
			recorded := strings.HasPrefix(rest, fmt.Sprintf("sbx: refused: connect %s: ", net.JoinHostPort(c.to, mailPort)))
			if recorded != (how == "connect" && net.ParseIP(c.to) != nil) {
				h.t.Errorf("%s, %s to %s is recorded: %v\n%s", c.network, how, c.to, recorded, out)
			}
		}
	}
}

// datagram sends one and says what came of it.
const datagram = `
import errno, socket, sys
how, host, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
family, _, _, _, to = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
s = socket.socket(family, socket.SOCK_DGRAM)
try:
    if how == "connect":
        s.connect(to)
        s.send(how.encode())
    else:
        s.sendto(how.encode(), to)
    print("sent")
except OSError as e:
    print(errno.errorcode[e.errno])
`
