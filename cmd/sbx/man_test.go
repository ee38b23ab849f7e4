package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestPages(t *testing.T) {
	dir := t.TempDir()
	if err := writePages(dir, "sbx2"); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) != len(commands())+1 {
		t.Errorf("%d pages, %v", len(pages), err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "sbx2-exec.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nsbx2\\-exec \\- run a program, confined\n", "\n.SH OPTIONS\n", ".B \\-\\-workspace DIR\n", "\nsbx2 exec \\-\\- make test", "\n.SH EXIT STATUS\nthe program\\(aqs own"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	// Nothing of the help is lost: every flag has its entry.
	for flag := range flagsIn(execHelp) {
		if !strings.Contains(string(text), roffText(flag)) {
			t.Errorf("%s is not in the page", flag)
		}
	}
	for _, lint := range [][]string{{"mandoc", "-T", "lint", "-W", "warning"}, {"groff", "-man", "-Tutf8", "-ww", "-z", "-K", "utf8"}} {
		path, err := exec.LookPath(lint[0])
		if err != nil {
			if os.Getenv(requireVar) != "" && lint[0] == "mandoc" {
				t.Errorf("mandoc is not installed and %s is set", requireVar)
			}
			continue
		}
		for _, page := range pages {
			if out, err := exec.Command(path, append(lint[1:], page)...).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%q: %v\n%s", lint, err, out)
			}
		}
	}
}

func TestRoffText(t *testing.T) {
	for text, want := range map[string]string{".profile": `\&.profile`, `a\b`: `a\eb`, "-x": `\-x`, "'a'": `\(aqa\(aq`, "~/.x": `\(ti/.x`} {
		if got := roffText(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
