//go:build unix

package hook

import (
	"fmt"
	"os"
	"syscall"
)

// keepOwner gives a file the owner that the one it replaces has: root may edit
// the settings of somebody else.
func keepOwner(f *os.File, old string) error {
	info, err := os.Stat(old)
	if err != nil {
		return err
	}
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	was, ok1 := info.Sys().(*syscall.Stat_t)
	is, ok2 := mine.Sys().(*syscall.Stat_t)
	if !ok1 || !ok2 || was.Uid == is.Uid && was.Gid == is.Gid {
		return nil
	}
	if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil && was.Uid != is.Uid {
		return fmt.Errorf("keep the owner of %q: %w", old, err)
	}
	return nil
}
