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
	if done, err := splice(to, from, count); done {
		return err
	}
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

// buffers are those of the reverse proxy. A large one makes a transfer half as
// dear, and there are few of them: a command can open any number of connections
// whose data nobody reads.
type buffers struct {
	small, large sync.Pool
	inUse        atomic.Int32 // large ones
}

const (
	smallBuffer  = 32 << 10
	largeBuffer  = 256 << 10
	largeBuffers = 32
)

func (b *buffers) Get() []byte {
	if b.inUse.Add(1) <= largeBuffers {
		return pooled(&b.large, largeBuffer)
	}
	b.inUse.Add(-1)
	return pooled(&b.small, smallBuffer)
}

func pooled(pool *sync.Pool, size int) []byte {
	if have, ok := pool.Get().(*[]byte); ok {
		return *have
	}
	return make([]byte, size)
}

func (b *buffers) Put(buffer []byte) {
	if len(buffer) == smallBuffer {
		b.small.Put(&buffer)
		return
	}
	b.inUse.Add(-1)
	b.large.Put(&buffer)
}
