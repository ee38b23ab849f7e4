//go:build amd64 || arm64

package direct

import (
	"fmt"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox/bound"
	"github.com/sbx-run/sbx/sandbox/proc"
	"github.com/sbx-run/sbx/sandbox/spawn"
)

// tempShare is the way by which a run's own tmpfs becomes known to who started
// it: the child opens its root and sends the descriptor over a socket. It can
// only be looked at with it: it is of the O_PATH kind.
type tempShare struct {
	child, ours int // the ends of the socket
	mu          sync.Mutex
	root        int
}

// openTemp makes the socket when somebody has to look; nil otherwise.
func (s *full) openTemp() (*tempShare, error) {
	if bound.TempSize(s.bounds.Limits) == 0 {
		return nil, nil
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make socket for the temp directory: %w", err)
	}
	return &tempShare{child: ends[0], ours: ends[1], root: -1}, nil
}

// sharesTemp is a share for a plan that is only printed.
func (s *full) sharesTemp(fd int) *tempShare {
	if bound.TempSize(s.bounds.Limits) == 0 {
		return nil
	}
	return &tempShare{child: fd, ours: fd, root: fd}
}

// send appends the steps that hand the root over.
func (t *tempShare) send(p *spawn.Plan, root string) {
	if t == nil {
		return
	}
	r := newRights()
	p.Call("open own tmpfs for the caller", unix.SYS_OPENAT, []uintptr{spawn.Cwd, p.Str(root), unix.O_PATH | unix.O_CLOEXEC}, spawn.Store(p.Word(&r.fd)))
	planSend(p, "show it to the caller", t.child, r)
}

// take receives the descriptor. The child has sent it: its command runs.
func (t *tempShare) take() (proc.Temp, error) {
	if t == nil {
		return nil, nil
	}
	root, err := received(t.ours)
	if err != nil {
		return nil, err
	}
	t.root = root
	return t.usage, nil
}

// usage is how full the tmpfs is, in bytes.
func (t *tempShare) usage() (used, free int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var st unix.Statfs_t
	if t.root < 0 || unix.Fstatfs(t.root, &st) != nil {
		return 0, 1 << 62
	}
	return int64(st.Blocks-st.Bfree) * st.Bsize, int64(st.Bavail) * st.Bsize
}

// close lets go of all. The tmpfs is gone with the run then.
func (t *tempShare) close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, fd := range []*int{&t.child, &t.ours, &t.root} {
		if *fd >= 0 {
			_ = unix.Close(*fd)
		}
		*fd = -1
	}
}

// tmpfsSize are the mount options that bound a tmpfs. An empty file takes a
// kilobyte of the kernel's memory, so their number is bounded too.
func tmpfsSize(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	const pageSize = 4096
	return ",size=" + strconv.FormatInt(bytes, 10) + ",nr_inodes=" + strconv.FormatInt(1024+bytes/pageSize, 10)
}
