package pid1

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxMessage bounds a message: the kernel allows no command line near it.
const maxMessage = 64 << 20

// Conn is a connection between the host and a first process. It is safe for one
// reader and many writers.
type Conn struct {
	file *os.File
	raw  syscall.RawConn

	mu sync.Mutex // one message at a time
}

// newConn takes over a socket.
func newConn(fd int) (*Conn, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("set up connection: %w", err)
	}
	f := os.NewFile(uintptr(fd), "sbx connection")
	raw, err := f.SyscallConn()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &Conn{file: f, raw: raw}, nil
}

// Close ends the connection, and with it what the other side runs for it.
func (c *Conn) Close() error { return c.file.Close() }

// send writes a message: its length, its text, and with the first byte the files.
func (c *Conn) send(m message, files ...*os.File) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	text = append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(text) > 0 {
		var n int
		var failed error
		err := c.raw.Write(func(fd uintptr) bool {
			n, failed = unix.SendmsgN(int(fd), text, rights, nil, unix.MSG_NOSIGNAL)
			return failed != unix.EAGAIN
		})
		if err := errors.Join(err, failed); err != nil && failed != unix.EINTR {
			return fmt.Errorf("send to container: %w", err)
		}
		if n > 0 {
			text, rights = text[n:], nil
		}
	}
	return nil
}

// receive reads a message and the files that came with it. io.EOF: the other
// side is gone.
func (c *Conn) receive() (m message, files []*os.File, err error) {
	defer func() {
		if err != nil {
			closeFiles(files)
			files = nil
		}
	}()
	head := make([]byte, 4)
	if files, err = c.fill(head, nil); err != nil {
		return m, files, err
	}
	size := binary.BigEndian.Uint32(head)
	if size > maxMessage {
		return m, files, fmt.Errorf("receive from container: a message of %d bytes", size)
	}
	text := make([]byte, size)
	if files, err = c.fill(text, files); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return m, files, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, files, fmt.Errorf("receive from container: %w", err)
	}
	return m, files, nil
}

// maxRights is more descriptors than any message carries.
const maxRights = 8

// fill reads until the buffer is full.
func (c *Conn) fill(buffer []byte, files []*os.File) ([]*os.File, error) {
	rights := make([]byte, unix.CmsgSpace(maxRights*4))
	for len(buffer) > 0 {
		var n, rn int
		var failed error
		err := c.raw.Read(func(fd uintptr) bool {
			n, rn, _, _, failed = unix.Recvmsg(int(fd), buffer, rights, unix.MSG_CMSG_CLOEXEC)
			return failed != unix.EAGAIN
		})
		switch {
		case err != nil:
			return files, err
		case failed == unix.EINTR:
			continue
		case failed == unix.ECONNRESET:
			return files, io.EOF
		case failed != nil:
			return files, failed
		}
		if files, err = appendFiles(files, rights[:rn]); err != nil {
			return files, err
		}
		if n == 0 {
			return files, io.EOF
		}
		buffer = buffer[n:]
	}
	return files, nil
}

func appendFiles(files []*os.File, rights []byte) ([]*os.File, error) {
	if len(rights) == 0 {
		return files, nil
	}
	parsed, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return files, err
	}
	for i := range parsed {
		fds, err := unix.ParseUnixRights(&parsed[i])
		if err != nil {
			return files, err
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files, nil
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
