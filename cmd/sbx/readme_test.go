package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeTranscript types what the README shows, and compares. How a shell
// says that it may not write outside is the kernel's word, which differs between
// tiers: there the file outside is what counts.
func TestReadmeTranscript(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Skip("the README is not beside this test") // the run as an ordinary user
	}
	direct, err := condition("direct")
	if err != nil {
		t.Fatal(err)
	}
	if !direct {
		t.Skip("the direct backend cannot confine here")
	}
	top := t.TempDir()
	for _, dir := range []string{"project", "outside", "state", "cache", "pepe", "home"} {
		if err := os.Mkdir(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	canary := filepath.Join(top, "outside", "canary")
	if err := os.WriteFile(canary, []byte("original"), 0o644); err != nil {
		t.Fatal(err)
	}
	typed := func(line string) string {
		cmd := exec.Command("bash", "-c", line)
		cmd.Dir = filepath.Join(top, "project")
		cmd.Env = append(os.Environ(), "PATH="+searchPath(), "LC_ALL=C.UTF-8", "HOME="+top+"/home", "PEPE_HOME="+top+"/pepe",
			"XDG_STATE_HOME="+top+"/state", "XDG_CACHE_HOME="+top+"/cache", "PEPE_CONFIG=")
		out, _ := cmd.CombinedOutput() // the status is not in the transcript
		return string(out)
	}
	typed("sbx run true") // what is not enforced here is told once
	shown := 0
	for _, block := range transcript(string(readme)) {
		shown++
		got := typed(block.line)
		if strings.Contains(block.line, "outside") {
			if text, err := os.ReadFile(canary); err != nil || string(text) != "original" || got == "" {
				t.Errorf("$ %s\n%s%v", block.line, got, err)
			}
		} else if strings.TrimSpace(got) != strings.TrimSpace(block.out) {
			t.Errorf("$ %s\nwant:\n%s\ngot:\n%s", block.line, block.out, got)
		}
	}
	if shown < 5 {
		t.Errorf("%d commands found in the README", shown)
	}
	if out := typed("echo changed > ../outside/canary"); out != "" {
		t.Errorf("the control: %s", out)
	}
	if text, _ := os.ReadFile(canary); string(text) != "changed\n" {
		t.Error("the file outside cannot be written without sbx either")
	}
}

// typedLine is a command of the transcript and what it printed.
type typedLine struct{ line, out string }

func transcript(readme string) []typedLine {
	var all []typedLine
	for _, line := range strings.Split(readme, "\n") {
		text, indented := strings.CutPrefix(line, "    ")
		command, typed := strings.CutPrefix(text, "$ ")
		switch {
		case indented && typed:
			all = append(all, typedLine{line: command})
		case len(all) > 0 && strings.HasPrefix(line, "On Linux"):
			return all
		case len(all) > 0:
			all[len(all)-1].out += text + "\n"
		}
	}
	return all
}
