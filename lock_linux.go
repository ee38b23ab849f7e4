package sbx

import (
	"io"
	"os"
	"syscall"
)

// The locks of private directories are those of open file descriptions (fcntl(2)).
// For the exclusive one a file must be open for writing. flock(2) gives it to who
// can only read: a command could hold it, and every other run would wait for that.
const (
	setLock     = 37 // F_OFD_SETLK
	setLockWait = 38 // F_OFD_SETLKW
)

// lockAlone tries for the exclusive lock and does not wait. A command can keep
// others from it: then nothing is emptied.
func lockAlone(f *os.File) bool {
	return syscall.FcntlFlock(f.Fd(), setLock, &syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}) == nil
}

// lockShared waits while somebody holds the exclusive lock.
func lockShared(f *os.File) error {
	for {
		err := syscall.FcntlFlock(f.Fd(), setLockWait, &syscall.Flock_t{Type: syscall.F_RDLCK, Whence: io.SeekStart})
		if err != syscall.EINTR {
			return err
		}
	}
}
