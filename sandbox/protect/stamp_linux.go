package protect

import (
	"time"

	"golang.org/x/sys/unix"
)

// stamp is a file's fingerprint: when it is the same, nobody has changed the
// file. The change time cannot be set by programs.
type stamp struct {
	exists       bool
	mode         uint32
	dev, ino     uint64
	size         int64
	links        uint64
	mtime, ctime int64 // ns since 1970
}

func lookAt(path string) stamp {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return stamp{}
	}
	return stampOf(&st)
}

func stampOf(st *unix.Stat_t) stamp {
	return stamp{
		exists: true, mode: st.Mode, dev: uint64(st.Dev), ino: st.Ino, size: st.Size, links: uint64(st.Nlink),
		mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(),
	}
}

func (p stamp) kind() uint32  { return p.mode & unix.S_IFMT }
func (p stamp) dir() bool     { return p.kind() == unix.S_IFDIR }
func (p stamp) link() bool    { return p.kind() == unix.S_IFLNK }
func (p stamp) regular() bool { return p.kind() == unix.S_IFREG }

// leaf says that no directory lies in a directory: on file systems that count so,
// it has two names then.
func (p stamp) leaf() bool { return p.links == 2 }

// setID says that the file runs with the rights of its owner or group.
func (p stamp) setID() bool {
	return p.regular() && (p.mode&unix.S_ISUID != 0 || p.mode&unix.S_ISGID != 0 && p.mode&0o010 != 0)
}

// clock is a moment. Files get their times from a coarse clock, which is behind
// the exact one by up to 10 ms.
type clock struct {
	files  int64 // ns since 1970
	exact  time.Time
	trusty bool
}

func now() clock {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &t)
	return clock{t.Nano(), time.Now(), err == nil}
}

// slack is by how much the two clocks of clock may differ.
const slack = 50 * time.Millisecond

// steady says that the clock was not set back since: the times of files tell then
// what is newer.
func (c clock) steady() bool { return c.steadyUntil(now()) }

func (c clock) steadyUntil(later clock) bool {
	passed := later.exact.Sub(c.exact) // monotonic
	return c.trusty && later.trusty && time.Duration(later.files-c.files) > passed-slack
}

// calm says that nothing changed shortly before a moment, see the constant.
func (p stamp) calm(c clock) bool {
	return p.exists && c.trusty && p.ctime < c.files-int64(calm)
}

// tellsChanges says that a path lies on a file system that gives whatever changes
// a new time of change, from the clock of this host.
func tellsChanges(path string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(path, &fs) != nil {
		return false
	}
	switch int64(fs.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC:
		return true // EXT4 stands for ext2 and ext3 too
	}
	return false
}

// since says that a file changed at or after the moment.
func (p stamp) since(c clock) bool { return p.exists && p.ctime >= c.files }

// same says that nobody has changed it. What is in a directory is looked at on
// its own.
func (p stamp) same(q stamp) bool {
	if p.dir() && q.dir() {
		return p.dev == q.dev && p.ino == q.ino && p.mode == q.mode
	}
	return p == q
}

// changedSince says that a name in a directory came or went at or after the moment.
func changedSince(dir string, c clock) bool { return lookAt(dir).since(c) }
