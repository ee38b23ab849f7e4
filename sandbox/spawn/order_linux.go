//go:build amd64 || arm64

package spawn

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// orderBase is where pid 1 maps its order, whatever else is in its memory: it is
// static, and small. The assembly knows it.
const orderBase = 0x20000000

// maxOrder is the size of that mapping.
const maxOrder = 16 << 20

// NewOrder makes an anonymous file that says what pid 1 executes, with which
// arguments and environment, in which directory (empty: where it is), and under
// which filter of system calls (nil: none). domain is a Landlock ruleset that it
// enters before (-1: none), by the number that the descriptor has there.
// It goes past programs in between, which have limits of their own on arguments
// and take some bytes for others. In the file lie struct pointers of a process
// that has it at orderBase:
//
//	0 path · 8 argv · 16 envp · 24 struct sock_fprog · 32 directory · 40 domain + 1
func NewOrder(path, dir string, argv, env []string, filter []byte, domain int) (int, error) {
	const program = 48
	const head = program + 16
	vectors := 8 * (len(argv) + 1 + len(env) + 1)
	b := make([]byte, head+vectors, head+vectors+len(filter)+4096)
	put := func(at int, v uint64) { binary.LittleEndian.PutUint64(b[at:], v) }
	here := func() uint64 { return orderBase + uint64(len(b)) }
	if len(filter) > 0 {
		put(24, orderBase+program)
		binary.LittleEndian.PutUint16(b[program:], uint16(len(filter)/8))
		put(program+8, here())
		b = append(b, filter...)
	}
	put(40, uint64(domain+1))
	at := head
	put(8, orderBase+uint64(at))
	for _, list := range [][]string{argv, env} {
		for _, s := range list {
			put(at, here())
			b = append(append(b, s...), 0)
			at += 8
		}
		at += 8 // NULL
		if at < head+vectors {
			put(16, orderBase+uint64(at))
		}
	}
	put(0, here())
	b = append(append(b, path...), 0)
	if dir != "" {
		put(32, here())
		b = append(append(b, dir...), 0)
	}
	if len(b) > maxOrder {
		return -1, fmt.Errorf("arguments and environment have %d bytes: %w", len(b), unix.E2BIG)
	}
	return Memory(b)
}

// Memory makes an anonymous file that holds bytes, with its position at the
// start.
func Memory(b []byte) (int, error) {
	fd, err := unix.MemfdCreate("sbx", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // a kernel before 6.3
		fd, err = unix.MemfdCreate("sbx", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return -1, fmt.Errorf("make anonymous file: %w", err)
	}
	for off := 0; off < len(b); {
		n, err := unix.Pwrite(fd, b[off:], int64(off))
		if err != nil {
			_ = unix.Close(fd)
			return -1, fmt.Errorf("write anonymous file: %w", err)
		}
		off += n
	}
	return fd, nil
}
