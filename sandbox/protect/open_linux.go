package protect

import "golang.org/x/sys/unix"

// Package os asks the poller to watch what it opens, in vain for files, and that
// costs more than all of this. Every run looks twice.

// contents gives the bytes of a regular file of at most limit bytes. It follows no
// link and does not wait for a pipe.
func contents(path string, limit int64) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, unix.EINVAL
	}
	if st.Size > limit {
		return nil, errTooLarge
	}
	text := make([]byte, st.Size)
	n := 0
	for n < len(text) {
		got, err := unix.Read(fd, text[n:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || got == 0 {
			break
		}
		n += got
	}
	return text[:n], nil
}

// entries lists the names in a directory, at most limit of them.
func entries(dir string, limit int) ([]string, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var names []string
	buf := make([]byte, 8<<10)
	for len(names) < limit {
		n, err := unix.ReadDirent(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], limit-len(names), names)
	}
	return names, nil
}
