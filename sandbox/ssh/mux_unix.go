//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package ssh

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A session is opened over the socket of the connection as the client itself would
// (PROTOCOL.mux in the sources of OpenSSH): starting the client for each takes
// half of the time of a command. The numbers are those of that document.
const (
	muxVersion = 4

	muxHello      = 0x00000001
	muxNewSession = 0x10000002
	muxDenied     = 0x80000002
	muxFailure    = 0x80000003
	muxExit       = 0x80000004
	muxOpened     = 0x80000006

	noEscape = 0xffffffff
)

// maxMux bounds a message of the connection's process.
const maxMux = 256 << 10

// errNoMux says that the other process speaks something else.
var errNoMux = errors.New("it speaks another version of the protocol")

// channel is a session that runs a command there: its input and output, and how
// it ended.
type channel struct {
	in    io.WriteCloser // to the command
	out   io.Reader      // from it
	kill  func()
	wait  func() (code int, words string) // code: -1 when there is none
	close func()
}

// mux opens a session over the socket. Nothing of ours is asked to be forwarded,
// and no variable is sent.
func (l *link) mux(command string) (*channel, error) {
	conn, err := dial(l.base)
	if err != nil {
		return nil, &brokenError{fmt.Errorf("use the connection to %s: %w", l.options.Host, err)}
	}
	if err := hello(conn); err != nil {
		_ = conn.Close()
		if errors.Is(err, errNoMux) {
			return nil, err
		}
		return nil, &brokenError{fmt.Errorf("use the connection to %s: %w", l.options.Host, err)}
	}
	c, err := openOver(conn, command)
	if err != nil {
		_ = conn.Close()
		return nil, &brokenError{fmt.Errorf("open a session on %s: %w", l.options.Host, err)}
	}
	return c, nil
}

func dial(path string) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, err
	}
	unix.CloseOnExec(fd)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil { // so that reading ends when it is closed
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// hello tells the versions of both.
func hello(conn *os.File) error {
	if err := putMux(conn, numbers(muxHello, muxVersion)); err != nil {
		return err
	}
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	defer func() { _ = conn.SetReadDeadline(time.Time{}) }()
	m, err := takeMux(conn)
	if err != nil {
		return err
	}
	if len(m) < 8 || binary.BigEndian.Uint32(m) != muxHello || binary.BigEndian.Uint32(m[4:]) != muxVersion {
		return errNoMux
	}
	return nil
}

// openOver asks for a session and hands its streams over.
func openOver(conn *os.File, command string) (_ *channel, err error) {
	var pipes [3][2]*os.File // read, write
	defer func() {
		if err != nil {
			closePipes(pipes)
		}
	}()
	for i := range pipes {
		if pipes[i][0], pipes[i][1], err = os.Pipe(); err != nil {
			return nil, err
		}
	}
	m := numbers(muxNewSession, 0)
	m = appendString(m, "")                         // reserved
	m = append(m, numbers(0, 0, 0, 0, noEscape)...) // no terminal, X11, agent, subsystem
	m = appendString(appendString(m, ""), command)
	if err := putMux(conn, m); err != nil {
		return nil, err
	}
	theirs := [3]*os.File{pipes[0][0], pipes[1][1], pipes[2][1]}
	for _, f := range theirs {
		if err := putFile(conn, f); err != nil {
			return nil, err
		}
		_ = f.Close()
	}
	in, out, said := pipes[0][1], pipes[1][0], pipes[2][0]
	c := &channel{in: in, out: out}
	end := &muxEnd{code: -1, done: make(chan struct{})}
	go end.listen(conn)
	var last sayings
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		_, _ = io.Copy(&last, said)
	}()
	c.kill = sync.OnceFunc(func() { _ = conn.Close() }) // the connection's process then ends the session
	c.wait = func() (int, string) {
		_ = in.Close()
		for _, done := range [...]<-chan struct{}{end.done, heard} {
			select {
			case <-done:
			case <-time.After(time.Second):
			}
		}
		c.close()
		<-end.done
		<-heard
		if end.reason != "" {
			return end.code, end.reason
		}
		return end.code, last.String()
	}
	c.close = sync.OnceFunc(func() {
		c.kill()
		for _, f := range [...]*os.File{in, out, said} {
			_ = f.Close()
		}
	})
	return c, nil
}

func closePipes(pipes [3][2]*os.File) {
	for _, p := range pipes {
		for _, f := range p {
			if f != nil {
				_ = f.Close()
			}
		}
	}
}

// muxEnd is what the connection's process says of a session.
type muxEnd struct {
	code   int
	reason string // why there is none
	done   chan struct{}
}

func (e *muxEnd) listen(conn *os.File) {
	defer close(e.done)
	for {
		m, err := takeMux(conn)
		if err != nil || len(m) < 12 {
			return
		}
		switch binary.BigEndian.Uint32(m) {
		case muxExit:
			e.code = int(binary.BigEndian.Uint32(m[8:]))
		case muxDenied, muxFailure:
			if n := binary.BigEndian.Uint32(m[8:]); uint64(n) <= uint64(len(m)-12) {
				e.reason = string(m[12 : 12+n])
			}
			return
		case muxOpened:
		}
	}
}

func numbers(list ...uint32) []byte {
	var b []byte
	for _, w := range list {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

func putMux(conn *os.File, m []byte) error {
	_, err := conn.Write(append(numbers(uint32(len(m))), m...))
	return err
}

func takeMux(conn *os.File) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxMux {
		return nil, errNoMux
	}
	m := make([]byte, size)
	_, err := io.ReadFull(conn, m)
	return m, err
}

// putFile hands a descriptor over, with one byte.
func putFile(conn, f *os.File) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	fraw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	ferr := fraw.Control(func(fd uintptr) {
		err = raw.Write(func(socket uintptr) bool {
			sent = unix.Sendmsg(int(socket), []byte{0}, unix.UnixRights(int(fd)), nil, 0)
			return sent != syscall.EAGAIN
		})
	})
	return errors.Join(err, ferr, sent)
}
