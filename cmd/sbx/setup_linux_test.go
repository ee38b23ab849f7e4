package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sbx-run/sbx/config"
)

func TestReadKey(t *testing.T) {
	for _, tt := range []struct {
		typed      string
		key, digit int
	}{
		{"\x1b[A", keyUp, 0},
		{"\x1bOA", keyUp, 0},
		{"k", keyUp, 0},
		{"\x1b[B", keyDown, 0},
		{"\x1bOB", keyDown, 0},
		{"j", keyDown, 0},
		{"\r", keyEnter, 0},
		{"\n", keyEnter, 0},
		{"\x1b", keyStop, 0},
		{"q", keyStop, 0},
		{"\x03", keyStop, 0},
		{"\x04", keyStop, 0},
		{"", keyStop, 0},
		{"3", keyOther, 3},
		{"x", keyOther, 0},
		{"\x1b[C", keyOther, 0},
		{"\x1bx", keyOther, 0},
	} {
		in := bufio.NewReader(strings.NewReader(tt.typed))
		if got := readKey(in); got != (pressed{tt.key, tt.digit}) {
			t.Errorf("%q: %+v", tt.typed, got)
		}
	}
}

// person reads what a program shows on a terminal and types what follows.
type person struct {
	t     *testing.T
	tty   *os.File
	reads chan string // what is shown; closed when the program has ended
	shown string      // since something was typed
}

// await reads until the text was shown.
func (p *person) await(text string) {
	p.t.Helper()
	for !strings.Contains(p.shown, text) {
		more, ok := <-p.reads
		if !ok {
			p.t.Fatalf("it ended, and %q was not among %q", text, p.shown)
		}
		p.shown += more
	}
}

func (p *person) types(keys string) {
	p.t.Helper()
	p.shown = ""
	if _, err := p.tty.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// watch passes on what is shown, until the program and all it started have let go
// of the terminal.
func (p *person) watch() {
	defer close(p.reads)
	for {
		var buf [4096]byte
		n, err := p.tty.Read(buf[:])
		if err != nil {
			return
		}
		p.reads <- string(buf[:n])
	}
}

// setupOn starts sbx setup on a terminal of its own.
func setupOn(t *testing.T, home string, env ...string) (*person, *exec.Cmd) {
	t.Helper()
	if ok, err := condition("direct"); err != nil || !ok {
		t.Skip("direct does not work here", err)
	}
	reader, terminal := pseudoTerminal(t)
	// Killed in the end, so that a test that waits for the wrong words fails.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, filepath.Join(os.Getenv(binVar), "sbx"), "setup")
	cmd.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close() // the end of the program is the end of what is shown
	p := &person{t: t, tty: reader, reads: make(chan string, 1024)}
	go p.watch()
	return p, cmd
}

// setupHome is not below /tmp: in the full tier a command has a /tmp of its own.
func setupHome(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(scriptsRoot(t), "home-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestSetupOnTerminal(t *testing.T) {
	home := setupHome(t)
	p, cmd := setupOn(t, home, "TERM=xterm")
	p.await("no confinement") // the last choice
	if !strings.Contains(p.shown, "arrow keys") || !strings.Contains(p.shown, "recommended") {
		t.Errorf("%q", p.shown)
	}
	p.types("\x1b[A\x1b[B\r") // around the list and back
	p.await("host's network as it is")
	p.types("\x1b[B\r")
	p.await("Which? Hosts")
	p.types("no host\r")
	p.await("Which? Hosts")
	p.types("npm,git\r")
	p.await("Change it? [y/N]")
	if !strings.Contains(p.shown, "-> \"allow:npm,git\"") {
		t.Errorf("the change was not shown: %q", p.shown)
	}
	if _, err := os.Stat(filepath.Join(home, ".pepe")); err == nil {
		t.Error("something was written before the answer")
	}
	p.types("y\r")
	p.await("sandbox -> direct")
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(home, ".pepe", "config.json"))
	if err != nil || !strings.Contains(string(text), `"sandbox": "`+filepath.Join(home, ".pepe", "sandbox", "direct.sh")+`"`) || !strings.Contains(string(text), `"network": "allow:npm,git"`) {
		t.Errorf("%v\n%s", err, text)
	}
}

// A terminal that knows no arrow keys gets numbered lines, and nothing is changed
// for whoever does not say yes.
func TestSetupOnDumbTerminal(t *testing.T) {
	home := setupHome(t)
	p, cmd := setupOn(t, home, "TERM=dumb")
	p.await("]: ")
	if strings.Contains(p.shown, "\x1b") {
		t.Errorf("%q", p.shown)
	}
	p.types("17\r")
	p.await("is none of them")
	p.await("]: ")
	p.types("direct\r")
	p.await("1 to 3 [1]: ")
	p.types("3\r")
	p.await("Change it? [y/N]")
	p.types("\r")
	p.await("nothing was changed")
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(home, ".pepe")); err == nil {
		t.Error("something was written")
	}
}

