package pid1

import (
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/proc"
)

// terminal joins the caller's terminal to the one in the container. Without one
// its methods do nothing.
type terminal struct {
	streams [3]bool
	in, out *os.File // of the caller; may be nil

	inner    *os.File
	restore  func()
	resized  chan os.Signal
	wake     [2]*os.File // ends the reading of in
	printing chan struct{}
	done     sync.WaitGroup
}

// lastOutput is how long a terminal may take to show what was printed when the command
// has ended. A program of this machine would wait without end.
const lastOutput = 20 * time.Second

// terminalOf finds the streams that are terminals.
func terminalOf(cmd sandbox.Command) *terminal {
	t := &terminal{}
	for i, stream := range [3]any{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		f, ok := stream.(*os.File)
		if !ok || f == nil {
			continue
		}
		if !proc.IsTerminal(f) {
			continue
		}
		t.streams[i] = true
		switch {
		case i == 0:
			t.in = f
		case t.out == nil:
			t.out = f
		}
	}
	return t
}

// without is the command with the null device in place of a terminal: its end
// of the container's own is put there inside.
func (t *terminal) without(cmd sandbox.Command) sandbox.Command {
	if t.streams[0] {
		cmd.Stdin = nil
	}
	if t.streams[1] {
		cmd.Stdout = nil
	}
	if t.streams[2] {
		cmd.Stderr = nil
	}
	return cmd
}

// caller is the terminal whose size counts.
func (t *terminal) caller() *os.File {
	if t.in != nil {
		return t.in
	}
	return t.out
}

func (t *terminal) size() (rows, columns uint16) {
	if f := t.caller(); f != nil {
		if s, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil {
			return s.Row, s.Col
		}
	}
	return 0, 0
}

// begin copies between the two terminals.
func (t *terminal) begin(inner *os.File) {
	t.inner = inner
	t.resized = make(chan os.Signal, 1)
	signal.Notify(t.resized, unix.SIGWINCH)
	go func() {
		for range t.resized {
			if rows, columns := t.size(); rows > 0 {
				_ = unix.IoctlSetWinsize(int(inner.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
			}
		}
	}()
	t.printing = make(chan struct{})
	go func() {
		defer close(t.printing)
		t.print()
	}()
	if t.in == nil {
		return
	}
	t.raw()
	r, w, err := os.Pipe()
	if err != nil {
		return // the command reads nothing from the terminal
	}
	t.wake = [2]*os.File{r, w}
	t.done.Go(t.read)
}

// raw lets the keys through as they are, so that the terminal inside makes
// signals of them. A background job must not touch the modes of its terminal.
func (t *terminal) raw() {
	group, err := unix.IoctlGetInt(int(t.in.Fd()), unix.TIOCGPGRP)
	if err == nil && group != unix.Getpgrp() { // with an error it is not the controlling one
		return
	}
	if restore, err := proc.RawTerminal(t.in); err == nil {
		t.restore = restore
	}
}

// print copies what the command prints until its last end of the terminal is
// closed. What is a terminal's output goes to the caller's terminal.
func (t *terminal) print() {
	to := t.out
	if to == nil {
		to = t.in // the echo of what is typed
	}
	buffer := make([]byte, 32<<10)
	for {
		n, err := t.inner.Read(buffer)
		if n > 0 {
			if _, werr := to.Write(buffer[:n]); werr != nil {
				to = nil
			}
		}
		if err != nil || to == nil {
			return
		}
	}
}

func (t *terminal) read() {
	buffer := make([]byte, 4<<10)
	watched := []unix.PollFd{{Fd: int32(t.in.Fd()), Events: unix.POLLIN}, {Fd: int32(t.wake[0].Fd()), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(watched, -1); err != nil && err != unix.EINTR {
			return
		}
		if watched[1].Revents != 0 {
			return
		}
		if watched[0].Revents == 0 {
			continue
		}
		n, err := unix.Read(int(t.in.Fd()), buffer)
		if n > 0 {
			if _, err := t.inner.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil && err != unix.EINTR || n == 0 {
			return
		}
	}
}

// close prints what is left and gives the caller's terminal back as it was.
func (t *terminal) close() {
	if t.inner == nil {
		return
	}
	select {
	case <-t.printing:
	case <-time.After(lastOutput): // a daemon that left the container's tree cannot exist; a stuck terminal can
	}
	if t.wake[1] != nil {
		_ = t.wake[1].Close()
		t.done.Wait()
		_ = t.wake[0].Close()
	}
	if t.restore != nil {
		t.restore()
	}
	signal.Stop(t.resized)
	close(t.resized)
	_ = t.inner.Close()
}
