package pid1

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// openTerminal makes a terminal in the container's own /dev/pts, makes it the
// controlling one of this process, and puts it in place of the streams that are
// to be one. It returns the host's end.
func (o Order) openTerminal(files []*os.File) (*os.File, error) {
	host, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	end := os.NewFile(uintptr(host), "terminal")
	fail := func(err error) (*os.File, error) {
		_ = end.Close()
		return nil, err
	}
	if err := unix.IoctlSetPointerInt(host, unix.TIOCSPTLCK, 0); err != nil {
		return fail(fmt.Errorf("unlock: %w", err))
	}
	number, err := unix.IoctlGetInt(host, unix.TIOCGPTN)
	if err != nil {
		return fail(err)
	}
	if o.Rows > 0 && o.Columns > 0 {
		_ = unix.IoctlSetWinsize(host, unix.TIOCSWINSZ, &unix.Winsize{Row: o.Rows, Col: o.Columns})
	}
	fd, err := unix.Open("/dev/pts/"+strconv.Itoa(number), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	defer unix.Close(fd)
	_, _ = unix.Setsid() // a first process of a container leads a session already
	if err := unix.IoctlSetInt(fd, unix.TIOCSCTTY, 0); err != nil {
		return fail(fmt.Errorf("make it the controlling one: %w", err))
	}
	for i, is := range o.Terminal {
		if !is {
			continue
		}
		own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return fail(err)
		}
		_ = files[i].Close()
		files[i] = os.NewFile(uintptr(own), "terminal")
	}
	return end, nil
}

// catchSignals hears the signals that end a process by default and does nothing
// about them: what is for the command comes over the connection.
func catchSignals() {
	in := make(chan os.Signal, 1)
	signal.Notify(in, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		for range in { //nolint:revive // dropped on purpose
		}
	}()
}
