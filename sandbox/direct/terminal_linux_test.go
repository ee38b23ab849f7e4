//go:build amd64 || arm64

package direct_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/direct"
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

// eachOfBoth runs a test in both tiers of this architecture.
func eachOfBoth(t *testing.T, test func(*room)) {
	for _, tier := range both {
		t.Run(tier, func(t *testing.T) {
			r := newRoom(t, tier)
			r.extra = []string{"TERM=xterm", "LC_ALL=C", "LESSHISTFILE=-"}
			test(r)
		})
	}
}

func (t *typed) resize(rows, columns uint16) {
	t.Helper()
	check(t, unix.IoctlSetWinsize(int(t.tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}))
}

// ends waits for the result.
func (t *typed) ends(want sandbox.Ending, code int) {
	t.Helper()
	late := time.After(time.Minute)
	for {
		text, _ := os.ReadFile(t.result)
		var got sandbox.Result
		if json.Unmarshal(text, &got) == nil && got.Ending != "" {
			if got.Ending != want || got.ExitCode != code {
				t.Errorf("%s %d, want %s %d", got.Ending, got.ExitCode, want, code)
			}
			return
		}
		select {
		case s, ok := <-t.seen: // or the command may wait for us to read
			if t.text += s; !ok {
				t.seen = nil
			}
		case <-time.After(10 * time.Millisecond):
		case <-late:
			t.Fatalf("it does not end: %q", t.text)
		}
	}
}

func TestTerminal(t *testing.T) { eachOfBoth(t, testTerminal) }

func testTerminal(r *room) {
	term := r.onTerminal(`test -t 0 && test -t 1 && test -t 2 && echo is-terminal; tty; echo typed >/dev/tty
		trap 'echo "size $(stty size)"' WINCH
		trap 'echo interrupted; sleep 0.5; exit 9' INT # a terminal drops what was not read at its end
		echo ready; while :; do sleep 0.05; done`)
	term.expect("is-terminal")
	if r.isFull() {
		term.expect("/dev/console")
	}
	term.expect("typed")
	term.expect("ready")
	term.resize(33, 77)
	term.expect("size 33 77")
	term.write("\x03") // Ctrl-C: the terminal sends it to the whole job
	term.expect("interrupted")
	term.ends(sandbox.Exited, 9)
}

// Ctrl-C and Ctrl-\ end a command that does nothing about them, and no more than
// the command.
func TestTerminalInterrupts(t *testing.T) { eachOfBoth(t, testTerminalInterrupts) }

func testTerminalInterrupts(r *room) {
	term := r.onTerminal("echo ready; exec sleep 300")
	term.expect("ready")
	time.Sleep(100 * time.Millisecond) // until sleep has taken the shell's place
	term.write("\x03")
	term.ends(sandbox.Signaled, 130)
	// The shell goes on with the next one.
	term = r.onTerminal("trap : INT; echo ready; sleep 300; echo next; sleep 0.5; exit 5")
	term.expect("ready")
	time.Sleep(100 * time.Millisecond)
	term.write("\x03")
	term.expect("next")
	term.ends(sandbox.Exited, 5)
}

func TestTerminalJobControl(t *testing.T) { eachOfBoth(t, testTerminalJobControl) }

func testTerminalJobControl(r *room) {
	term := r.onTerminal(`exec bash --norc -i`)
	term.write("echo $((40+2))-answer\n")
	term.expect("42-answer")
	term.write("sleep 600\n")
	time.Sleep(300 * time.Millisecond)
	term.write("\x1a") // Ctrl-Z
	term.expect("Stopped")
	term.write("bg; jobs; fg\n")
	term.expect("Running")
	time.Sleep(300 * time.Millisecond)
	term.write("\x03")
	term.write("echo after-$?\n")
	term.expect("after-130")
	// Twice: the first one may be answered with "There are stopped jobs".
	term.write("exit 4\nexit 4\n")
	term.ends(sandbox.Exited, 4)
}

// needProgram skips where a program is missing, and fails where it must not be.
func needProgram(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		if strings.Contains(os.Getenv("SBX_REQUIRE"), direct.Name) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func TestTerminalVim(t *testing.T) { eachOfBoth(t, testTerminalVim) }

func testTerminalVim(r *room) {
	needProgram(r.T, "vim")
	term := r.onTerminal(`stty rows 24 cols 80; exec vim -u NONE -N -i NONE file`)
	term.expect("file")
	term.write("ifrom vim\x1b")
	term.expect("from vim")
	term.resize(33, 77)
	term.expect("\x1b[32;1H~") // it has drawn the lines that are new
	term.write(":set lines? columns?\r")
	term.expect("lines=33")
	term.expect("columns=77")
	term.write("\r")
	// It may write the workspace, and nothing beside it.
	term.write(":w! " + r.outside + "/file\r")
	term.expect("E212")
	term.write("\r:wq\r")
	term.ends(sandbox.Exited, 0)
	if text, err := os.ReadFile(r.workspace + "/file"); err != nil || string(text) != "from vim\n" {
		r.Errorf("%q, %v", text, err)
	}
	if text, err := os.ReadFile(r.outside + "/file"); err != nil || string(text) != "canary\n" {
		r.Errorf("outside: %q, %v", text, err)
	}
}

func TestTerminalLess(t *testing.T) { eachOfBoth(t, testTerminalLess) }

func testTerminalLess(r *room) {
	needProgram(r.T, "less")
	term := r.onTerminal(`stty rows 24 cols 80; seq -f 'line-%g-' 500 | less`) // it reads keys from /dev/tty
	term.expect("line-23-")
	term.write(" ")
	term.expect("line-46-")
	term.write("G")
	term.expect("line-500-")
	term.write("?line-77-\r")
	term.expect("line-99-")
	term.write("q")
	term.ends(sandbox.Exited, 0)
}
