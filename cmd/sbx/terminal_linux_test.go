package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// pseudoTerminal opens a terminal and the side that reads what is shown on it.
func pseudoTerminal(t *testing.T) (reader, terminal *os.File) {
	t.Helper()
	reader, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { reader.Close() })
	fd := int(reader.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { terminal.Close() })
	return reader, terminal
}

// Colour is for a terminal only, and NO_COLOR and a dumb one say no.
func TestColorOnTerminal(t *testing.T) {
	reader, terminal := pseudoTerminal(t)
	for _, tc := range []struct {
		env   []string
		color bool
	}{
		{[]string{"TERM=xterm"}, true},
		{[]string{"TERM=xterm", "NO_COLOR="}, true},
		{[]string{"TERM=xterm", "NO_COLOR=1"}, false},
		{[]string{"TERM=dumb"}, false},
	} {
		cmd := exec.Command(filepath.Join(os.Getenv(binVar), "sbx"), "check", "--cwd", "/srv/app", "rm -rf build")
		cmd.Env, cmd.Stdout = append([]string{"HOME=/nonexistent"}, tc.env...), terminal
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		var shown strings.Builder
		for !strings.Contains(shown.String(), "guard: ") || !strings.HasSuffix(shown.String(), "\n") {
			var buf [4096]byte
			n, err := reader.Read(buf[:])
			if err != nil {
				t.Fatalf("%v after %q", err, shown.String())
			}
			shown.Write(buf[:n])
		}
		if got := strings.Contains(shown.String(), "\x1b["); got != tc.color || !strings.Contains(shown.String(), "deletes") {
			t.Errorf("%v: %q", tc.env, shown.String())
		}
	}
}
