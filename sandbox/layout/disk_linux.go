package layout

import (
	"encoding/binary"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// disk is the tree of the file system. It reads directories itself because the
// kernel's entries hold what is needed: os.ReadDir sorts them and asks for the
// state of each, and this runs once per command.
type disk struct{ buffer []byte }

func newDisk() *disk { return &disk{make([]byte, 16<<10)} }

func (*disk) readlink(name string) (string, error) { return os.Readlink(name) }

func (d *disk) list(at string) []entry {
	fd, err := unix.Open(at, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var entries []entry
	for {
		n, err := unix.Getdents(fd, d.buffer)
		if err != nil || n <= 0 {
			return entries
		}
		text := string(d.buffer[:n]) // all names in one piece of memory
		for start := 0; start < n; {
			size := int(binary.NativeEndian.Uint16(d.buffer[start+16:])) // linux_dirent64.d_reclen
			entries = addEntry(entries, at, text[start:start+size])
			start += size
		}
	}
}

// addEntry decodes a struct linux_dirent64: inode, offset, length (2), type,
// name.
func addEntry(entries []entry, at, record string) []entry {
	name, _, _ := strings.Cut(record[19:], "\x00")
	if name == "." || name == ".." {
		return entries
	}
	k := file
	switch record[18] {
	case unix.DT_DIR:
		k = dir
	case unix.DT_LNK:
		k = link
	case unix.DT_UNKNOWN:
		k = kindOf(path.Join(at, name))
	}
	return append(entries, entry{name, k})
}

func kindOf(name string) fileKind {
	var st unix.Stat_t
	_ = unix.Lstat(name, &st)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return dir
	case unix.S_IFLNK:
		return link
	}
	return file
}
