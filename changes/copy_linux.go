package changes

import (
	"errors"
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// copier carries trees over with everything that belongs to them.
type copier struct {
	src, dst int
	mode     func(path string) (uint32, bool) // true modes of the source, where they differ
	skip     func(s *state) bool              // what is not carried over
	stays    func(ino uint64) (string, bool)  // files that are names of a real file
	names    map[uint64]string                // several names: the first that was made
	links    []prelink                        // left to be made
	made     func(path string, ino uint64)    // nil: not of interest
	mount    uint64                           // that the source is in, 0: any
	files    int                              // how many more may be made
	bytes    int64                            // how much more may be written
}

// prelink is a hard link to a file that stays.
type prelink struct {
	To   rawPath `json:"to"`   // the real file, below the root
	Name rawPath `json:"name"` // below the staging directory
}

// tree copies what is at from in the source to the name to in the destination,
// which must not exist. A directory keeps all rights of its owner at its top, so
// that it can be moved; the caller takes them away.
func (c *copier) tree(from, to string) error {
	type pair struct{ from, to string }
	type finish struct {
		to string
		s  *state
	}
	var made []finish
	for todo := []pair{{from, to}}; len(todo) > 0; {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		s, err := c.one(p.from, p.to)
		if err != nil {
			return fmt.Errorf("copy %q: %w", p.from, err)
		}
		if s == nil || !s.dir() {
			continue
		}
		made = append(made, finish{p.to, s})
		dir, err := openBelow(c.src, root(p.from), unix.O_RDONLY|unix.O_DIRECTORY)
		if err != nil {
			return fmt.Errorf("copy %q: %w", p.from, err)
		}
		list, err := names(dir)
		_ = unix.Close(dir)
		if err != nil {
			return fmt.Errorf("copy %q: %w", p.from, err)
		}
		for _, n := range list {
			todo = append(todo, pair{join(p.from, n), join(p.to, n)})
		}
	}
	for i := len(made) - 1; i >= 0; i-- {
		f := made[i]
		if i == 0 {
			top := *f.s
			top.Mode |= 0o700
			f.s = &top
		}
		if err := c.finish(f.to, f.s); err != nil {
			return fmt.Errorf("copy %q: %w", f.to, err)
		}
	}
	return nil
}

// root turns the name of the root into what openBelow takes.
func root(path string) string {
	if path == "." {
		return ""
	}
	return path
}

// one makes one file or an empty directory, and gives what it is a copy of; nil
// when it is left out.
func (c *copier) one(from, to string) (*state, error) {
	sdir, sname, err := c.open(c.src, from)
	if err != nil {
		return nil, err
	}
	defer unix.Close(sdir)
	s, err := stateAt(sdir, sname)
	if err != nil {
		return nil, err
	}
	if c.skip != nil && c.skip(s) {
		return nil, nil
	}
	if c.mount != 0 {
		if at, err := mountAt(sdir, sname); err != nil || at != c.mount {
			return nil, errors.Join(err, errors.New("something else is mounted there"))
		}
	}
	if mode, known := c.mode(from); known {
		s.Mode = s.Mode&^0o7777 | mode
	}
	if c.files--; c.files < 0 {
		return nil, ErrTooBig
	}
	if s.dir() || s.file() {
		if s.Attrs, err = attrsAt(sdir, sname); err != nil {
			return nil, err
		}
	}
	ddir, dname, err := c.open(c.dst, to)
	if err != nil {
		return nil, err
	}
	defer unix.Close(ddir)
	switch {
	case s.dir():
		if to != "." {
			err = unix.Mkdirat(ddir, dname, 0o700)
		}
		if err == nil {
			err = c.note(ddir, dname, to)
		}
		return s, err // finished when it is full
	case s.file() && s.Links > 1:
		done, err := c.link(s, ddir, dname, to)
		if done || err != nil {
			return s, err
		}
	}
	if err := c.make(sdir, sname, ddir, dname, s); err != nil {
		return nil, err
	}
	if err := c.note(ddir, dname, to); err != nil {
		return nil, err
	}
	return s, finishAt(ddir, dname, s)
}

func (c *copier) open(at int, path string) (int, string, error) {
	if path == "." {
		fd, err := unix.FcntlInt(uintptr(at), unix.F_DUPFD_CLOEXEC, 3)
		return fd, ".", err
	}
	return parentOf(at, path)
}

func (c *copier) note(dir int, name, to string) error {
	if c.made == nil {
		return nil
	}
	s, err := stateAt(dir, name)
	if err == nil {
		c.made(to, s.Ino)
	}
	return err
}

// link makes another name of a file that is there already, or notes that it has
// to be made.
func (c *copier) link(s *state, ddir int, dname, to string) (bool, error) {
	if c.stays != nil {
		if real, ok := c.stays(s.Ino); ok {
			c.links = append(c.links, prelink{rawPath(real), rawPath(to)})
			return true, nil
		}
	}
	first, seen := c.names[s.Ino]
	if !seen {
		c.names[s.Ino] = to
		return false, nil
	}
	fdir, fname, err := parentOf(c.dst, first)
	if err != nil {
		return false, err
	}
	defer unix.Close(fdir)
	if err := unix.Linkat(fdir, fname, ddir, dname, 0); err != nil {
		return false, err
	}
	return true, c.note(ddir, dname, to)
}

// make makes what is no directory.
func (c *copier) make(sdir int, sname string, ddir int, dname string, s *state) error {
	switch s.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return unix.Symlinkat(string(s.Target), ddir, dname)
	case unix.S_IFIFO, unix.S_IFSOCK:
		return unix.Mknodat(ddir, dname, s.Mode&unix.S_IFMT|0o600, 0)
	case unix.S_IFREG:
	default:
		return errors.New("it is a device")
	}
	in, err := openFile(sdir, sname, s.Ino)
	if err != nil {
		return err
	}
	defer unix.Close(in)
	out, err := unix.Openat(ddir, dname, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	n, err := copyContent(in, out, s.Size, c.bytes)
	c.bytes -= n
	if cerr := unix.Close(out); err == nil {
		err = cerr
	}
	return err
}

// copyContent shares the content where the file system can, and copies what is
// not a hole otherwise. No more than limit bytes are written.
func copyContent(in, out int, size, limit int64) (written int64, err error) {
	if size == 0 {
		return 0, nil
	}
	if unix.IoctlFileClone(out, in) == nil {
		return 0, nil
	}
	buf := make([]byte, 1<<18)
	for off := int64(0); ; {
		if off, err = nextData(in, off); err != nil || off == noData {
			break
		}
		n, err := readAt(in, buf, off)
		if err != nil {
			return written, err
		}
		if n == 0 {
			break
		}
		if written += int64(n); written > limit {
			return written, ErrTooBig
		}
		if err := writeAt(out, buf[:n], off); err != nil {
			return written, err
		}
		off += int64(n)
	}
	if err != nil {
		return written, err
	}
	return written, unix.Ftruncate(out, size) // a hole at the end
}

func writeAt(fd int, b []byte, off int64) error {
	for len(b) > 0 {
		n, err := retry(func() (int, error) { return unix.Pwrite(fd, b, off) })
		if err != nil {
			return err
		}
		b, off = b[n:], off+int64(n)
	}
	return nil
}

// finish gives a directory its mode, owner, attributes and times.
func (c *copier) finish(to string, s *state) error {
	dir, name, err := c.open(c.dst, to)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return finishAt(dir, name, s)
}

// finishAt gives what is at the name everything of s but the content.
func finishAt(dir int, name string, s *state) error {
	have, err := stateAt(dir, name)
	if err != nil {
		return err
	}
	if have.UID != s.UID || have.GID != s.GID {
		if err := unix.Fchownat(dir, name, int(s.UID), int(s.GID), unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return fmt.Errorf("owner: %w", err)
		}
	}
	if s.dir() || s.file() {
		if err := setAttrs(dir, name, s.Attrs); err != nil {
			return err
		}
	}
	if !s.is(unix.S_IFLNK) { // after the owner, which takes bits away, and the access list, which is part of it
		if err := setMode(dir, name, s.perm()); err != nil {
			return fmt.Errorf("mode: %w", err)
		}
	}
	return setTimes(dir, name, s.Atime, s.Mtime)
}

// removeTree removes what is at the name, whatever modes it has.
func removeTree(dir int, name string) error {
	err := unix.Unlinkat(dir, name, 0)
	if err != unix.EISDIR && err != unix.EPERM {
		if err == unix.ENOENT {
			return nil
		}
		return err
	}
	top, err := openBelow(dir, name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(top)
	order := []string{"."}
	for i := 0; i < len(order); i++ {
		at := order[i]
		parent, base, err := (&copier{}).open(top, at)
		if err != nil {
			return err
		}
		s, err := stateAt(parent, base)
		if err == nil && s.Mode&0o700 != 0o700 {
			err = setMode(parent, base, s.perm()|0o700)
		}
		_ = unix.Close(parent)
		if err != nil {
			return err
		}
		fd, err := openBelow(top, root(at), unix.O_RDONLY|unix.O_DIRECTORY)
		if err != nil {
			return err
		}
		list, err := names(fd)
		for _, n := range list {
			if uerr := unix.Unlinkat(fd, n, 0); uerr == unix.EISDIR || uerr == unix.EPERM {
				order = append(order, join(at, n))
			} else if uerr != nil && uerr != unix.ENOENT && err == nil {
				err = uerr
			}
		}
		_ = unix.Close(fd)
		if err != nil {
			return err
		}
	}
	for i := len(order) - 1; i > 0; i-- {
		parent, base, err := parentOf(top, order[i])
		if err != nil {
			return err
		}
		err = unix.Unlinkat(parent, base, unix.AT_REMOVEDIR)
		_ = unix.Close(parent)
		if err != nil {
			return err
		}
	}
	return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
}

// asItIs is for a source whose modes are true.
func asItIs(string) (uint32, bool) { return 0, false }

// Copy copies a directory to an empty one, for a run where no overlay can be
// mounted. Content is shared where the file system can. More files, or more bytes
// that cannot be shared, than the limits say are an error.
func Copy(from, to string, owner *Owner, maxFiles int, maxBytes int64) (*Snapshot, error) {
	s := newSnapshot()
	err := as(owner, func() error {
		src, err := unix.Open(from, dirFlags, 0)
		if err != nil {
			return err
		}
		defer unix.Close(src)
		dst, err := unix.Open(to, dirFlags, 0)
		if err != nil {
			return err
		}
		defer unix.Close(dst)
		top, err := mountAt(src, ".")
		if err != nil {
			return err
		}
		c := &copier{src: src, dst: dst, mount: top, names: map[uint64]string{}, files: maxFiles, bytes: maxBytes, mode: asItIs, made: s.add}
		return c.tree(".", ".")
	})
	if err != nil {
		return nil, fmt.Errorf("copy %q: %w", from, err)
	}
	return s, nil
}

// unlimited is for what was limited before.
const unlimited = math.MaxInt64
