//go:build unix && !linux

package sbx

import (
	"os"
	"syscall"
)

// lockAlone tries for the exclusive lock and does not wait.
func lockAlone(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// lockShared waits while somebody holds the exclusive lock.
func lockShared(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH)
		if err != syscall.EINTR {
			return err
		}
	}
}
