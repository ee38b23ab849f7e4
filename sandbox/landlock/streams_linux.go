package landlock

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	writing = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	// moving is handled because it is refused when it is not.
	moving = unix.LANDLOCK_ACCESS_FS_REFER
	// writingABI is the first that refuses to empty a file (Linux 6.2).
	writingABI = 3
)

// HoldsStreams says whether an ABI can keep a command from opening its standard streams
// for writing.
func HoldsStreams(abi int) bool { return abi >= writingABI }

// Writes makes a ruleset that lets nothing be written until AllowBelow and AllowStreams
// have said what.
func Writes(scoped uint64) (int, error) {
	fd, err := Create(writing|moving, scoped)
	if err != nil {
		return -1, fmt.Errorf("create landlock ruleset: %w", err)
	}
	return fd, nil
}

// AllowBelow lets an open file, or what is below an open directory, be written.
func AllowBelow(ruleset, fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("look at a writable place: %w", err)
	}
	rights := uint64(writing)
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		rights |= moving
	}
	if err := Allow(ruleset, fd, rights); err != nil && !errors.Is(err, unix.EBADFD) {
		return fmt.Errorf("add landlock rule: %w", err)
	}
	return nil
}

// AllowStreams lets the files among the streams that were opened for writing be opened
// anew, as /dev/stdout is. Pipes and sockets take no rule, and need none.
func AllowStreams(ruleset int, streams [3]uintptr) error {
	for i, fd := range streams {
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		if errors.Is(err, unix.EBADF) {
			continue // it is closed
		}
		if err == nil && flags&unix.O_ACCMODE != unix.O_RDONLY {
			err = AllowBelow(ruleset, int(fd))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", nameOf(i), err)
		}
	}
	return nil
}

func nameOf(stream int) string {
	return [...]string{"standard input", "standard output", "standard error"}[stream]
}

// Reopened is the error of a stream that the command could open for writing, though it
// was opened for reading.
type Reopened struct{ Stream, Path, Why string }

func (e *Reopened) Error() string {
	return fmt.Sprintf("%s is the file %q, opened for reading, which the command could open for writing: %s; give it a pipe (cat FILE | …)", e.Stream, e.Path, e.Why)
}

// CheckStreams refuses a file among the streams that was opened for reading and that a
// user could write, unless spared says of its path that this is no matter.
func CheckStreams(streams [3]uintptr, uid uint32, why string, spared func(path string) bool) error {
	for i, fd := range streams {
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		if err != nil || flags&unix.O_ACCMODE != unix.O_RDONLY {
			continue
		}
		var st unix.Stat_t
		var fs unix.Statfs_t
		if unix.Fstat(int(fd), &st) != nil || !rewritable(st.Mode, uint64(st.Nlink), st.Uid, uid) {
			continue
		}
		if unix.Fstatfs(int(fd), &fs) == nil && fs.Flags&unix.ST_RDONLY != 0 {
			continue
		}
		name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(fd)))
		if err == nil && spared(name) {
			continue
		}
		return &Reopened{nameOf(i), name, why}
	}
	return nil
}

// rewritable is pure. An owner gives himself what the mode lacks; what an access list
// grants shows in the bits of the group. A file without a name, such as a shell makes of
// a long here-document, is nobody's any more.
func rewritable(mode uint32, links uint64, owner, uid uint32) bool {
	return mode&unix.S_IFMT == unix.S_IFREG && links > 0 && (uid == 0 || uid == owner || mode&0o022 != 0)
}
