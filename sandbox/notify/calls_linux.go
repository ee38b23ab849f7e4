//go:build amd64 || arm64

package notify

import "golang.org/x/sys/unix"

// none says that a call has no such argument.
const none = -1

// call is a system call that is watched. Arguments are given by their index.
type call struct {
	nr     uint32
	name   string
	act    Act
	dirs   [2]int // descriptors that relative paths start at; none: the current directory
	paths  [2]int
	flags  int // open flags of Read and Write, AT_ flags of the rest
	follow bool
}

func one(nr uint32, name string, act Act, dir, path, flags int, follow bool) call {
	return call{nr, name, act, [2]int{dir, none}, [2]int{path, none}, flags, follow}
}

func two(nr uint32, name string, act Act, dirs, paths [2]int, flags int) call {
	return call{nr, name, act, dirs, paths, flags, false}
}

// calls lists what is watched. openat2, fchmodat2 and the calls on extended
// attributes are missing: package filter refuses them altogether.
func calls() []call {
	return append([]call{
		one(unix.SYS_OPENAT, "openat", Write, 0, 1, 2, true),
		one(unix.SYS_TRUNCATE, "truncate", Truncate, none, 0, none, true),

		one(unix.SYS_CONNECT, "connect", Connect, none, none, none, false),

		one(unix.SYS_MKDIRAT, "mkdirat", Create, 0, 1, none, false),
		one(unix.SYS_MKNODAT, "mknodat", Create, 0, 1, none, false),
		one(unix.SYS_SYMLINKAT, "symlinkat", Create, 1, 2, none, false),

		one(unix.SYS_UNLINKAT, "unlinkat", Delete, 0, 1, 2, false),

		two(unix.SYS_RENAMEAT, "renameat", Rename, [2]int{0, 2}, [2]int{1, 3}, none),
		two(unix.SYS_RENAMEAT2, "renameat2", Rename, [2]int{0, 2}, [2]int{1, 3}, 4),
		two(unix.SYS_LINKAT, "linkat", Link, [2]int{0, 2}, [2]int{1, 3}, 4),

		one(unix.SYS_FCHMODAT, "fchmodat", Mode, 0, 1, none, true),
		one(unix.SYS_FCHMOD, "fchmod", Mode, 0, none, none, true),
		one(unix.SYS_FCHOWN, "fchown", Owner, 0, none, none, true),
		one(unix.SYS_FCHOWNAT, "fchownat", Owner, 0, 1, 4, true),
		one(unix.SYS_UTIMENSAT, "utimensat", Times, 0, 1, 3, true),
	}, oldCalls()...)
}

// opensForWriting are the flags of open that change something. O_TMPFILE makes
// a file without a name; its own bit is the upper one.
const opensForWriting = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC | unix.O_TMPFILE&^unix.O_DIRECTORY

// event gives what is known without looking into memory; false when the call is
// none that is of interest.
func (c *call) event(args *[6]uint64, acts Acts) (Event, bool) {
	e := Event{Call: c.name, Act: c.act, Follow: c.follow}
	at := uint64(0)
	if c.flags != none {
		at = args[c.flags]
	}
	switch {
	case c.act == Write && c.flags == none: // creat
		e.Create, e.Writes = true, true
	case c.act == Write:
		if at&unix.O_PATH != 0 {
			return e, false
		}
		e.Create, e.Exclusive = at&unix.O_CREAT != 0, at&unix.O_EXCL != 0
		e.Follow = at&unix.O_NOFOLLOW == 0 && !(e.Create && e.Exclusive)
		e.Writes = at&(unix.O_ACCMODE|unix.O_TRUNC) != 0
		if at&opensForWriting == 0 {
			e.Act = Read
		} else if at&unix.O_TMPFILE == unix.O_TMPFILE {
			e.Create, e.Unnamed, e.Follow = false, true, at&unix.O_NOFOLLOW == 0
		}
	case c.act == Delete && at&unix.AT_REMOVEDIR != 0:
		e.Act = DeleteDir
	case c.act == Rename:
		e.Exclusive = at&unix.RENAME_NOREPLACE != 0
	case c.act == Link:
		e.Follow = at&unix.AT_SYMLINK_FOLLOW != 0
	case at&unix.AT_SYMLINK_NOFOLLOW != 0:
		e.Follow = false
	}
	return e, acts.has(e.Act)
}
