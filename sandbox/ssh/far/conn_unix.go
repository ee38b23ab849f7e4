//go:build unix

package far

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox/ssh/wire"
)

// conn is the connection to the near side.
type conn struct {
	in   *wire.Reader
	out  *wire.Writer
	last atomic.Int64 // when something came, in nanoseconds of the monotonic clock

	began   time.Time
	first   chan json.RawMessage // the order
	gone    chan struct{}        // closed when nobody is there any more
	once    sync.Once
	signals chan os.Signal
	trees   chan []byte // messages of package tree

	mu       sync.Mutex
	input    inbox
	terminal *os.File    // of the command, if it has one
	outputs  [2]*os.File // our ends of the command's outputs, where they are pipes
}

func newConn(in, out *os.File) *conn {
	c := &conn{
		in: wire.NewReader(in), out: wire.NewWriter(out), began: time.Now(), first: make(chan json.RawMessage, 1),
		gone: make(chan struct{}), signals: make(chan os.Signal, 16), trees: make(chan []byte, 64),
	}
	c.input.more.L = &c.input.mu
	go c.read()
	return c
}

// beat says that this side lives, and looks whether the other one does.
func (c *conn) beat() {
	tick := time.NewTicker(wire.Beat / 4)
	defer tick.Stop()
	for n := 1; ; n++ {
		<-tick.C
		if time.Since(c.began)-time.Duration(c.last.Load()) > wire.Silence {
			c.end()
			return
		}
		if n%4 == 0 {
			go func() { _ = c.out.Send(wire.Alive, nil) }() // waits where nobody reads
		}
	}
}

func (c *conn) end() { c.once.Do(func() { close(c.gone) }) }

// order waits for the first frame.
func (c *conn) order() (o wire.Order, err error) {
	var text json.RawMessage
	select {
	case text = <-c.first:
	case <-c.gone:
		return o, errGone
	}
	var version struct{ Version int }
	if err := json.Unmarshal(text, &version); err != nil {
		return o, fmt.Errorf("read order: %w", err)
	}
	if version.Version != wire.Version {
		return o, fmt.Errorf("read order: it is of version %d of the protocol, this sbx speaks %d", version.Version, wire.Version)
	}
	return o, decode(text, &o)
}

// read takes frames until the other side ends or is silent.
func (c *conn) read() {
	defer c.end()
	for {
		kind, data, err := c.in.Next()
		if err != nil {
			return
		}
		c.last.Store(int64(time.Since(c.began)))
		switch kind {
		case wire.Begin:
			select {
			case c.first <- data:
			default:
				return // a second order
			}
		case wire.Input:
			if !c.input.put(data) {
				return // more than was allowed
			}
		case wire.InputEnd:
			c.input.finish()
		case wire.Signal:
			if n := unix.SignalNum("SIG" + string(data)); n != 0 {
				select {
				case c.signals <- n:
				default:
				}
			}
		case wire.Resize:
			if size, ok := wire.SizeOf(data); ok {
				c.resize(size)
			}
		case wire.Tree:
			select {
			case c.trees <- data:
			case <-c.gone:
				return
			}
		case wire.Deaf:
			c.deafen(data)
		case wire.Alive:
		default: // End, and what nobody knows
			return
		}
	}
}

// deafen closes our end of an output, so that the command learns it as it would
// from a pipe of its own.
func (c *conn) deafen(which []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(which) == 1 && (which[0] == 1 || which[0] == 2) && c.outputs[which[0]-1] != nil {
		_ = c.outputs[which[0]-1].Close()
	}
}

func (c *conn) resize(s wire.Size) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.terminal == nil {
		return
	}
	if raw, err := c.terminal.SyscallConn(); err == nil {
		_ = control(raw.Control, func(fd int) error {
			return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: s.Rows, Col: s.Columns})
		})
	}
}

// control calls f with a descriptor that stays with the poller.
func control(on func(func(fd uintptr)) error, f func(fd int) error) (err error) {
	if cerr := on(func(fd uintptr) { err = f(int(fd)) }); cerr != nil {
		return cerr
	}
	return err
}

// answer says how it went. Its value is the exit status of this process.
func (c *conn) answer(a wire.Answer) int {
	done := make(chan error, 1)
	go func() { done <- c.out.SendJSON(wire.Done, a) }()
	select {
	case err := <-done:
		if err != nil {
			return 1
		}
		return 0
	case <-c.gone:
		return 1
	}
}

// inbox holds input for the command that has come and was not taken.
type inbox struct {
	mu    sync.Mutex
	more  sync.Cond
	data  []byte
	ended bool
}

// put appends; false: the sender has not kept to its credit.
func (b *inbox) put(data []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data = append(b.data, data...)
	b.more.Broadcast()
	return len(b.data) <= wire.Window
}

func (b *inbox) finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	b.more.Broadcast()
}

// take waits for input. io.EOF: there is no more.
func (b *inbox) take() ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.data) == 0 && !b.ended {
		b.more.Wait()
	}
	if len(b.data) == 0 {
		return nil, io.EOF
	}
	data := b.data
	b.data = nil
	return data, nil
}

// catchSignals hears what would end this process and does nothing about it: what
// is for the command comes over the connection, and a connection that is gone is
// noticed by its end. PIPE is among them: writing to it then fails instead.
func catchSignals() {
	in := make(chan os.Signal, 1)
	signal.Notify(in, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGPIPE, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		for range in { //nolint:revive // dropped on purpose
		}
	}()
}
