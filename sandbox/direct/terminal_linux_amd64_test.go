package direct_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// onTerminal starts a supervisor on a terminal of its own, as a shell would:
// as the leader of a session and of the foreground job.
func (r *room) onTerminal(script string) *typed {
	r.Helper()
	master, name := terminal(r.T)
	slave, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOCTTY, 0)
	check(r, err)
	cmd, file := r.supervised(orders{Argv: []string{"bash", "-c", script}})
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	check(r, cmd.Start())
	check(r, slave.Close())
	t := &typed{room: r, tty: os.NewFile(uintptr(master), name), seen: make(chan string), result: file, pid: cmd.Process.Pid}
	go t.read()
	r.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = t.tty.Close()
	})
	return t
}

type typed struct {
	*room
	tty    *os.File
	text   string
	seen   chan string
	result string
	pid    int
}

func (t *typed) read() {
	b := make([]byte, 4096)
	for {
		n, err := t.tty.Read(b)
		if err != nil {
			close(t.seen)
			return
		}
		t.seen <- string(b[:n])
	}
}

// expect waits until the terminal shows a text.
func (t *typed) expect(want string) {
	t.Helper()
	late := time.After(time.Minute)
	for !strings.Contains(t.text, want) {
		select {
		case s, ok := <-t.seen:
			if !ok {
				t.Fatalf("the terminal ended without %q: %q", want, t.text)
			}
			t.text += s
		case <-late:
			t.Fatalf("no %q: %q", want, t.text)
		}
	}
	_, t.text, _ = strings.Cut(t.text, want)
}

func (t *typed) write(s string) {
	t.Helper()
	_, err := t.tty.WriteString(s)
	check(t, err)
}

func TestFullTerminal(t *testing.T) {
	r := newRoom(t, full)
	term := r.onTerminal(`test -t 0 && echo is-terminal; tty; echo typed >/dev/tty
		trap 'echo "size $(stty size)"' WINCH
		trap 'echo interrupted; exit 9' INT
		echo ready; while :; do sleep 0.05; done`)
	term.expect("is-terminal")
	term.expect("/dev/console")
	term.expect("typed")
	term.expect("ready")
	check(t, unix.IoctlSetWinsize(int(term.tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 33, Col: 77}))
	term.expect("size 33 77")
	term.write("\x03") // Ctrl-C: the terminal sends it to the whole job
	term.expect("interrupted")
}

func TestFullShellOnTerminal(t *testing.T) {
	r := newRoom(t, full)
	term := r.onTerminal(`exec bash --norc -i`)
	term.write("echo $((40+2))-answer\n")
	term.expect("42-answer")
	term.write("sleep 600\n")
	time.Sleep(300 * time.Millisecond)
	term.write("\x1a") // Ctrl-Z
	term.expect("Stopped")
	term.write("kill %1; wait; echo con''tinued\n")
	term.expect("continued")
	// Twice: the first one may be answered with "There are stopped jobs".
	term.write("exit 4\nexit 4\n")
	eventually(t, "the result is written", func() bool { _, err := os.Stat(term.result); return err == nil })
	eventually(t, "the shell's status is the result's", func() bool {
		text, _ := os.ReadFile(term.result)
		return strings.Contains(string(text), `"exit_code":4`)
	})
}
