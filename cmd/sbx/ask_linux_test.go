package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// seat is somebody at a terminal who runs sbx.
type seat struct {
	home, workspace string
	stdin           string   // what the command gets; empty: the terminal
	env             []string // added
}

func newSeat(t *testing.T) seat {
	t.Helper()
	if have, err := condition("direct"); err != nil {
		t.Fatal(err)
	} else if !have {
		t.Skip("needs the backend direct")
	}
	base := os.Getenv("HOME")
	if os.Geteuid() == 0 {
		base = "/var/lib"
	}
	dir, err := os.MkdirTemp(base, "sbx-ask-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := seat{home: filepath.Join(dir, "home"), workspace: filepath.Join(dir, "ws")}
	for _, d := range []string{s.home, s.workspace} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// asked runs sbx on a terminal of its own, types when it is asked for an answer,
// and gives what was shown there and the exit status.
func (s seat) asked(t *testing.T, before, typed string, args ...string) (string, int) {
	t.Helper()
	reader, terminal := pseudoTerminal(t)
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 70}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(os.Getenv(binVar), "sbx"), args...)
	cmd.Dir = s.workspace
	cmd.Env = append([]string{"HOME=" + s.home, "TERM=xterm", "NO_COLOR=1", "PATH=" + os.Getenv("PATH"), "PAGER=cat"}, s.env...)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, &out, &out
	if s.stdin != "" {
		cmd.Stdin = strings.NewReader(s.stdin)
	}
	cmd.ExtraFiles = []*os.File{terminal}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	if before != "" {
		if _, err := reader.WriteString(before); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	shown := make(chan string, 1)
	go func() {
		var all strings.Builder
		buf := make([]byte, 1<<16)
		answers := strings.SplitAfter(typed, "\n")
		for {
			n, err := reader.Read(buf)
			all.Write(buf[:n])
			if asks := strings.Count(all.String(), "/v]: "); len(answers) > 0 && asks > strings.Count(typed, "\n")-strings.Count(strings.Join(answers, ""), "\n") {
				_, _ = reader.WriteString(answers[0])
				answers = answers[1:]
			}
			if err != nil {
				shown <- all.String()
				return
			}
		}
	}()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	terminal.Close() // the last one: the reader gets an error
	select {
	case text := <-shown:
		return text + out.String(), cmd.ProcessState.ExitCode()
	case <-time.After(10 * time.Second):
		t.Fatal("the terminal is still open")
		return "", 0
	}
}

func (s seat) put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(s.home, name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.home, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Only a clear yes runs the command, and only what was typed after the question
// counts.
func TestAskOnTerminal(t *testing.T) {
	for _, tt := range []struct {
		name, before, typed string
		ran                 bool
		status              int
		says                string
	}{
		{"yes", "", "y\n", true, 0, "never permitted so far: writes to a file"},
		{"no answer", "", "\n", false, 126, "a person refused it"},
		{"no, and why", "", "n too broad\n", false, 126, "(too broad)"},
		{"something else, then no", "", "maybe\nn\n", false, 126, `"maybe" is no answer`},
		{"something behind the answer", "", "y really\nn\n", false, 126, "is no answer"},
		{"what is not offered", "", "s\nn\n", false, 126, "is no answer"},
		{"once more, then yes", "", "v\nyes\n", true, 0, "echo x"},
		{"what was typed before does not count", "y\ny\ny\n", "\n", false, 126, "refused"},
		{"an answer after what a terminal sent", "", "\x1b[5;1Ry\nn\n", false, 126, "is no answer"},
		{"the end of input", "", "\x04", false, 126, "the terminal was closed"},
		{"an interrupt", "", "\x03", false, 126, "interrupted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSeat(t)
			shown, status := s.asked(t, tt.before, tt.typed, "run", "--ask", "echo x >made")
			_, err := os.Stat(filepath.Join(s.workspace, "made"))
			if (err == nil) != tt.ran || status != tt.status || !strings.Contains(shown, tt.says) {
				t.Errorf("ran %v, status %d, want %v and %d; %q is not in\n%s", err == nil, status, tt.ran, tt.status, tt.says, shown)
			}
			if _, err := os.Stat(filepath.Join(s.home, ".pepe/config.json")); err == nil {
				t.Error("an answer for once was kept")
			}
		})
	}
}

// What was permitted for good is not asked about again, and covers no more.
func TestAskAlways(t *testing.T) {
	s := newSeat(t)
	if shown, status := s.asked(t, "", "a\n", "run", "--ask", "echo x >made"); status != 0 {
		t.Fatalf("%d\n%s", status, shown)
	}
	text, err := os.ReadFile(filepath.Join(s.home, ".pepe/config.json"))
	if err != nil || !strings.Contains(string(text), `"auto_approve": ["bash:writes_file"]`) {
		t.Fatalf("%v, %s", err, text)
	}
	if shown, status := s.asked(t, "", "", "exec", "--ask", "--", "sh", "-c", "echo y >made"); status != 0 || strings.Contains(shown, "your answer") {
		t.Errorf("asked again: %d\n%s", status, shown)
	}
	shown, status := s.asked(t, "", "\n", "run", "--ask", "echo y >made; rm made")
	if status != 126 || !strings.Contains(shown, "never permitted so far: deletes files") {
		t.Errorf("%d\n%s", status, shown)
	}
	// Tainted, it counts no longer, and only this once can be permitted.
	shown, status = s.asked(t, "", "a\nn\n", "run", "--ask", "--tainted", "echo y >made")
	if status != 126 || !strings.Contains(shown, "Content from outside") || !strings.Contains(shown, `"a" is no answer`) {
		t.Errorf("%d\n%s", status, shown)
	}
}

// What was permitted in a session holds for its commands, of the same agent, and
// for nobody else; taking a tool back takes it back there, too.
func TestAskSession(t *testing.T) {
	s := newSeat(t)
	run := filepath.Join(s.home, "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	s.env = []string{"XDG_RUNTIME_DIR=" + run, conversationVar + "=one"}
	if shown, status := s.asked(t, "", "s\n", "run", "--ask", "echo x >made"); status != 0 || !strings.Contains(shown, "every call of bash, in this session") {
		t.Fatalf("%d\n%s", status, shown)
	}
	if shown, status := s.asked(t, "", "", "run", "--ask", "echo y >made"); status != 0 || strings.Contains(shown, "your answer") {
		t.Errorf("asked again: %d\n%s", status, shown)
	}
	if shown, status := s.asked(t, "", "\n", "run", "--ask", "--agent", "other", "echo y >made"); status != 126 || !strings.Contains(shown, "your answer") {
		t.Errorf("another agent: %d\n%s", status, shown)
	}
	if shown, status := s.asked(t, "", "t\n", "run", "--ask", "rm made"); status != 0 {
		t.Errorf("%d\n%s", status, shown)
	}
	if shown, status := s.asked(t, "", "", "run", "--ask", "touch a; chmod 700 a; rm a"); status != 0 || strings.Contains(shown, "your answer") {
		t.Errorf("every call: %d\n%s", status, shown)
	}
	if shown, status := s.asked(t, "", "\n", "run", "--ask", "--tainted", "echo y >made"); status != 126 {
		t.Errorf("tainted: %d\n%s", status, shown)
	}
	if _, err := os.Stat(filepath.Join(s.home, ".pepe")); err == nil {
		t.Error("a session's grant went to the configuration")
	}
	if shown, status := s.asked(t, "", "", "grants", "clear", "bash"); status != 0 || !strings.Contains(shown, "took back bash:any (in this session)") {
		t.Errorf("%d\n%s", status, shown)
	}
	if shown, status := s.asked(t, "", "\n", "run", "--ask", "echo y >made"); status != 126 {
		t.Errorf("taken back: %d\n%s", status, shown)
	}
	// Where others could write it, nothing is kept for a session.
	if err := os.Chmod(run, 0o755); err != nil {
		t.Fatal(err)
	}
	if shown, status := s.asked(t, "", "s\nn\n", "run", "--ask", "echo y >made"); status != 126 || !strings.Contains(shown, `"s" is no answer`) {
		t.Errorf("an open directory: %d\n%s", status, shown)
	}
}

func TestAskIsSilent(t *testing.T) {
	s := newSeat(t)
	s.put(t, ".pepe/config.json", `{"sbx": {"ask": true}}`)
	shown, status := s.asked(t, "", "", "run", "echo harmless")
	if status != 0 || strings.Contains(shown, "your answer") || !strings.Contains(shown, "harmless") {
		t.Errorf("%d\n%s", status, shown)
	}
	if shown, status := s.asked(t, "", "\n", "run", "rm x"); status != 126 || !strings.Contains(shown, "your answer") {
		t.Errorf("configured: %d\n%s", status, shown)
	}
	if shown, status := s.asked(t, "", "", "run", "--ask=off", "rm -f x"); status != 0 || strings.Contains(shown, "your answer") {
		t.Errorf("off: %d\n%s", status, shown)
	}
	// A wrapper never asks: the terminal is somebody else's.
	s.env = []string{workspaceVar + "=" + s.workspace}
	if shown, status := s.asked(t, "", "", "exec", "--no-park", "rm", "x"); status != 126 || strings.Contains(shown, "your answer") {
		t.Errorf("wrapper: %d\n%s", status, shown)
	}
}

// Standard input is the command's: nothing in it is an answer.
func TestAskNotFromStdin(t *testing.T) {
	s := newSeat(t)
	s.stdin = "y\ny\ny\n"
	shown, status := s.asked(t, "", "\n", "run", "--ask", "cat >made")
	if _, err := os.Stat(filepath.Join(s.workspace, "made")); err == nil || status != 126 {
		t.Errorf("%d\n%s", status, shown)
	}
	if shown, status := s.asked(t, "", "y\n", "run", "--ask", "cat >made"); status != 0 {
		t.Errorf("%d\n%s", status, shown)
	}
	if text, err := os.ReadFile(filepath.Join(s.workspace, "made")); err != nil || string(text) != s.stdin {
		t.Errorf("the command got %q, %v", text, err)
	}
}

// Silence is no consent, and no refusal by a person either.
func TestAskTimeLimit(t *testing.T) {
	s := newSeat(t)
	shown, status := s.asked(t, "", "", "run", "--ask=1s", "rm x")
	if status != 126 || !strings.Contains(shown, "nobody answered within 1 second") {
		t.Errorf("%d\n%s", status, shown)
	}
}

// Nothing in a command reaches the terminal as more than text, or hides.
func TestAskShowsAll(t *testing.T) {
	s := newSeat(t)
	var long strings.Builder
	long.WriteString("echo start >made\n")
	for range 60 {
		long.WriteString("echo 'a line of many that a person has to see before the last one does harm, a line of many'\n")
	}
	long.WriteString("rm -rf the-last-one")
	hidden := "echo '\x1b]0;title\x07\x1b[2J\x1b[8m\u202e\u2066\u200b\u00ad\U000e0041\u3164\u2800\ufe0f\x9b1m\r\b\xff' >made"
	for _, text := range []string{long.String(), hidden} {
		shown, status := s.asked(t, "", "\n", "run", "--ask", "--allow-unparsed", text)
		if status != 126 {
			t.Fatalf("%d\n%s", status, shown)
		}
		shown = strings.ReplaceAll(shown, "\r\n", "\n") // of the terminal
		if i := strings.IndexAny(shown, "\x1b\x07\b\r\u202e\u2066\u200b\u00ad\U000e0041\u3164\u2800\ufe0f\u009b"); i >= 0 {
			t.Errorf("%q reaches the terminal", shown[i:min(i+20, len(shown))])
		}
	}
	shown, _ := s.asked(t, "", "\n", "run", "--ask", long.String())
	if n := strings.Count(shown, "a line of many that a person"); n != 60 || !strings.Contains(shown, "rm -rf the-last-one") {
		t.Errorf("%d lines of 60 are shown\n%s", n, shown)
	}
	shown, _ = s.asked(t, "", "\n", "run", "--ask", "--allow-unparsed", hidden)
	if !strings.Contains(shown, "careful: it could not be read as a whole") {
		t.Error(shown)
	}
	for _, escaped := range []string{`\x1b]0;title\a`, `\u202e`, `\u200b`, `\u00ad`, `\U000e0041`, `\u3164`, `\u2800`, `\ufe0f`, `\x9b`, `\xff`} {
		if !strings.Contains(strings.ReplaceAll(shown, "\r\n            ", ""), escaped) {
			t.Errorf("%s is not shown\n%s", escaped, shown)
		}
	}
}
