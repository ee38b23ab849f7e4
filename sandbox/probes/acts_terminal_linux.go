//go:build amd64 || arm64

package probes

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// injected is what is typed into the terminal.
const injected = "typed-from-inside\n"

// terminalActs act on the terminal at descriptor 0 or on another one.
func terminalActs() []act {
	return []act{
		{"type", func(arguments) error { return typeIn(unix.TIOCSTI) }},
		// The kernel looks at 32 bits of the request, CVE-2019-10063.
		{"type-high", func(arguments) error { return typeIn(unix.TIOCSTI | 1<<32) }},
		{"console-paste", func(arguments) error {
			begun()
			one := byte(3) // paste the selection; a pseudo terminal answers ENOTTY
			return past(call(unix.SYS_IOCTL, 0, unix.TIOCLINUX, pointer(&one)), unix.ENOTTY, unix.EINVAL)
		}},
		{"terminal-write", func(a arguments) error {
			begun()
			fd, err := unix.Open(a.text(0), unix.O_WRONLY|unix.O_NOCTTY, 0)
			if err != nil {
				return err
			}
			_, err = unix.Write(fd, []byte(injected))
			return err
		}},
		{"line-discipline", func(arguments) error {
			begun()
			master, slave, err := newPTY()
			if err != nil {
				return err
			}
			defer unix.Close(master)
			usual := int32(0) // N_TTY, which it has
			return call(unix.SYS_IOCTL, uintptr(slave), unix.TIOCSETD, pointer(&usual))
		}},
		// Without an argument it changes nothing, whatever the file system.
		{"file-request", func(a arguments) error {
			fd, err := unix.Open(a.text(0), unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return setup("open "+a.text(0), err)
			}
			begun()
			number, err := strconv.ParseUint(a.text(1), 0, 32)
			if err != nil {
				return err
			}
			return past(call(unix.SYS_IOCTL, uintptr(fd), uintptr(number), 0), unix.ENOTTY, unix.EOPNOTSUPP, unix.EFAULT, unix.EINVAL, unix.EXDEV)
		}},
		{"open-pty", func(arguments) error { begun(); return openPTY() }},
	}
}

func typeIn(request uintptr) error {
	if !isTerminal(0) {
		return setup("type", unix.ENOTTY)
	}
	begun()
	for _, c := range []byte(injected) {
		if err := call(unix.SYS_IOCTL, 0, request, pointer(&c)); err != nil {
			return err
		}
	}
	return nil
}

func isTerminal(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}

func openPTY() error {
	master, slave, err := newPTY()
	if err != nil {
		return err
	}
	if err := unix.Close(slave); err != nil {
		return err
	}
	return unix.Close(master)
}

// newPTY opens a terminal and its other end, neither of them controlling.
func newPTY() (master, slave int, err error) {
	master, err = unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, -1, fmt.Errorf("open /dev/ptmx: %w", err)
	}
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		slave, err = unix.Open("/dev/pts/"+strconv.Itoa(n), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		_ = unix.Close(master)
		return -1, -1, err
	}
	return master, slave, nil
}
