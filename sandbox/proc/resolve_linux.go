package proc

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// EvalSymlinks is filepath.EvalSymlinks, which asks for each element of a path
// by itself. Most paths have no link in them, and the kernel says so in one call;
// where it cannot (Linux before 5.6, or a filter) nothing is lost. What is not
// clean is left to filepath: a link before ".." leads elsewhere.
func EvalSymlinks(path string) (string, error) {
	if filepath.IsAbs(path) && filepath.Clean(path) == path {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
		if err == nil {
			_ = unix.Close(fd)
			return path, nil
		}
	}
	return filepath.EvalSymlinks(path)
}
