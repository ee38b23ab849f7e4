//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package ssh

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox/ssh/wire"
)

// streams says what the command's streams are to be there.
func (n *near) streams() [3]wire.Stream {
	var s [3]wire.Stream
	for i, stream := range [3]any{n.command.Stdin, n.command.Stdout, n.command.Stderr} {
		switch {
		case n.terminal.streams[i]:
			s[i] = wire.Terminal
		case stream != nil:
			s[i] = wire.Pipe
		}
	}
	return s
}

// target takes an output of the command.
type target struct {
	to   io.Writer
	file bool // of the caller's; else it is a writer, whose bytes are counted
	deaf bool
}

// targets are where standard output and error go. What a terminal prints is all
// standard output.
func (n *near) targets() ([2]*target, error) {
	list := [2]*target{{}, {}}
	for i, w := range [2]io.Writer{n.command.Stdout, n.command.Stderr} {
		f, file := w.(*os.File)
		switch {
		case w == nil || file && f == nil:
			continue
		case file:
			// A write to 1 or 2 that nobody reads would end this process (os/signal).
			fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
			if err != nil {
				return list, fmt.Errorf("copy descriptor %d: %w", f.Fd(), err)
			}
			own := os.NewFile(uintptr(fd), f.Name())
			n.closing = append(n.closing, own)
			list[i] = &target{to: own, file: true}
		default:
			if n.copied == nil {
				n.copied = new(int64)
			}
			list[i] = &target{to: w}
		}
	}
	if n.terminal.is() && !n.terminal.streams[1] && list[0].to == nil {
		list[0] = &target{to: n.terminal.out(), file: true}
	}
	return list, nil
}

// write gives output to its target. When nobody reads there, the command learns
// it as if it had the pipe itself.
func (n *near) write(t *target, data []byte, which byte) {
	if t.to == nil || t.deaf {
		return
	}
	written, err := t.to.Write(data)
	if !t.file {
		*n.copied += int64(written)
	}
	if err == nil {
		return
	}
	t.deaf = true
	if !t.file || !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.EIO) {
		n.copyErr = errors.Join(n.copyErr, fmt.Errorf("copy output: %w", err))
	}
	go func() { _ = n.out.Send(wire.Deaf, []byte{which}) }()
}

// send gives the command its input, as much as there is credit for. The function
// that it returns ends that, as far as a reader of the caller's can be ended.
func (n *near) send(kind wire.Stream) (stop func()) {
	if kind == wire.Null {
		return func() {}
	}
	from := n.command.Stdin
	var wake *waker
	if f, ok := from.(*os.File); ok {
		w, err := newWaker(f)
		if err != nil || n.terminal.streams[0] && !n.terminal.mayRead() {
			_ = n.out.Send(wire.InputEnd, nil)
			return func() {}
		}
		wake, from = w, w
	}
	quit := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.copyInput(from, quit)
	}()
	return func() {
		close(quit)
		if wake != nil { // else the goroutine ends with the reader
			wake.wake()
			<-done
			wake.close()
		}
	}
}

func (n *near) copyInput(from io.Reader, quit <-chan struct{}) {
	buffer := make([]byte, wire.Chunk)
	n.credit.Add(wire.Window)
	for {
		credit := n.credit.Load()
		if credit <= 0 {
			select {
			case <-n.more:
				continue
			case <-quit:
				return
			}
		}
		k, err := from.Read(buffer[:min(int64(len(buffer)), credit)])
		if k > 0 {
			n.credit.Add(-int64(k))
			if n.out.Send(wire.Input, buffer[:k]) != nil {
				return
			}
		}
		if err != nil {
			if !errors.Is(err, errWoken) {
				_ = n.out.Send(wire.InputEnd, nil)
			}
			return
		}
	}
}

var errWoken = errors.New("woken")

// waker reads a file until it is told to stop: a read that waits in the kernel
// could not be ended.
type waker struct {
	file *os.File
	r, w *os.File
}

func newWaker(f *os.File) (*waker, error) {
	r, w, err := os.Pipe()
	return &waker{f, r, w}, err
}

func (w *waker) wake()  { _ = w.w.Close() }
func (w *waker) close() { _ = w.r.Close() }

func (w *waker) Read(b []byte) (int, error) {
	fd := int(w.file.Fd())
	watched := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(w.r.Fd()), Events: unix.POLLIN}}
	for {
		watched[0].Revents, watched[1].Revents = 0, 0
		if _, err := unix.Poll(watched, -1); err != nil && err != unix.EINTR {
			return 0, err
		}
		if watched[1].Revents != 0 {
			return 0, errWoken
		}
		if watched[0].Revents == 0 {
			continue
		}
		n, err := unix.Read(fd, b)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}
