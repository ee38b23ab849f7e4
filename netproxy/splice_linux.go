package netproxy

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// widePipe is what the kernel gives an ordinary user at most.
	widePipe = 1 << 20
	// widePipes is how many are as wide at once: half of what makes 64 MiB, from where
	// on the kernel makes all further pipes of the user smaller, those of other programs
	// too. The rest is what pipes are by themselves.
	widePipes = 32
)

// pipe is empty whenever it is in the pool.
type pipe struct {
	read, write int
	wide        bool
}

var (
	// pipes keeps some that are not in use. A connection has one only while data
	// moves: one that waits would take two descriptors and a share of what the
	// user may have.
	pipes   = make(chan *pipe, 8)
	anyWide atomic.Int32
)

func takePipe() (*pipe, error) {
	select {
	case p := <-pipes:
		return p, nil
	default:
	}
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return nil, os.NewSyscallError("pipe2", err)
	}
	p := &pipe{read: fds[0], write: fds[1], wide: anyWide.Add(1) <= widePipes}
	if !p.wide {
		anyWide.Add(-1)
		return p, nil
	}
	_, _ = unix.FcntlInt(uintptr(p.write), unix.F_SETPIPE_SZ, widePipe) // where it may not be, it is slower, and works
	return p, nil
}

// give puts a pipe back that is empty.
func (p *pipe) give() {
	select {
	case pipes <- p:
	default:
		p.close()
	}
}

func (p *pipe) close() {
	if p.wide {
		anyWide.Add(-1)
	}
	_ = unix.Close(p.read)
	_ = unix.Close(p.write)
}

// splice moves what comes from one TCP connection to another until its end,
// inside the kernel. false: what is left has to be copied, because one of them is
// no TCP connection or there is no pipe for it.
func splice(to, from net.Conn, count *atomic.Int64) (done bool, err error) {
	source, ok := from.(*net.TCPConn)
	target, also := to.(*net.TCPConn)
	if !ok || !also {
		return false, nil
	}
	in, err := source.SyscallConn()
	if err != nil {
		return true, err
	}
	out, err := target.SyscallConn()
	if err != nil {
		return true, err
	}
	for {
		p, n, err := fill(in)
		switch {
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
			return false, nil
		case err != nil || n == 0:
			return true, err
		}
		left, err := p.drain(out, n)
		count.Add(int64(n - left))
		if err != nil {
			p.close() // something is in it
			return true, err
		}
		p.give()
	}
}

// fill waits for data and takes it into a pipe; nil with 0 bytes is the end.
func fill(from syscall.RawConn) (p *pipe, n int, err error) {
	var failed error
	err = from.Read(func(fd uintptr) bool {
		if p, failed = takePipe(); failed != nil {
			return true
		}
		for {
			var got int64
			got, failed = unix.Splice(int(fd), nil, p.write, nil, widePipe, unix.SPLICE_F_MOVE|unix.SPLICE_F_NONBLOCK)
			if n = int(got); failed != unix.EINTR {
				break
			}
		}
		if failed == nil && n > 0 {
			return true
		}
		p.give()
		p, n = nil, 0
		return failed != unix.EAGAIN
	})
	if err == nil {
		err = failed
	}
	return p, n, err
}

// drain sends what is in a pipe and says how much is left of it.
func (p *pipe) drain(to syscall.RawConn, n int) (left int, err error) {
	var failed error
	err = to.Write(func(fd uintptr) bool {
		for n > 0 {
			sent, err := unix.Splice(p.read, nil, int(fd), nil, n, unix.SPLICE_F_MOVE|unix.SPLICE_F_NONBLOCK)
			switch {
			case err == unix.EINTR:
				continue
			case err == unix.EAGAIN:
				return false
			case err == nil && sent == 0:
				err = io.ErrShortWrite
			}
			if err != nil {
				failed = err
				return true
			}
			n -= int(sent)
		}
		return true
	})
	if err == nil {
		err = failed
	}
	return n, err
}
