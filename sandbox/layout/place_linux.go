package layout

import (
	"errors"
	"fmt"
	"path"

	"golang.org/x/sys/unix"
)

// Place is a path that the profile names, held open so that a later run cannot
// be led to another directory of the same name.
type Place struct {
	Path     string
	FD       int
	Dev, Ino uint64
	Dir      bool
}

// OpenPlace opens a path that is no symbolic link and leads through none.
func OpenPlace(name string) (Place, error) {
	fd, err := openExact(name)
	if err != nil {
		return Place{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return Place{}, fmt.Errorf("stat %q: %w", name, err)
	}
	return Place{name, fd, st.Dev, st.Ino, st.Mode&unix.S_IFMT == unix.S_IFDIR}, nil
}

// ProtectedPlace notes what is protected: it may be a symbolic link itself.
func ProtectedPlace(name string) (Place, error) {
	above, err := openExact(path.Dir(name))
	if err != nil {
		return Place{}, err
	}
	defer unix.Close(above)
	var st unix.Stat_t
	if err := unix.Fstatat(above, path.Base(name), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Place{}, fmt.Errorf("stat %q: %w", name, err)
	}
	return Place{Path: name, FD: -1, Dev: st.Dev, Ino: st.Ino, Dir: st.Mode&unix.S_IFMT == unix.S_IFDIR}, nil
}

// Same refuses a path that names something else now.
func (p Place) Same() error {
	var st unix.Stat_t
	if err := unix.Lstat(p.Path, &st); err != nil {
		return fmt.Errorf("stat %q: %w", p.Path, err)
	}
	if st.Dev != p.Dev || st.Ino != p.Ino {
		return fmt.Errorf("%q is not what it was when the session was opened", p.Path)
	}
	return nil
}

// openExact opens a path of the profile and refuses symbolic links in it: the
// profile says that there are none, and one that appeared since could widen it.
func openExact(name string) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, name, &how)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // a container's filter
		fd, err = unix.Open(name, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	}
	if err != nil {
		return -1, fmt.Errorf("open %q: %w", name, err)
	}
	return fd, nil
}
