package netproxy

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openPipes counts the descriptors of this process that are pipes.
func openPipes(t *testing.T) (n int) {
	t.Helper()
	all, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(all) == 0 {
		t.Fatalf("%v, %v", all, err)
	}
	for _, fd := range all {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "pipe:") {
			n++
		}
	}
	return n
}

// A connection over which nothing moves holds no pipe: those of a user have an
// end, and other programs of his get smaller ones then.
func TestIdleTunnelsHoldNoPipes(t *testing.T) {
	b := proxy(t, "good.test")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // an echo without pipes of its own
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			go func() { _, _ = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c}) }()
		}
	}()
	b.lead("443", l.Addr().String())
	before := openPipes(t)
	const many = 60
	for range many {
		c, r, err := b.tunnel("good.test:443")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, "data")
		if _, err := io.ReadFull(r, make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
	}
	if n := openPipes(t) - before; n > 2*cap(pipes) {
		t.Errorf("%d descriptors of pipes for %d idle connections", n, many)
	}
	if len(pipes) == 0 {
		t.Error("control: nothing went through a pipe")
	}
}

// pair makes two ends of one TCP connection.
func pair(t *testing.T) (here, there *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a.(*net.TCPConn), b.(*net.TCPConn)
}

// What the kernel moves arrives whole and is counted as it goes, also when
// the reader is slow and when the connection is cut.
func TestSpliceCountsWhatItMoves(t *testing.T) {
	sent := bytes.Repeat([]byte("0123456789abcdef"), 512<<10) // 8 MiB
	source, from := pair(t)
	to, sink := pair(t)
	var count atomic.Int64
	ended := make(chan error, 1)
	go func() {
		done, err := splice(to, from, &count)
		if !done {
			t.Error("it was not moved by the kernel")
		}
		ended <- err
	}()
	go func() { _, _ = source.Write(sent) }()
	got := make([]byte, len(sent))
	time.Sleep(20 * time.Millisecond) // the buffers fill
	if n := count.Load(); n >= int64(len(sent)) {
		t.Errorf("%d bytes were counted before somebody read them", n)
	}
	if _, err := io.ReadFull(sink, got); err != nil || !bytes.Equal(got, sent) {
		t.Fatalf("what arrived is not what was sent: %v", err)
	}
	fmt.Fprint(source, "tail")
	if _, err := io.ReadFull(sink, got[:4]); err != nil {
		t.Fatal(err)
	}
	_ = from.Close() // cut from outside, as Close of the server does
	if err := <-ended; err == nil {
		t.Error("a cut connection is no end")
	}
	if n := count.Load(); n != int64(len(sent)+4) {
		t.Errorf("%d bytes were counted, want %d", n, len(sent)+4)
	}
}

// What is not read takes no more memory than a pipe that nobody has widened.
func TestWidePipesAreFew(t *testing.T) {
	for len(pipes) > 0 {
		(<-pipes).close()
	}
	var all []*pipe
	for range widePipes + 5 {
		p, err := takePipe()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	for i, p := range all {
		size, err := unix.FcntlInt(uintptr(p.read), unix.F_GETPIPE_SZ, 0)
		if err != nil || i >= widePipes && size == widePipe {
			t.Errorf("pipe %d holds %d bytes, %v", i, size, err)
		}
		p.close()
	}
	if n := anyWide.Load(); n != 0 {
		t.Errorf("%d wide ones are left", n)
	}
	var b buffers
	var taken [][]byte
	for range largeBuffers + 1 {
		taken = append(taken, b.Get())
	}
	if n := len(taken[largeBuffers]); n != smallBuffer {
		t.Errorf("one more buffer has %d bytes", n)
	}
	for _, buffer := range taken {
		b.Put(buffer)
	}
	if n := len(b.Get()); n != largeBuffer {
		t.Errorf("the next one has %d bytes", n)
	}
}

// Without a descriptor for a pipe the rest is copied.
func TestMoveWithoutPipes(t *testing.T) {
	for len(pipes) > 0 {
		(<-pipes).close()
	}
	source, from := pair(t)
	to, sink := pair(t)
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	low := old
	low.Cur = 5 // descriptors that are open stay so
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	var count atomic.Int64
	ended := make(chan error, 1)
	go func() { ended <- move(to, from, &count) }()
	fmt.Fprint(source, "copied")
	_ = source.CloseWrite()
	got := make([]byte, 6)
	_, err := io.ReadFull(sink, got)
	moved := <-ended
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err != nil || string(got) != "copied" || moved != nil || count.Load() != 6 || len(pipes) != 0 {
		t.Errorf("%q, %v, %v, %d bytes, %d pipes", got, err, moved, count.Load(), len(pipes))
	}
}

// The receive buffer of a peer without distance is bounded.
func TestNearPeers(t *testing.T) {
	bounded := func() bool {
		c, _ := pair(t)
		raw, err := c.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		size := func() (n int) {
			_ = raw.Control(func(fd uintptr) { n, _ = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF) })
			return n
		}
		before := size()
		keepNear(c)
		after := size()
		if after > 2*nearBuffer {
			t.Errorf("%d bytes before, %d after", before, after)
		}
		return after != before
	}
	for range 100 { // a busy machine is far from itself now and then
		if bounded() {
			return
		}
	}
	t.Error("no loopback is near")
}
