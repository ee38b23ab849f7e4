package netproxy

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// chunk bounds what is moved before it is counted: a connection that is cut
// from outside has counted all but the last one.
const chunk = 1 << 20

// move copies from one connection to the other until the end. Between two TCP
// connections the kernel moves the data (splice), and memory stays flat in any
// case.
func move(to, from net.Conn, count *atomic.Int64) error {
	for {
		n, err := io.Copy(to, io.LimitReader(from, chunk))
		count.Add(n)
		switch {
		case err != nil:
			return err
		case n < chunk:
			return nil // the end of from
		}
	}
}

// buffers are those of the reverse proxy.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if have, ok := b.pool.Get().(*[]byte); ok {
		return *have
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(buffer []byte) { b.pool.Put(&buffer) }
