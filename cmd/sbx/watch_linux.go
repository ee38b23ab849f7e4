package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// watchCaller returns a channel that is closed when the caller is gone: its
// process ended, or nobody reads our output any more.
func watchCaller() <-chan struct{} {
	gone := make(chan struct{})
	var watched []unix.PollFd
	for fd := int32(1); fd <= 2; fd++ {
		if isStream(int(fd)) {
			watched = append(watched, unix.PollFd{Fd: fd}) // POLLERR and POLLHUP come unasked
		}
	}
	parent := os.Getppid()
	if parent > 1 {
		// A parent that is init is a container's entry point or says that
		// the caller is gone already: the two look the same, and the streams
		// above tell them apart.
		fd, err := unix.PidfdOpen(parent, 0)
		switch {
		case err == nil && os.Getppid() == parent:
			watched = append(watched, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		case err == unix.ESRCH || err == nil:
			close(gone)
			return gone
		default: // no pidfd_open before Linux 5.3
			go watchParent(parent, gone, watched)
			return gone
		}
	}
	if len(watched) > 0 {
		go func() {
			for {
				if n, err := unix.Poll(watched, -1); err != unix.EINTR && (n > 0 || err != nil) {
					close(gone)
					return
				}
			}
		}()
	}
	return gone
}

// watchParent looks for a new parent twice a second.
func watchParent(parent int, gone chan<- struct{}, watched []unix.PollFd) {
	for os.Getppid() == parent {
		if n, err := unix.Poll(watched, 500); err != unix.EINTR && (n > 0 || err != nil) {
			break
		}
	}
	close(gone)
}

// isStream reports a pipe or socket: what can lose its reader.
func isStream(fd int) bool {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return false
	}
	kind := st.Mode & unix.S_IFMT
	return kind == unix.S_IFIFO || kind == unix.S_IFSOCK
}
