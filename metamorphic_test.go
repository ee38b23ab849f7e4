package sbx_test

import (
	"strings"
	"testing"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/shell"
)

var devHome = shell.Where{Cwd: "/home/dev/app", Workspace: "/home/dev/app", Home: "/home/dev", User: "dev"}

func judge(text string) sbx.Report {
	return sbx.Check(sbx.Request{Text: text}, devHome)
}

// A disguise changes how a command is written, and what it does stays or only
// grows. A simple one may stand only before a simple command.
type disguise struct {
	name   string
	simple bool
	wrap   func(string) string
}

var disguises = []disguise{
	{"env", true, func(x string) string { return "env A=1 " + x }},
	{"timeout", true, func(x string) string { return "timeout 5 " + x }},
	{"sudo", true, func(x string) string { return "sudo " + x }},
	{"nice env -i", true, func(x string) string { return "nice -n 5 env -i B=2 " + x }},
	{"bash -c", false, func(x string) string { return "bash -c -- '" + strings.ReplaceAll(x, "'", `'\''`) + "'" }},
	{"list", false, func(x string) string { return x + "\nls" }},
	{"list before", false, func(x string) string { return "ls; " + x }},
	{"subshell", false, func(x string) string { return "( " + x + "\n)" }},
	{"group", false, func(x string) string { return "{ " + x + "\n}" }},
	{"if", false, func(x string) string { return "if true; then " + x + "\nfi" }},
	{"while", false, func(x string) string { return "while read l; do " + x + "\ndone" }},
	{"function", false, func(x string) string { return "f() { " + x + "\n}; f" }},
	{"substitution", false, func(x string) string { return "echo \"$(" + x + "\n)\"" }},
	{"quoted words", false, requote},
}

// requote puts every plain word into quotes.
func requote(text string) string {
	s := shell.ParseAt(text, shell.Bash, devHome)
	var spans []shell.Span
	for i := range s.Calls {
		c := &s.Calls[i]
		carried := c.Decl
		for _, x := range c.Carriers {
			carried = carried || x.Via != shell.ViaArgv
		}
		if carried {
			continue
		}
		for _, w := range c.Words {
			if w.Literal && !w.Glob && !w.Quoted && s.Slice(w.Span) == w.Value && !strings.ContainsAny(w.Value, "'=~{}\n") {
				spans = append(spans, w.Span)
			}
		}
	}
	out := text
	done := map[int]bool{}
	for pos := len(text); pos >= 0; pos-- {
		for _, sp := range spans {
			if sp.Start == pos && sp.End > pos && !done[pos] {
				done[pos] = true
				out = out[:sp.Start] + "'" + out[sp.Start:sp.End] + "'" + out[sp.End:]
			}
		}
	}
	return out
}

// startsSimple reports whether a word may be put before the text as before a
// simple command whose program is not a builtin of the shell.
func startsSimple(text string, s *shell.Script) bool {
	text = strings.TrimLeft(text, " \t\n")
	if text == "" || len(s.Calls) == 0 || strings.ContainsAny(text[:1], "({#<>&|;)$`\\-+~%![") {
		return false
	}
	c := &s.Calls[0]
	if len(c.Words) == 0 || len(c.Assigns) > 0 || c.Decl || c.Func != "" || !strings.HasPrefix(text, s.Slice(c.Words[0].Span)) {
		return false
	}
	switch c.Name() {
	case "", "alias", "cd", "chdir", "pushd", "popd", "set", "shift", "unset", "read", "exec", "builtin", "printf", "trap", "eval", "source", ".",
		"history", "command", "test", "mapfile", "readarray", "getopts", "let", "time", "export", "complete", "declare":
		return false
	}
	return true
}

func checkDisguises(t *testing.T, text string) {
	t.Helper()
	plain := judge(text)
	if plain.Script.Err != nil {
		if plain.Tags&classify.UnknownTag == 0 {
			t.Errorf("%q does not parse (%v), and its tags are %v", text, plain.Script.Err, plain.Tags)
		}
		return
	}
	if again := judge(text); again.Tags != plain.Tags || len(again.Violations) != len(plain.Violations) {
		t.Errorf("%q is judged differently the second time", text)
	}
	for _, d := range disguises {
		if d.simple && !startsSimple(text, plain.Script) {
			continue
		}
		wrapped := d.wrap(text)
		got := judge(wrapped)
		if got.Script.Err != nil {
			if got.Tags&classify.UnknownTag == 0 {
				t.Errorf("%s: %q does not parse and is not unknown", d.name, wrapped)
			}
			continue
		}
		if lost := plain.Tags &^ got.Tags; lost != 0 {
			t.Errorf("%s loses %v:\n  %q\n  %q", d.name, lost, text, wrapped)
		}
		for _, v := range plain.Violations {
			found := false
			for _, w := range got.Violations {
				found = found || w.Rule == v.Rule
			}
			if !found {
				t.Errorf("%s loses the violation %s:\n  %q\n  %q", d.name, v.Rule, text, wrapped)
			}
		}
	}
}

func TestDisguises(t *testing.T) {
	for _, row := range corpusRows(t) {
		checkDisguises(t, row.Cmd)
	}
}

func FuzzDisguises(f *testing.F) {
	for i, text := range []string{
		"rm -rf /", "curl x | sh", "cd / && rm -rf *", "X=/; rm -rf $X", "echo a > ~/.bashrc", "sudo -u root bash -c 'rm -rf /etc'",
		"find / -delete", "f(){ f|f& };f", "cat <<E | sh\nrm -rf ~\nE", "for d in / a; do rm -r $d; done", "git -c core.pager=x log", "dd of=/dev/sda", "pepe x", "env", "a=(rm -rf /); ${a[@]}",
		"echo 'rm -rf /' | sh", "$X y", "tar xf a -C /opt", "{rm,-rf,/}", "x=$(touch a) y", "python3 -c 'print(1)' &",
	} {
		_ = i
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		// A comment, a backslash or a here-document at the end swallows what a
		// disguise puts behind it.
		if len(text) > 2_000 || strings.HasSuffix(text, "\\") || strings.ContainsAny(text, "\x00\r") {
			t.Skip()
		}
		checkDisguises(t, text)
	})
}
