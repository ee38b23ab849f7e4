package changes

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// All paths here are looked up below a descriptor of the root, component by
// component in the kernel, with no symbolic link followed: what lies in a layer
// or in a workspace was written by the command.

const (
	dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	// maxPath is the longest path, below its root, that is carried over. Linux
	// takes 4095 bytes at once; deeper trees are made step by step.
	maxPath = 1 << 15
	// hop is how much of a path goes into one call.
	hop = 3 << 10
)

var errDeep = errors.New("it lies too deep")

// openBelow opens a path below root without leaving it.
func openBelow(root int, path string, flags int) (int, error) {
	if len(path) > maxPath {
		return -1, errDeep
	}
	at, own := root, false
	for {
		part, rest := path, ""
		if len(path) > hop {
			cut := strings.LastIndexByte(path[:hop], '/')
			if cut <= 0 {
				return -1, unix.ENAMETOOLONG
			}
			part, rest = path[:cut], path[cut+1:]
		}
		how := unix.OpenHow{
			Flags:   uint64(flags | unix.O_NOFOLLOW | unix.O_CLOEXEC),
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
		}
		if rest != "" {
			how.Flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
		}
		if part == "" {
			part = "."
		}
		fd, err := retry(func() (int, error) { return unix.Openat2(at, part, &how) })
		if own {
			_ = unix.Close(at)
		}
		if err != nil || rest == "" {
			return fd, err
		}
		at, own, path = fd, true, rest
	}
}

// retry repeats what a signal interrupted. EAGAIN is the answer of openat2 to a
// rename that happened meanwhile.
func retry(call func() (int, error)) (int, error) {
	for range 100 {
		n, err := call()
		if err != unix.EINTR && err != unix.EAGAIN {
			return n, err
		}
	}
	return -1, unix.EAGAIN
}

// parentOf opens the directory of a path, and gives the name in it.
func parentOf(root int, path string) (int, string, error) {
	dir, name := "", path
	if cut := strings.LastIndexByte(path, '/'); cut >= 0 {
		dir, name = path[:cut], path[cut+1:]
	}
	fd, err := openBelow(root, dir, unix.O_PATH|unix.O_DIRECTORY)
	return fd, name, err
}

// stateAt looks at a name in a directory, and not through a link.
func stateAt(dir int, name string) (*state, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, err
	}
	s := &state{
		Dev: st.Dev, Ino: st.Ino, Mode: st.Mode, UID: st.Uid, GID: st.Gid, Links: uint64(st.Nlink), Size: st.Size, rdev: st.Rdev,
		Mtime: st.Mtim.Nano(), Atime: st.Atim.Nano(), Ctime: st.Ctim.Nano(),
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		b := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(dir, name, b)
		if err != nil {
			return nil, err
		}
		s.Target = rawPath(b[:n])
	case unix.S_IFDIR:
		s.Size = 0 // what a file system makes of it says nothing
	}
	return s, nil
}

// mountAt names the mount that something is in. st_dev does not: an overlay
// gives files the number of the layer they are in.
func mountAt(dir int, name string) (uint64, error) {
	var st unix.Statx_t
	if err := unix.Statx(dir, name, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_MNT_ID, &st); err != nil {
		return 0, err
	}
	return st.Mnt_id, nil
}

// stateBelow looks at a path; the path "." is the root.
func stateBelow(root int, path string) (*state, error) {
	if path == "." {
		return stateAt(root, ".")
	}
	dir, name, err := parentOf(root, path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	return stateAt(dir, name)
}

// absent says that a path is not there.
func absent(err error) bool { return err == unix.ENOENT || err == unix.ENOTDIR }

func (s *state) is(kind uint32) bool { return s.Mode&unix.S_IFMT == kind }
func (s *state) dir() bool           { return s.is(unix.S_IFDIR) }
func (s *state) file() bool          { return s.is(unix.S_IFREG) }
func (s *state) perm() uint32        { return s.Mode & 0o7777 }

// whiteout is what an overlay puts in place of a file that was removed.
func (s *state) whiteout() bool { return s.is(unix.S_IFCHR) && s.rdev == 0 }

func (s *state) typeName() string {
	switch s.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return "file"
	case unix.S_IFDIR:
		return "directory"
	case unix.S_IFLNK:
		return "symlink"
	case unix.S_IFIFO:
		return "fifo"
	case unix.S_IFSOCK:
		return "socket"
	}
	return "device"
}

func (s *state) fileSize() int64 {
	if s.file() {
		return s.Size
	}
	return 0
}

// procPath names a file of a directory for the calls that take no descriptor.
// The directory is one of ours, so the way there is no link of anybody else's.
func procPath(dir int, name string) string {
	return "/proc/self/fd/" + strconv.Itoa(dir) + "/" + name
}

// attrsAt reads the attributes that are carried over: those of users, and the
// access lists. Not those that an overlay keeps its book in.
func attrsAt(dir int, name string) (map[string][]byte, error) {
	path := procPath(dir, name)
	list := make([]byte, 1<<16)
	n, err := unix.Llistxattr(path, list)
	if err == unix.ENOTSUP {
		return nil, nil
	} else if err != nil || n == 0 {
		return nil, err
	}
	var attrs map[string][]byte
	for _, attr := range strings.Split(strings.TrimRight(string(list[:n]), "\x00"), "\x00") {
		if !carried(attr) {
			continue
		}
		value, err := attrAt(path, attr)
		if err != nil {
			return nil, err
		}
		if attrs == nil {
			attrs = map[string][]byte{}
		}
		attrs[attr] = value
	}
	return attrs, nil
}

func attrAt(path, attr string) ([]byte, error) {
	value := make([]byte, 1<<16)
	n, err := unix.Lgetxattr(path, attr, value)
	if err != nil {
		return nil, err
	}
	return slices.Clone(value[:n]), nil
}

