package layout

import (
	"sync"

	"golang.org/x/sys/unix"
)

// mountList says what is mounted where, for this process.
const mountList = "/proc/self/mountinfo"

// mountWatch holds the mounts of this process. The kernel says in one call whether
// they have changed (proc_pid_mounts(5)); to read them anew for each run would take
// longer than all else that is looked up for it. It says so once to each open file, so
// there is one for all sessions.
type mountWatch struct {
	name string

	mu    sync.Mutex
	fd    int // 0: not open
	text  string
	table mountTable
	count uint64 // of the tables so far
}

var hostMounts = mountWatch{name: mountList}

// MountInfo is what mountinfo says of this process now (proc_pid_mountinfo(5)).
func MountInfo() string {
	hostMounts.now()
	hostMounts.mu.Lock()
	defer hostMounts.mu.Unlock()
	return hostMounts.text
}

// now gives the mounts, and a number that is another one when they are others. Where
// there is no list of them, as without /proc, nothing is known to be mounted.
func (w *mountWatch) now() (mountTable, uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fd == 0 {
		fd, err := unix.Open(w.name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return w.table, w.count
		}
		w.fd = fd
	} else if !w.changed() {
		return w.table, w.count
	}
	if text := w.read(); text != w.text {
		w.text, w.table = text, tableOf(text)
		w.count++
	}
	return w.table, w.count
}

// changed takes the news. In doubt there are some.
func (w *mountWatch) changed() bool {
	p := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLPRI}}
	n, err := unix.Poll(p, 0)
	return n != 0 || err != nil
}

// read reads it from its beginning.
func (w *mountWatch) read() string {
	var text []byte
	part := make([]byte, 16<<10)
	for {
		n, err := unix.Pread(w.fd, part, int64(len(text)))
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			return string(text)
		}
		text = append(text, part[:n]...)
	}
}
