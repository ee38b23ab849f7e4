package classify_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/shell"
)

// TestWrapped wraps every row of the corpus and every case in constructs that
// run it all the same: no tag may get lost.
func TestWrapped(t *testing.T) {
	wrappers := []struct{ name, before, after string }{
		{"list", ":; ", "\n:"},
		{"subshell", "( ", "\n)"},
		{"group", "{ ", "\n}"},
		{"if", "if true; then ", "\nfi"},
		{"loop", "while :; do ", "\nbreak; done"},
		{"function", "f() { ", "\n}; f"},
		{"substitution", "echo $( ", "\n)"},
		{"and", "true && { ", "\n}"},
		{"case", "case x in x) ", "\n;; esac"},
	}
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	for _, cmd := range everyCommand(t) {
		s := shell.ParseAt(cmd, shell.Bash, here)
		if s.Err != nil || len(s.Unknown) > 0 {
			continue
		}
		want, _ := classify.Classify(s)
		try := func(name, text string) {
			got, _ := classify.Classify(shell.ParseAt(text, shell.Bash, here))
			if lost := want &^ got; lost != 0 {
				t.Errorf("%s loses [%v]: %q", name, lost, cmd)
			}
		}
		for _, w := range wrappers {
			try(w.name, w.before+cmd+w.after)
		}
		try("bash -c", "bash -c "+quote(cmd))
		try("sudo bash -c", "sudo -n bash -c "+quote(cmd))
		try("env timeout bash -c", "env A=1 timeout 5 bash -c "+quote(cmd))
		try("eval", "eval "+quote(cmd))
		try("here-string", "bash <<< "+quote(cmd))
		if simple(s) {
			try("env", "env A=1 "+cmd)
			try("timeout", "timeout 5 "+cmd)
			try("sudo", "sudo "+cmd)
			try("nice", "nice -n 5 "+cmd)
		}
	}
}

// simple reports whether a text is one command of plain words, so that a
// program may stand before it.
func simple(s *shell.Script) bool {
	if len(s.Calls) == 0 || len(s.Calls[0].Words) == 0 || len(s.Calls[0].Assigns) > 0 || len(s.Calls[0].Redirs) > 0 {
		return false
	}
	c := &s.Calls[0]
	switch c.Name() {
	case "", ".", "source", "eval", "exec", "export", "declare", "typeset", "set", "trap", "cd", "pushd", "alias", "history", "command", "builtin", "printf", "test", "[",
		"read", "mapfile", "readarray", "local", "unset", "let", "disown", "coproc", "time", "noglob", "f", "for", "case":
		return false
	}
	return c.Span.Start == 0 && c.Span.End == len(strings.TrimRight(s.Text, " \n")) && !strings.ContainsAny(s.Text[:1], "({!")
}

func everyCommand(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, f := range []string{"public.jsonl", "bypass.jsonl", "varied.jsonl"} {
		for _, r := range readCorpus(t, f) {
			all = append(all, r.Cmd)
		}
	}
	files, err := filepath.Glob("../testdata/cases/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases(t, string(data)) {
			all = append(all, c.Cmd)
		}
	}
	return all
}
