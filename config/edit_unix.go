//go:build unix

package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lockFile takes the lock that whoever writes the file takes. It is a file of its
// own, because the one that is written is replaced. Closing it lets go.
func lockFile(ctx context.Context, path string, wait time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %q: %w", path, cause(err))
	}
	for end := time.Now().Add(wait); ; time.Sleep(2 * time.Millisecond) {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case err == nil:
			return f, nil
		case errors.Is(err, syscall.EINTR):
		case !errors.Is(err, syscall.EWOULDBLOCK):
			f.Close()
			return nil, fmt.Errorf("lock %q: %w", path, err)
		case ctx.Err() != nil:
			f.Close()
			return nil, ctx.Err()
		case time.Now().After(end):
			f.Close()
			return nil, &HeldError{path, wait}
		}
	}
}

// Hold takes the lock of a path for as long as several files are changed together, and
// waits for who holds it. The file is there only meanwhile: release removes it. Its
// directory is the caller's business, and may go while somebody waits (fs.ErrNotExist).
func Hold(ctx context.Context, path string, wait time.Duration) (release func(), err error) {
	for {
		f, err := lockFile(ctx, path, wait)
		if err != nil {
			return nil, err
		}
		held, err := f.Stat()
		if now, serr := os.Lstat(path); err == nil && serr == nil && os.SameFile(held, now) {
			return func() {
				_ = os.Remove(path) // before it is let go: who waited finds that it is no more
				f.Close()
			}, nil
		}
		f.Close() // of somebody who has ended
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
