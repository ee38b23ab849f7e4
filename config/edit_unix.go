//go:build unix

package config

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lockFile takes the lock that whoever writes the file takes. It is a file of its
// own, because the one that is written is replaced.
func lockFile(path string, wait time.Duration) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %q: %w", path, cause(err))
	}
	for end := time.Now().Add(wait); ; time.Sleep(2 * time.Millisecond) {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case err == nil:
			return func() { f.Close() }, nil
		case errors.Is(err, syscall.EINTR):
		case !errors.Is(err, syscall.EWOULDBLOCK):
			f.Close()
			return nil, fmt.Errorf("lock %q: %w", path, err)
		case time.Now().After(end):
			f.Close()
			return nil, fmt.Errorf("another program has held %q for %v; nothing was written", path, wait)
		}
	}
}

// keepOwner gives a new file to whom the old one belongs: root may edit a user's.
func keepOwner(f *os.File, old os.FileInfo) error {
	st, ok := old.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == os.Geteuid() {
		return nil
	}
	return f.Chown(int(st.Uid), int(st.Gid))
}

// syncDir makes a rename last. What cannot be synced is written all the same.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}
