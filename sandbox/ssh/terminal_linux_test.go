package ssh_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/ssh"
)

// screen is a terminal and what was printed on it.
type screen struct {
	*testing.T
	keys, end *os.File
	mu        sync.Mutex
	text      strings.Builder
}

func newScreen(t *testing.T) *screen {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	check(t, err)
	fd := int(keys.Fd())
	check(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	check(t, err)
	end, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	check(t, err)
	s := &screen{T: t, keys: keys, end: end}
	s.resize(24, 80)
	t.Cleanup(func() { _ = end.Close(); _ = keys.Close() })
	go func() {
		buffer := make([]byte, 1024)
		for {
			n, err := keys.Read(buffer)
			s.mu.Lock()
			s.text.Write(buffer[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

func (s *screen) resize(rows, columns uint16) {
	s.Helper()
	check(s, unix.IoctlSetWinsize(int(s.keys.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}))
}

func (s *screen) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *screen) await(text string) {
	s.Helper()
	if !eventually(func() bool { return strings.Contains(s.shown(), text) }) {
		s.Fatalf("%q is not shown: %q", text, s.shown())
	}
}

func (s *screen) modes() unix.Termios {
	s.Helper()
	t, err := unix.IoctlGetTermios(int(s.end.Fd()), unix.TCGETS)
	check(s, err)
	return *t
}

// A terminal here is one there: its size, what is typed, and the keys that send
// signals. Afterwards it is as it was.
func TestTerminal(t *testing.T) {
	m := newMachine(t, ssh.Shared)
	s := newScreen(t)
	before := s.modes()
	session := m.open()
	done := make(chan sandbox.Result, 1)
	go func() {
		result, err := session.Run(context.Background(), sandbox.Command{
			Argv: []string{"sh", "-c", `test -t 0 && test -t 1 && test -t 2 && stty size; trap 'echo size $(stty size)' WINCH; trap 'echo interrupted; exit 5' INT
				echo ready; read line; echo "read <$line>"; echo again; while :; do sleep 0.05; done`},
			Stdin: s.end, Stdout: s.end, Stderr: s.end, Timeout: time.Minute,
		})
		if err != nil {
			t.Error(err)
		}
		done <- result
	}()
	s.await("24 80")
	s.await("ready")
	_, err := s.keys.WriteString("typed\r")
	check(t, err)
	s.await("read <typed>")
	s.await("again")
	s.resize(30, 100)
	check(t, unix.Kill(os.Getpid(), unix.SIGWINCH)) // the kernel tells the terminal's own job alone
	s.await("size 30 100")
	_, err = s.keys.WriteString("\x03")
	check(t, err)
	s.await("interrupted")
	if result := <-done; result.ExitCode != 5 {
		t.Errorf("%+v", result)
	}
	if after := s.modes(); after != before {
		t.Errorf("modes %+v, were %+v", after, before)
	}
}
