package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asked runs a preview with a terminal of its own, types when it is asked, and
// gives what was shown and the exit status.
func asked(t *testing.T, workspace, typed, before string) (string, int) {
	t.Helper()
	reader, terminal := pseudoTerminal(t)
	cmd := exec.Command(filepath.Join(os.Getenv(binVar), "sbx"), "run", "--workspace", workspace, "--preview",
		"echo new >>file; printf '\\033[31m' >made; exit 3")
	home := filepath.Dir(workspace)
	cmd.Env = []string{"HOME=" + home, "TERM=xterm", "PATH=" + os.Getenv("PATH"), "PAGER=cat"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if before != "" { // typed before anybody asks
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
		buf := make([]byte, 4096)
		answered := false
		for {
			n, err := reader.Read(buf)
			all.Write(buf[:n])
			if !answered && strings.Contains(all.String(), "ater: ") {
				answered = true
				_, _ = reader.WriteString(typed)
			}
			if err != nil || strings.Contains(all.String(), "sbx: preview: applied") || strings.Contains(all.String(), "discarded") || strings.Contains(all.String(), "kept as") {
				shown <- all.String()
				return
			}
		}
	}()
	err := cmd.Wait()
	status := 0
	if exit, ok := err.(*exec.ExitError); ok {
		status = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	select {
	case text := <-shown:
		return text, status
	case <-time.After(5 * time.Second):
		return "", status
	}
}

// The question is asked on the terminal, and only a clear yes applies.
func TestQuestion(t *testing.T) {
	if have, err := condition("full"); err != nil {
		t.Fatal(err)
	} else if !have {
		t.Skip("needs the tier full")
	}
	for _, tt := range []struct {
		name, typed, before string
		applied             bool
		status              int
		says                string
	}{
		{"yes", "y\n", "", true, 3, "applied"},
		{"no answer", "\n", "", false, 3, "discarded"},
		{"the end of input", "\x04", "", false, 3, "discarded"},
		{"something else, then no", "maybe\nn\n", "", false, 3, "discarded"},
		{"a diff, then yes", "d\nyes\n", "", true, 3, "+new"},
		{"what was typed before does not count", "\n", "y\ny\ny\n", false, 3, "discarded"},
		{"an answer after what a terminal sent", "\x1b[5;1Ry\nn\n", "", false, 3, "discarded"},
		{"for later", "l\n", "", false, 3, "kept as"},
		{"an interrupt", "\x03", "", false, -1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base := ""
			if os.Geteuid() == 0 {
				base = "/var/lib"
			} else if home := os.Getenv("HOME"); home != "" {
				base = home
			}
			dir, err := os.MkdirTemp(base, "sbx-question-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			ws := filepath.Join(dir, "ws")
			if err := os.Mkdir(ws, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(ws, "file"), []byte("old\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			shown, status := asked(t, ws, tt.typed, tt.before)
			text, _ := os.ReadFile(filepath.Join(ws, "file"))
			if got := string(text) == "old\nnew\n"; got != tt.applied {
				t.Errorf("applied %v, the file is %q\n%s", got, text, shown)
			}
			if status != tt.status || !strings.Contains(shown, tt.says) {
				t.Errorf("status %d, want %d; %q is not in\n%s", status, tt.status, tt.says, shown)
			}
		})
	}
}
