//go:build unix

package sbx

import (
	"fmt"
	"os"
	"syscall"
)

// duplicateFile opens a second descriptor for a file.
func duplicateFile(f *os.File) (*os.File, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return nil, fmt.Errorf("copy descriptor %d: %w", f.Fd(), err)
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), f.Name()), nil
}