// A signal ends the questions, too, wherever they are, and the terminal is as it was.
func TestSetupIsInterrupted(t *testing.T) {
	for _, at := range []struct{ shown, keys string }{{shown: "no confinement"}, {"Which? Hosts", "\r\x1b[B\r"}} {
		home := setupHome(t)
		p, cmd := setupOn(t, home, "TERM=xterm")
		p.await("no confinement")
		if at.keys != "" {
			p.types(at.keys[:1])
			p.await("host's network as it is")
			p.types(at.keys[1:])
		}
		p.await(at.shown)
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		p.await("nothing was changed")
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(home); err != nil || len(left) > 1 || len(left) == 1 && left[0].Name() != ".cache" {
			t.Errorf("%v, %v", left, err)
		}
	}
}

// Who comes second waits for the first, and changes nothing before.
func TestSetupsOneByOne(t *testing.T) {
	if ok, err := condition("direct"); err != nil || !ok {
		t.Skip("direct does not work here", err)
	}
	for _, args := range [][]string{{"setup", "--yes", "--backend", "direct"}, {"wrapper", "install", "direct"}, {"setup", "--yes", "--remove"}} {
		home := setupHome(t)
		pepe := filepath.Join(home, ".pepe")
		sbx := func(args ...string) *exec.Cmd {
			cmd := exec.CommandContext(t.Context(), filepath.Join(os.Getenv(binVar), "sbx"), args...)
			cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
			return cmd
		}
		if args[len(args)-1] == "--remove" {
			if out, err := sbx("setup", "--yes", "--backend", "direct").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		} else if err := os.Mkdir(pepe, 0o700); err != nil {
			t.Fatal(err)
		}
		before := namesIn(t, pepe)
		release, err := config.Hold(t.Context(), filepath.Join(pepe, homeLock), 0)
		if err != nil {
			t.Fatal(err)
		}
		cmd := sbx(args...)
		said, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(said)
		if !lines.Scan() || !strings.Contains(lines.Text(), "is at work in "+pepe+"; waiting for it") {
			t.Errorf("%q: %q", args, lines.Text())
		}
		if now := slices.DeleteFunc(namesIn(t, pepe), func(name string) bool { return name == homeLock }); !slices.Equal(now, before) {
			t.Errorf("%q: it did not wait: %q, before %q", args, now, before)
		}
		release()
		for lines.Scan() {
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%q: %v", args, err)
		}
		if now := namesIn(t, pepe); slices.Equal(now, before) || slices.Contains(now, homeLock) {
			t.Errorf("%q: %q, before %q", args, now, before)
		}
	}
}

// namesIn lists all that is below a directory.
func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, strings.TrimPrefix(strings.TrimPrefix(path, dir), "/"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// Whoever stops at a list of choices has the terminal as it was.
func TestSetupIsStopped(t *testing.T) {
	home := setupHome(t)
	p, cmd := setupOn(t, home, "TERM=xterm")
	p.await("no confinement")
	p.types("\x03")
	p.await("nothing was changed")
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}
