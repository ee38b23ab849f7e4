//go:build unix

package proc

import "golang.org/x/sys/unix"

// InForeground says whether this process is in the job that its controlling
// terminal sends signals to; false without a terminal.
func InForeground() bool {
	tty, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer unix.Close(tty)
	group, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
