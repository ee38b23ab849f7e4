package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// prefix begins the name of every group of ours.
const prefix = "sbx-"

// counter numbers the groups of this process.
var counter atomic.Uint64

// owner is who made a group, as its name says.
type owner struct {
	uid, pidNS uint64
	pid        int
	started    uint64 // in clock ticks after the boot
}

func self() owner {
	pid := os.Getpid()
	return owner{uint64(os.Geteuid()), pidNamespace(), pid, startOf(pid)}
}

// groupName names a group after this process.
func groupName() string {
	o := self()
	return fmt.Sprintf("%s%d-%d-%d-%d-%d", prefix, o.uid, o.pidNS, o.pid, o.started, counter.Add(1))
}

// ownerOf reads the name of a group; false when it is not of ours.
func ownerOf(name string) (owner, bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	parts := strings.Split(rest, "-")
	if !ok || len(parts) != 5 {
		return owner{}, false
	}
	var n [5]uint64
	for i, p := range parts {
		var err error
		if n[i], err = strconv.ParseUint(p, 10, 63); err != nil {
			return owner{}, false
		}
	}
	return owner{n[0], n[1], int(n[2]), n[3]}, true
}

// gone says whether the owner is known to have ended. Of a process in another
// pid namespace nothing is known.
func (o owner) gone() bool {
	return o.pidNS != 0 && o.pidNS == pidNamespace() && o.uid == uint64(os.Geteuid()) &&
		(unix.Kill(o.pid, 0) == unix.ESRCH || startOf(o.pid) != o.started)
}

func pidNamespace() uint64 {
	var st unix.Stat_t
	if unix.Stat("/proc/self/ns/pid", &st) != nil {
		return 0
	}
	return st.Ino
}

// startOf is when a process was started; 0 when that cannot be read.
func startOf(pid int) uint64 {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return 0
	}
	n, _ := strconv.ParseUint(fields[19], 10, 64)
	return n
}

const (
	// mostSiblings bounds how many neighbours of our group are looked through.
	mostSiblings = 512
	// patience is how long one abandoned group may hold up a start.
	patience = 200 * time.Millisecond
)

// reap takes away what dead processes of this user left in a directory of
// groups and in those beside it: a run may start in another group than the one
// before.
func (h Host) reap(dir string) {
	h.reapIn(dir)
	siblings, _ := os.ReadDir(h.root + filepath.Dir(dir))
	if dir == "/" || len(siblings) > mostSiblings {
		return
	}
	for _, s := range siblings {
		if at := filepath.Join(filepath.Dir(dir), s.Name()); s.IsDir() && at != dir {
			h.reapIn(at)
		}
	}
}

func (h Host) reapIn(dir string) {
	entries, err := os.ReadDir(h.root + dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if o, ours := ownerOf(e.Name()); ours && e.IsDir() && o.gone() {
			h.reapOne(filepath.Join(dir, e.Name()))
		}
	}
}

// reapOne removes a group whose maker's name is that of nobody, if its
// directory is this user's and nobody holds its lock.
func (h Host) reapOne(path string) {
	f, err := os.OpenFile(h.root+path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_DIRECTORY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil || int(st.Uid) != os.Geteuid() {
		return
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return
	}
	_ = h.remove(path, patience)
}
