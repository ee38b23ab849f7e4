//go:build unix

package tree

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// part begins the names of files that are being written. They are not carried.
const part = ".sbx-part-"

// stamp is what changes when a file does.
type stamp struct {
	inode, size  uint64
	mtime, ctime int64
}

// settled is how long ago a file must have changed for its stamp to say that it
// has not changed again: time stamps are coarse.
const settled = 2 * time.Second

// known is a file that was read before.
type known struct {
	stamp
	sum [sha256.Size]byte
}

// Index remembers what files held, so that only those are read that changed. Its
// zero value knows nothing.
type Index struct {
	files   map[string]known
	Changed bool // by the last scan
}

// Bytes is the form of an index in a file.
func (x *Index) Bytes() []byte {
	var b []byte
	for p, k := range x.files {
		b = append(binary.AppendUvarint(b, uint64(len(p))), p...)
		b = binary.AppendUvarint(binary.AppendUvarint(b, k.inode), k.size)
		b = append(binary.AppendVarint(binary.AppendVarint(b, k.mtime), k.ctime), k.sum[:]...)
	}
	return b
}

// ParseIndex reads it. One that is damaged knows nothing.
func ParseIndex(b []byte) *Index {
	x := &Index{files: map[string]known{}}
	for r := bytes.NewReader(b); r.Len() > 0; {
		var k known
		n, err := binary.ReadUvarint(r)
		if err != nil || n > maxName {
			return &Index{}
		}
		name := make([]byte, n)
		_, e0 := io.ReadFull(r, name)
		var e1, e2, e3, e4 error
		k.inode, e1 = binary.ReadUvarint(r)
		k.size, e2 = binary.ReadUvarint(r)
		k.mtime, e3 = binary.ReadVarint(r)
		k.ctime, e4 = binary.ReadVarint(r)
		_, e5 := io.ReadFull(r, k.sum[:])
		if errors.Join(e0, e1, e2, e3, e4, e5) != nil {
			return &Index{}
		}
		x.files[string(name)] = k
	}
	return x
}

// Scan lists a directory. What it reads is remembered in the index.
func Scan(root *os.Root, x *Index) (List, error) {
	s := &scan{old: x.files, files: map[string]known{}, began: time.Now()}
	if err := s.directory(root, ""); err != nil {
		return nil, err
	}
	x.Changed = s.read || len(s.files) != len(x.files)
	x.files = s.files
	s.list.sort()
	return s.list, nil
}

type scan struct {
	list       List
	old, files map[string]known
	began      time.Time
	read       bool // a file was read
}

func (s *scan) directory(dir *os.Root, at string) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	names, err := f.Readdirnames(-1)
	_ = f.Close()
	if err != nil {
		return fmt.Errorf("list %q: %w", at, err)
	}
	slices.Sort(names)
	for _, name := range names {
		if strings.HasPrefix(name, part) {
			continue
		}
		info, err := dir.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // gone meanwhile
		}
		if err != nil {
			return err
		}
		if err := s.entry(dir, name, path.Join(at, name), info); err != nil {
			return err
		}
	}
	return nil
}

func (s *scan) entry(dir *os.Root, name, at string, info fs.FileInfo) error {
	e := Entry{Path: at, Mode: info.Mode().Perm()}
	switch {
	case info.IsDir():
		e.Kind = Directory
		s.list = append(s.list, e)
		sub, err := dir.OpenRoot(name)
		if err != nil {
			return fmt.Errorf("open %q: %w", at, err)
		}
		defer sub.Close()
		return s.directory(sub, at)
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := dir.Readlink(name)
		if err != nil {
			return nil //nolint:nilerr // gone meanwhile
		}
		e.Kind, e.To, e.Mode = Link, to, 0
	case info.Mode().IsRegular():
		e.Kind, e.MTime, e.Size = File, info.ModTime().UnixNano(), info.Size()
		is := stampOf(info)
		if old, ok := s.old[at]; ok && old.stamp == is {
			e.Sum = old.sum
		} else {
			var err error
			s.read = true
			if e.Sum, err = sumOf(dir, name); err != nil {
				return fmt.Errorf("read %q: %w", at, err)
			}
		}
		if s.began.Sub(time.Unix(0, max(is.ctime, is.mtime))) > settled {
			s.files[at] = known{is, e.Sum}
		}
	default:
		return nil
	}
	s.list = append(s.list, e)
	return nil
}

// openFile opens a regular file for reading. It waits for no pipe.
func openFile(dir *os.Root, name string) (*os.File, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, errors.New("it is no regular file any more")
	}
	return f, nil
}

func sumOf(dir *os.Root, name string) (sum [sha256.Size]byte, err error) {
	f, err := openFile(dir, name)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return sum, err
	}
	h.Sum(sum[:0])
	return sum, nil
}

func stampOf(info fs.FileInfo) stamp {
	s := stamp{size: uint64(info.Size()), mtime: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode, s.ctime = st.Ino, changeTime(st)
	}
	return s
}