const overlayPrefix = "user.overlay."

func carried(attr string) bool {
	return strings.HasPrefix(attr, "user.") && !strings.HasPrefix(attr, overlayPrefix) ||
		attr == "system.posix_acl_access" || attr == "system.posix_acl_default"
}

// hasMark says whether an overlay has marked the file.
func hasMark(dir int, name, mark, value string) bool {
	b, err := attrAt(procPath(dir, name), overlayPrefix+mark)
	return err == nil && (value == "" || string(b) == value)
}

// setAttrs gives a file exactly these attributes.
func setAttrs(dir int, name string, want map[string][]byte) error {
	have, err := attrsAt(dir, name)
	if err != nil {
		return err
	}
	path := procPath(dir, name)
	for attr := range have {
		if _, keep := want[attr]; !keep {
			if err := unix.Lremovexattr(path, attr); err != nil && err != unix.ENODATA {
				return err
			}
		}
	}
	for attr, value := range want {
		if string(have[attr]) == string(value) && have[attr] != nil {
			continue
		}
		if err := unix.Lsetxattr(path, attr, value, 0); err != nil {
			return fmt.Errorf("attribute %q: %w", attr, err)
		}
	}
	return nil
}

// names lists a directory, sorted.
func names(dir int) ([]string, error) {
	if _, err := unix.Seek(dir, 0, io.SeekStart); err != nil {
		return nil, err
	}
	var list []string
	buf := make([]byte, 1<<15)
	for {
		n, err := retry(func() (int, error) { return unix.ReadDirent(dir, buf) })
		if err != nil {
			return nil, err
		}
		if n == 0 {
			slices.Sort(list)
			return list, nil
		}
		_, _, list = unix.ParseDirent(buf[:n], -1, list)
	}
}

// setMode changes the mode of what is at the name. It is no link: the caller
// has looked, and a link put there meanwhile has no mode.
func setMode(dir int, name string, mode uint32) error {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), mode&0o7777)
}

// setTimes sets both times of what is at the name, a link itself too.
func setTimes(dir int, name string, atime, mtime int64) error {
	times := []unix.Timespec{unix.NsecToTimespec(atime), unix.NsecToTimespec(mtime)}
	return unix.UtimesNanoAt(dir, name, times, unix.AT_SYMLINK_NOFOLLOW)
}

// sameContent compares two files of the same size byte by byte. Where both have a
// hole nothing is read: such a file may be larger than any disk.
func sameContent(a, b int) (bool, error) {
	var x, y [1 << 16]byte
	for off := int64(0); ; {
		p, err := nextData(a, off)
		if err != nil {
			return false, err
		}
		q, err := nextData(b, off)
		if err != nil {
			return false, err
		}
		if off = min(p, q); off == noData {
			return true, nil
		}
		n, err := readAt(a, x[:], off)
		if err != nil {
			return false, err
		}
		m, err := readAt(b, y[:], off)
		if err != nil {
			return false, err
		}
		if string(x[:n]) != string(y[:m]) {
			return false, nil
		}
		if n == 0 {
			return true, nil
		}
		off += int64(n)
	}
}

// noData is behind every file.
const noData = 1<<63 - 1

// nextData finds the next byte that is not in a hole.
func nextData(fd int, off int64) (int64, error) {
	switch at, err := unix.Seek(fd, off, unix.SEEK_DATA); err {
	case nil:
		return at, nil
	case unix.ENXIO:
		return noData, nil
	case unix.EINVAL: // no holes on this file system
		return off, nil
	default:
		return 0, err
	}
}

func readAt(fd int, b []byte, off int64) (int, error) {
	n := 0
	for n < len(b) {
		k, err := retry(func() (int, error) { return unix.Pread(fd, b[n:], off+int64(n)) })
		if err != nil || k == 0 {
			return n, err
		}
		n += k
	}
	return n, nil
}

// openFile opens a regular file for reading; anything else is refused before it
// could block.
func openFile(dir int, name string, ino uint64) (int, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && (st.Mode&unix.S_IFMT != unix.S_IFREG || st.Ino != ino) {
		err = unix.ESTALE
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// as runs fn with the rights on files that a user has, on a thread that ends
// with it. Without an owner fn runs as it is.
func as(o *Owner, fn func() error) error {
	if o == nil {
		return fn()
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if unix.Gettid() == unix.Getpid() {
			// The main thread does not end. Another one does it, and cannot be this
			// one while it is locked and waits.
			begun := make(chan struct{})
			go func() {
				runtime.LockOSThread()
				close(begun)
				done <- become(o, fn)
			}()
			<-begun
			runtime.UnlockOSThread()
			return
		}
		done <- become(o, fn)
	}()
	return <-done
}

// become changes the credentials of this thread alone. With another fsuid than
// root's, root's power over files is gone.
func become(o *Owner, fn func() error) error {
	groups := slices.Clone(o.Groups)
	if len(groups) == 0 {
		groups = []uint32{o.GID}
	}
	if _, _, errno := syscall.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0); errno != 0 {
		return fmt.Errorf("take groups: %w", errno)
	}
	for _, c := range [...]struct {
		nr uintptr
		id uint32
	}{{unix.SYS_SETFSGID, o.GID}, {unix.SYS_SETFSUID, o.UID}} {
		syscall.RawSyscall(c.nr, uintptr(c.id), 0, 0)
		if now, _, _ := syscall.RawSyscall(c.nr, ^uintptr(0), 0, 0); uint32(now) != c.id {
			return fmt.Errorf("act on files as user %d: %w", o.UID, unix.EPERM)
		}
	}
	return fn()
}
