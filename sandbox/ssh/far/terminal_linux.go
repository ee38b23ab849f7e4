package far

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox/ssh/wire"
)

// openTerminal makes a terminal and makes it the controlling one of this process,
// which leads a session: sshd makes one for each. It returns the command's end.
func (c *conn) openTerminal(s *streams, size wire.Size) (*os.File, error) {
	// Through the poller: the reading of it ends when it is closed.
	end, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	s.ours, s.drain = append(s.ours, end), end
	raw, err := end.SyscallConn()
	if err != nil {
		return nil, err
	}
	var number int
	err = control(raw.Control, func(fd int) (err error) {
		if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return fmt.Errorf("unlock the terminal: %w", err)
		}
		if size.Rows > 0 && size.Columns > 0 {
			_ = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Columns})
		}
		number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		return err
	})
	if err != nil {
		return nil, err
	}
	fd, err := unix.Open("/dev/pts/"+strconv.Itoa(number), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	theirs := os.NewFile(uintptr(fd), "terminal")
	s.theirs = append(s.theirs, theirs)
	_, _ = unix.Setsid() // fails where this process leads a session already
	if err := unix.IoctlSetInt(fd, unix.TIOCSCTTY, 0); err != nil {
		return nil, fmt.Errorf("make the terminal the controlling one: %w", err)
	}
	c.mu.Lock()
	c.terminal = end
	c.mu.Unlock()
	return theirs, nil
}
