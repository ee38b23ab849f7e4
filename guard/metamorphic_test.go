package guard_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/guard"
	"github.com/sbx-run/sbx/shell"
)

// wrapping changes a command to one that does the same, and more.
type wrapping struct {
	name   string
	simple bool // only for a simple command without assignments
	wrap   func(string) string
}

var wrappings = []wrapping{
	{"bash -c", false, func(x string) string { return "bash -c " + singleQuoted(x) }},
	{"sh -c twice", false, func(x string) string { return "bash -c " + singleQuoted("bash -c "+singleQuoted(x)) }},
	{"then ls", false, func(x string) string { return x + "\nls" }},
	{"after ls", false, func(x string) string { return "ls\n" + x }},
	{"subshell", false, func(x string) string { return "(\n" + x + "\n)" }},
	{"block", false, func(x string) string { return "{\n" + x + "\n}" }},
	{"if", false, func(x string) string { return "if true; then\n" + x + "\nfi" }},
	{"while", false, func(x string) string { return "while true; do\n" + x + "\ndone" }},
	{"function", false, func(x string) string { return "zz() {\n" + x + "\n}\nzz" }},
	{"substitution", false, func(x string) string { return "echo \"$(\n" + x + "\n)\"" }},
	{"eval", false, func(x string) string { return "eval " + singleQuoted(x) }},
	{"trap", false, func(x string) string { return "trap " + singleQuoted(x) + " EXIT" }},
	{"background", true, func(x string) string { return x + " &" }},
	{"and", true, func(x string) string { return "true && " + x }},
	{"pipe", true, func(x string) string { return x + " | cat" }},
	{"env", true, func(x string) string { return "env A=1 " + x }},
	{"env -i", true, func(x string) string { return "env -i " + x }},
	{"assignment", true, func(x string) string { return "A=1 " + x }},
	{"timeout", true, func(x string) string { return "timeout 5 " + x }},
	{"sudo", true, func(x string) string { return "sudo " + x }},
	{"sudo -u", true, func(x string) string { return "sudo -u root " + x }},
	{"nice", true, func(x string) string { return "nice -n 5 " + x }},
	{"nohup setsid", true, func(x string) string { return "nohup setsid " + x }},
	{"command", true, func(x string) string { return "command " + x }},
	{"time", true, func(x string) string { return "time " + x }},
	{"not", true, func(x string) string { return "! " + x }},
	{"quoted words", true, func(x string) string { return requoted(x, func(w string) string { return singleQuoted(w) }) }},
	{"escaped words", true, func(x string) string { return requoted(x, escaped) }},
	{"split words", true, func(x string) string { return requoted(x, split) }},
}

func singleQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func escaped(s string) string {
	if s == "" || strings.Contains(s, "\n") {
		return singleQuoted(s)
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		b.WriteByte('\\')
		b.WriteByte(s[i])
	}
	return b.String()
}

func split(s string) string {
	if len(s) < 2 {
		return singleQuoted(s)
	}
	return singleQuoted(s[:1]) + `""` + singleQuoted(s[1:])
}

// requoted spells the words of a simple command in another way; "" when they
// are not all literal.
func requoted(x string, how func(string) string) string {
	s := shell.ParseAt(x, shell.Bash, where)
	var words []string
	for _, w := range s.Calls[0].Words {
		if !w.Literal || w.Glob {
			return ""
		}
		words = append(words, how(w.Value))
	}
	return strings.Join(words, " ")
}

// isSimple reports whether a command is one program with words.
func isSimple(x string) bool {
	if strings.ContainsAny(x, ";&|<>(){}\n#!`~$") {
		return false
	}
	s := shell.ParseAt(x, shell.Bash, where)
	if s.Err != nil || len(s.Calls) == 0 {
		return false
	}
	c := &s.Calls[0]
	if len(c.Words) == 0 || len(c.Assigns) > 0 || c.Decl || len(c.Redirs) > 0 {
		return false
	}
	switch c.Name() {
	case "cd", "pushd", "builtin", "eval", "exec", "trap", "alias", "coproc", "time", "set", "command", "source", ".", "":
		return false // known to the shell only
	}
	return true
}

func TestWrappingsKeepViolations(t *testing.T) {
	var commands []guardCase
	for _, c := range readCases(t) {
		if c.rule != "" {
			commands = append(commands, c)
		}
	}
	for _, file := range []string{"public.jsonl", "varied.jsonl"} {
		for _, r := range readRows(t, file) {
			if r.Guard == "block" {
				commands = append(commands, guardCase{at: r.ID, cmd: r.Cmd})
			}
		}
	}
	tried := map[string]int{}
	for _, c := range commands {
		want := check(c.cmd)
		simple := isSimple(c.cmd)
		for _, w := range wrappings {
			if w.simple && !simple || unfit(c.cmd, w.name) {
				continue
			}
			wrapped := w.wrap(c.cmd)
			if wrapped == "" {
				continue
			}
			tried[w.name]++
			got := " " + rulesOf(check(wrapped)) + " "
			for _, v := range want {
				if !strings.Contains(got, " "+v.Rule+" ") {
					t.Errorf("%s: %s loses %s: %q", c.at, w.name, v.Rule, wrapped)
				}
			}
		}
	}
	for _, w := range wrappings {
		if tried[w.name] < 50 {
			t.Errorf("%s was tried on %d commands only", w.name, tried[w.name])
		}
	}
}

// unfit names the pairs where the wrapping changes what the command does.
func unfit(cmd, wrapping string) bool {
	switch wrapping {
	case "function", "eval", "trap", "substitution", "block", "if", "while", "subshell":
		// A here-document must end at the start of a line, and an unfinished
		// text cannot be put into another one.
		return strings.HasSuffix(cmd, "\\") || strings.Contains(cmd, "coproc")
	case "pipe":
		return strings.Contains(cmd, "coproc") // no pipeline in the grammar
	}
	return false
}

func FuzzCheck(f *testing.F) {
	for _, c := range readCases(f) {
		f.Add(c.cmd)
	}
	for _, r := range readRows(f, "bypass.jsonl") {
		f.Add(r.Cmd)
	}
	f.Fuzz(func(t *testing.T, cmd string) {
		for _, d := range []shell.Dialect{shell.Bash, shell.Sh} {
			s := shell.ParseAt(cmd, d, where)
			first := guard.Check(s)
			if second := guard.Check(s); !reflect.DeepEqual(first, second) {
				t.Fatalf("two answers: %+v and %+v", first, second)
			}
			for _, v := range first {
				if v.Call < 0 || v.Call >= len(s.Calls) || v.Span.Start < 0 || v.Span.End > len(cmd) || v.Span.Start > v.Span.End {
					t.Fatalf("violation out of range: %+v", v)
				}
				if v.Rule == "" || v.Reason == "" || v.Instead == "" {
					t.Fatalf("violation without an explanation: %+v", v)
				}
			}
		}
		// A carriage return before the added newline makes another text.
		alone := shell.ParseAt(cmd, shell.Bash, where)
		if alone.Err == nil && !strings.Contains(cmd, "\r") && len(guard.Check(alone)) > 0 && len(check(cmd+"\nls")) == 0 {
			t.Fatalf("refused alone, allowed with a command behind it")
		}
	})
}
