package changes

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Diff compares the content of an entry with what is there now. An entry that
// is no file on a side has no content there.
func (c *Changes) Diff(e Entry) (Diff, error) {
	index := -1
	for i, root := range c.Roots {
		if root == e.Root {
			index = i
		}
	}
	if index < 0 || c.State == Unfinish || len(c.layers) <= index {
		return Diff{}, ErrGone
	}
	var d Diff
	err := as(c.owner, func() error {
		root, err := unix.Open(e.Root, dirFlags, 0)
		if err != nil {
			return err
		}
		defer unix.Close(root)
		old, err := content(root, e.Path)
		if err != nil {
			return err
		}
		var now []byte
		if e.Kind != Deleted {
			if now, err = content(int(c.layers[index].Fd()), e.Path); err != nil {
				return err
			}
		}
		if e.Kind == Created {
			old = nil
		}
		d = compareText(old, now)
		return nil
	})
	if err != nil {
		return d, fmt.Errorf("compare %q: %w", e.Path, err)
	}
	return d, nil
}

// content reads a regular file, one byte more than is compared. What is no file
// has none.
func content(root int, path string) ([]byte, error) {
	fd, err := openBelow(root, path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if absent(err) || err == unix.ELOOP || err == unix.ENXIO {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, err
	}
	b := make([]byte, min(st.Size, maxDiff)+1)
	n, err := readAt(fd, b, 0)
	return b[:n], err
}
