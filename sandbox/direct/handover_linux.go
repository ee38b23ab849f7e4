//go:build amd64 || arm64

package direct

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// handover takes the layers of one run.
type handover struct {
	wanted        *sandbox.Preview
	disk          []string
	child, parent int // the ends of the connection; -1: none
	files         []*os.File
	err           error
}

const layerFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// open makes the connection that the plan uses. Without a tmpfs there is none.
func (h *handover) open() error {
	h.child, h.parent = -1, -1
	if h.wanted == nil {
		return nil
	}
	if n := len(h.disk); n > 0 || h.wanted.Copy {
		if n != len(h.wanted.Roots) {
			return fmt.Errorf("preview: %d layers for %d directories", n, len(h.wanted.Roots))
		}
		return nil
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("preview: make a socket: %w", err)
	}
	h.parent, h.child = fds[0], fds[1]
	return nil
}

func (h *handover) shut() {
	for _, fd := range [...]*int{&h.parent, &h.child} {
		if *fd >= 0 {
			_ = unix.Close(*fd)
			*fd = -1
		}
	}
}

// take opens the layers. The command runs already, so an error is told when it
// has ended.
func (h *handover) take() {
	if h.wanted != nil {
		h.err = h.takeAll()
	}
}

func (h *handover) takeAll() error {
	for _, dir := range h.disk {
		if !h.wanted.Copy {
			dir = filepath.Join(dir, "upper")
		}
		fd, err := unix.Open(dir, layerFlags, 0)
		if err != nil {
			return fmt.Errorf("preview: open layer %q: %w", dir, err)
		}
		h.files = append(h.files, os.NewFile(uintptr(fd), dir))
	}
	if len(h.disk) > 0 {
		return nil
	}
	tmpfs, err := received(h.parent)
	if err != nil {
		return fmt.Errorf("preview: receive the layer: %w", err)
	}
	defer unix.Close(tmpfs)
	for i := range h.wanted.Roots {
		name := strconv.Itoa(i) + "/upper"
		fd, err := unix.Openat(tmpfs, name, layerFlags, 0)
		if err != nil {
			return fmt.Errorf("preview: open layer %q: %w", name, err)
		}
		h.files = append(h.files, os.NewFile(uintptr(fd), name))
	}
	return nil
}

// end gives the layers of a command that has run. What was written is lost
// without them, and that is an error of its own.
func (h *handover) end(err error) ([]*os.File, error) {
	if h.err != nil && err == nil {
		err = fmt.Errorf("%w: %w", h.err, sandbox.ErrLost)
	}
	if h.err == nil && !errors.Is(err, sandbox.ErrStart) {
		return h.files, err
	}
	for _, f := range h.files {
		_ = f.Close()
	}
	return nil, err
}
