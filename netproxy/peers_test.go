package netproxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// echo answers what it gets, and ends when its peer does.
func echo(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
				_ = c.(*net.TCPConn).CloseWrite()
			}()
		}
	}()
	return l.Addr().String()
}

// tunnel opens a connection through the proxy.
func (b *bench) tunnel(target string) (net.Conn, *bufio.Reader, error) {
	c, err := net.Dial("tcp", b.address)
	if err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\n\r\n", target)
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, &http.Request{Method: "CONNECT"})
	if err != nil {
		return nil, nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, nil, errors.New(resp.Status)
	}
	return c, r, nil
}

func TestHalfClosedPeers(t *testing.T) {
	b := proxy(t, "good.test")
	b.lead("443", echo(t))
	c, r, err := b.tunnel("good.test:443")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "first")
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	if got, err := io.ReadAll(r); string(got) != "first" || err != nil {
		t.Errorf("after our end: %q, %v", got, err)
	}

	// The other way: the host ends, the command still sends.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		fmt.Fprint(c, "bye")
		_ = c.(*net.TCPConn).CloseWrite()
		text, _ := io.ReadAll(c)
		got <- string(text)
	}()
	b.lead("80", l.Addr().String())
	c, r, err = b.tunnel("good.test:80")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r); string(text) != "bye" || err != nil {
		t.Errorf("the end of the host: %q, %v", text, err)
	}
	time.Sleep(50 * time.Millisecond)
	fmt.Fprint(c, "late")
	c.Close()
	select {
	case text := <-got:
		if text != "late" {
			t.Errorf("the host got %q", text)
		}
	case <-time.After(5 * time.Second):
		t.Error("the host waits for the end")
	}
}

// A connection that is reset on one side is reset on the other.
func TestResetPeers(t *testing.T) {
	b := proxy(t, "good.test")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = io.ReadFull(c, make([]byte, 1))
			_ = c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
	}()
	b.lead("443", l.Addr().String())
	c, r, err := b.tunnel("good.test:443")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "x")
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := r.ReadByte(); err == nil || errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after a reset: %v", err)
	}
}

// A peer that does not read holds its own connection up, and nobody else's.
func TestSlowPeer(t *testing.T) {
	b := proxy(t, "good.test")
	_, at := origin(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/much" {
			_, _ = io.CopyN(w, zeros{}, 64<<20)
		}
		fmt.Fprint(w, "fine")
	})
	b.lead("443", at)
	slow, r, err := b.tunnel("good.test:443")
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	fmt.Fprint(slow, "GET /much HTTP/1.0\r\n\r\n") // and nothing is read
	for range 20 {
		fast, fr, err := b.tunnel("good.test:443")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(fast, "GET / HTTP/1.0\r\n\r\n")
		_ = fast.SetReadDeadline(time.Now().Add(5 * time.Second))
		if text, err := io.ReadAll(fr); err != nil || !strings.HasSuffix(string(text), "fine") {
			t.Fatalf("beside a slow peer: %q, %v", text, err)
		}
		fast.Close()
	}
	n, err := io.Copy(io.Discard, r)
	if err != nil || n < 64<<20 {
		t.Errorf("the slow peer got %d bytes, %v", n, err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestManyAtOnce(t *testing.T) {
	b := proxy(t, "good.test")
	b.lead("443", echo(t))
	const many = 500
	var open, all sync.WaitGroup
	var failed atomic.Int64
	open.Add(many)
	for i := range many {
		all.Go(func() {
			c, r, err := b.tunnel("good.test:443")
			open.Done()
			if err != nil {
				failed.Add(1)
				return
			}
			defer c.Close()
			open.Wait() // all stand at the same time
			text := fmt.Sprintf("connection %d\n", i)
			fmt.Fprint(c, text)
			if got, err := r.ReadString('\n'); got != text || err != nil {
				failed.Add(1)
			}
		})
	}
	all.Wait()
	if n := failed.Load(); n != 0 {
		t.Errorf("%d of %d failed", n, many)
	}
	if h := b.Report().Hosts; len(h) != 1 || h[0].Connections != many {
		t.Errorf("%+v", h)
	}
}

// Bytes that were read with the request reach the host too.
func TestEarlyData(t *testing.T) {
	b := proxy(t, "good.test")
	b.lead("443", echo(t))
	c, err := net.Dial("tcp", b.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "CONNECT good.test:443 HTTP/1.1\r\n\r\nearly")
	_ = c.(*net.TCPConn).CloseWrite()
	text, err := io.ReadAll(c)
	if err != nil || !bytes.HasSuffix(text, []byte("\r\n\r\nearly")) {
		t.Errorf("%q, %v", text, err)
	}
	b.Close()
	if h := b.Report().Hosts; len(h) != 1 || h[0].BytesIn != 5 || h[0].BytesOut != 5 {
		t.Errorf("%+v", h)
	}
}

// A long transfer takes no memory. SBX_TRANSFER_BYTES makes it longer.
func TestMemoryIsFlat(t *testing.T) {
	size := int64(256 << 20)
	if v := os.Getenv("SBX_TRANSFER_BYTES"); v != "" {
		if _, err := fmt.Sscan(v, &size); err != nil {
			t.Fatal(err)
		}
	}
	b := proxy(t, "good.test")
	_, at := origin(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.CopyN(w, zeros{}, size) })
	b.lead("443", at)
	b.lead("80", at)
	var before, after runtime.MemStats
	for _, kind := range []string{"tunnel", "plain"} {
		runtime.GC()
		runtime.ReadMemStats(&before)
		var body io.Reader
		if kind == "tunnel" {
			c, r, err := b.tunnel("good.test:443")
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(c, "GET / HTTP/1.0\r\n\r\n")
			body = r
		} else {
			resp, err := (&http.Client{Transport: b.client().Transport}).Get("http://good.test/")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body = resp.Body
		}
		n, err := io.Copy(io.Discard, body)
		runtime.ReadMemStats(&after)
		if err != nil || n < size {
			t.Fatalf("%s: %d bytes, %v", kind, n, err)
		}
		if grown := int64(after.Sys) - int64(before.Sys); grown > 16<<20 {
			t.Errorf("%s: memory grew by %d bytes over %d", kind, grown, n)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > uint64(size)/8 {
			t.Errorf("%s: %d bytes were allocated to move %d", kind, allocated, n)
		}
	}
}

func TestCloseEndsEverything(t *testing.T) {
	b := proxy(t, "good.test")
	b.lead("443", echo(t))
	block := make(chan struct{})
	defer close(block)
	_, at := origin(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		select {
		case <-block:
		case <-r.Context().Done():
		}
	})
	b.lead("80", at)
	c, r, err := b.tunnel("good.test:443")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "12345")
	if _, err := io.ReadFull(r, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	idle, err := net.Dial("tcp", b.address)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	resp, err := b.client().Get("http://good.test/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	done := make(chan struct{})
	go func() { b.Close(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("close waits for ever")
	}
	for _, h := range b.Report().Hosts {
		if h.Port == 443 && (h.BytesIn != 5 || h.BytesOut != 5) {
			t.Errorf("%+v", h)
		}
	}
	for _, conn := range []net.Conn{c, idle} {
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a connection is left: %v", err)
		}
	}
}
