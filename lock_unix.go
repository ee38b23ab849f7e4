//go:build unix

package sbx

import (
	"os"
	"syscall"
)

const noFollow = syscall.O_NOFOLLOW

// openLock makes or opens a file for locking. Package os would ask the poller to
// watch it, in vain, which takes as long as all the rest.
func openLock(name string) (*os.File, error) {
	for {
		fd, err := syscall.Open(name, syscall.O_CREAT|syscall.O_RDWR|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0o600)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: name, Err: err}
		}
		return os.NewFile(uintptr(fd), name), nil
	}
}

// lockWriting tries for the lock of one write and does not wait.
func lockWriting(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// hasName reports whether a file is still in a directory.
func hasName(f *os.File) bool {
	var st syscall.Stat_t
	return syscall.Fstat(int(f.Fd()), &st) == nil && st.Nlink > 0
}

// unlock lets the next one in; closing the file does so too.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// noWait keeps an open from waiting for the other end of a pipe.
const noWait = syscall.O_NONBLOCK

// ownerModes says that modes of files keep others out here.
const ownerModes = true
