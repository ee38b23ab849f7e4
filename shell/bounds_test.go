package shell

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

var home = Where{Cwd: "/home/dev/app", Home: "/home/dev", User: "dev"}

// Each construct that a recursive parser descends on, repeated to fill a text.
// None may crash, and a text that was not followed must say so.
func TestNestingIsBounded(t *testing.T) {
	constructs := []struct{ name, start, repeat string }{
		{"subshell", "", "("},
		{"brace", "", "{ "},
		{"substitution", "", "$("},
		{"backquote", "", "`"},
		{"quoted substitution", "", "\"$("},
		{"arithmetic expansion", "", "$(("},
		{"arithmetic command", "", "(("},
		{"arithmetic group", "((", "("},
		{"ternary", "((", "a?"},
		{"subscript", "", "a["},
		{"expansion", "", "${a:-"},
		{"test group", "[[ ", "( "},
		{"test negation", "[[ ", "! "},
		{"test and", "[[ ", "a && "},
		{"if", "", "if "},
		{"while", "", "while "},
		{"for", "", "for i do "},
		{"case", "", "case a in a) "},
		{"function", "", "f() "},
		{"coproc", "", "coproc "},
		{"time", "", "time "},
		{"process substitution", "", "cat <("},
		{"here-document", "", "<<a $("},
		{"and", "", "a && "},
		{"pipe", "", "a | "},
		{"sequence", "", "a; "},
		{"minus", "((", "-"},
		{"assignment", "((", "a="},
		{"negation", "", "! "},
		{"extglob", "", "@("},
		{"braces", "", "{a,"},
		{"function word", "", "function f "},
	}
	for _, c := range constructs {
		for _, size := range []int{2_000, maxText - 8} {
			text := c.start + strings.Repeat(c.repeat, (size-len(c.start))/len(c.repeat))
			for _, d := range []Dialect{Bash, POSIX, Mksh, Zsh, Sh} {
				if size > 10_000 && d != Bash {
					continue // the bound does not depend on the dialect
				}
				if s := ParseAt(text, d, home); tooDeep(text) && len(s.Unknown) == 0 {
					t.Errorf("%s in %v at %d bytes: not followed, and not said", c.name, d, size)
				}
			}
		}
	}
}

func TestTooLong(t *testing.T) {
	s := Parse(strings.Repeat("#", maxText)+"\nrm x", Bash)
	if len(s.Unknown) == 0 {
		t.Error("a text past the bound is not listed as unknown")
	}
}

// Long scripts are read whole: every call is there, at its place.
func TestLongScripts(t *testing.T) {
	for _, sep := range []string{"\n", "; ", " && ", " | ", " || ", "& "} {
		const n = 12_000
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteString(sep)
			}
			fmt.Fprintf(&b, "rm \"f%d\"", i)
		}
		for b.Len() < 1<<20 && sep == "\n" {
			b.WriteString("\n# a comment to fill the text")
		}
		s := Parse(b.String(), Bash)
		if s.Err != nil || len(s.Unknown) > 0 || len(s.Calls) != n {
			t.Fatalf("separator %q: %d calls, %v, %v", sep, len(s.Calls), s.Err, s.Unknown)
		}
		for _, i := range []int{0, 1, n / 2, n - 1} {
			if got, want := s.Slice(s.Calls[i].Span), fmt.Sprintf("rm \"f%d\"", i); got != want {
				t.Fatalf("separator %q: call %d stands at %q", sep, i, got)
			}
		}
	}
}

// Texts on which the parser's error recovery panics are errors here.
func TestParserPanics(t *testing.T) {
	for _, text := range []string{"A=0`((((((((0/0; A 00000000"} {
		s := ParseAt(text, Bash, home)
		if s.Err == nil || len(s.Unknown) == 0 {
			t.Errorf("%q: no error", text)
		}
	}
	s := &Script{Text: "x"}
	s.readOrGiveUp(func() { panic("x") })
	if s.Err == nil || len(s.Unknown) != 1 {
		t.Errorf("a reading that gave up: %v, %v", s.Err, s.Unknown)
	}
}

func TestTooManyCommands(t *testing.T) {
	for _, last := range []string{"rm -rf /", "(rm -rf /)", "if x; then rm -rf /; fi", "{ rm -rf /; } > y"} {
		s := Parse(strings.Repeat("a\n", maxCalls)+last, Bash)
		if len(s.Unknown) != 1 || s.Unknown[0].Why != "too many commands" {
			t.Errorf("%q behind %d commands: %v", last, maxCalls, s.Unknown)
		}
	}
}

// Values and directories that grow with each command stay bounded.
func TestGrowthIsBounded(t *testing.T) {
	for _, unit := range []string{"x=$x$x/a; ", "a+=(\"${a[@]}\" b); ", "cd a; ", "set -- \"$@\" \"$@\" b; ", "x+=$x$x; y=\"$x$x$x$x$x$x$x$x\"; ", "pushd a; ", "x={$x,b}; eval x=$x; "} {
		text := "x=abc a=(b) " + "\n" + strings.Repeat(unit, 3_000) + "rm last"
		s := ParseAt(text, Bash, home)
		if n := len(s.Calls); n == 0 || s.Calls[n-1].Name() != "rm" && len(s.Unknown) == 0 {
			t.Errorf("%q: the end was not read", unit)
		}
		for _, c := range s.Calls {
			if len(c.Dir) > 2*maxDir {
				t.Fatalf("%q: a directory of %d bytes", unit, len(c.Dir))
			}
		}
	}
}

func TestTextsInTexts(t *testing.T) {
	text := "rm -rf x"
	for range maxDepth + 4 {
		text = "sh -c " + quote(text)
		if len(text) > maxText/8 {
			break
		}
	}
	s := Parse(text, Bash)
	found := false
	for _, c := range s.Calls {
		found = found || c.Name() == "rm"
	}
	if !found && len(s.Unknown) == 0 {
		t.Error("a text past the depth bound is neither followed nor unknown")
	}
}

// FuzzParse: no panic, the same result twice, spans inside the text.
func FuzzParse(f *testing.F) {
	for _, c := range readingCases {
		f.Add(c.text, uint8(Bash))
		f.Add(c.text, uint8(Sh))
	}
	for _, s := range []string{"$((foo); (bar))", "${x[a b]}", "a <<E\n", "if true; then echo hi", "echo $(ls", "for do done", "((a[$(x)]))", "x=(a b)", "\x00", "a\rb", "{a,{b,c}}{1..9}", "$'\\u00e9\\x", "~+/~-", "[[ a[$(b)] -eq 1 ]]"} {
		f.Add(s, uint8(Bash))
	}
	f.Fuzz(func(t *testing.T, text string, d uint8) {
		if len(text) > 1<<14 {
			t.Skip()
		}
		a := ParseAt(text, Dialect(d%5), home)
		b := ParseAt(text, Dialect(d%5), home)
		if len(a.Calls) != len(b.Calls) || len(a.Unknown) != len(b.Unknown) {
			t.Fatalf("two readings of %q differ", text)
		}
		for i, c := range a.Calls {
			checkSpan(t, text, c.Span)
			for k, w := range c.Words {
				checkSpan(t, text, w.Span)
				if !strings.HasPrefix(w.Value, w.Prefix) || w.Literal && w.Prefix != w.Value {
					t.Fatalf("%q: prefix %q of %q", text, w.Prefix, w.Value)
				}
				if o := b.Calls[i].Words[k]; o.Value != w.Value || o.Literal != w.Literal {
					t.Fatalf("two readings of %q differ in a word: %q, %q", text, w.Value, o.Value)
				}
			}
			for _, r := range c.Redirs {
				checkSpan(t, text, r.Span)
			}
			for _, x := range c.Carriers {
				if x.Call < 0 || x.Call >= i {
					t.Fatalf("%q: carrier %d of call %d", text, x.Call, i)
				}
			}
			for _, list := range [][]int{c.PipeFrom, c.PipeTo} {
				for _, j := range list {
					if j < 0 || j >= len(a.Calls) {
						t.Fatalf("%q: pipe to call %d of %d", text, j, len(a.Calls))
					}
				}
			}
		}
	})
}

func checkSpan(t *testing.T, text string, sp Span) {
	t.Helper()
	if sp.Start < 0 || sp.End < sp.Start || sp.End > len(text) {
		t.Fatalf("span %v in a text of %d bytes: %q", sp, len(text), text)
	}
}

func FuzzFromArgv(f *testing.F) {
	f.Add("sh", "-c", "rm -rf /")
	f.Add("env", "A=1", "it's")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if len(a)+len(b)+len(c) > 1<<14 {
			t.Skip()
		}
		s := FromArgv([]string{a, b, c}, home)
		if len(s.Calls) == 0 || s.Calls[0].Words[2].Value != c {
			t.Fatalf("argv changed: %+v", s.Calls)
		}
		for _, c := range s.Calls {
			checkSpan(t, s.Text, c.Span)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, text := range []string{"ls -la", "git commit -m \"fix $(date)\" && npm test 2>&1 | tail -5", "for f in *.go; do sed -i 's/a/b/' \"$f\"; done"} {
		b.Run(text[:6], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ParseAt(text, Bash, home)
			}
		})
	}
	if data, err := os.ReadFile("../../shared/corpus/real/tldr_common_linux.txt"); err == nil {
		lines := strings.Split(string(data), "\n")
		b.Run("real", func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				ParseAt(lines[i%len(lines)], Bash, home)
				i++
			}
		})
	}
}

// Copies of a command for its arguments, inside one another, and patterns are
// bounded: what is not walked any more is listed as unknown.
func TestNestedCopies(t *testing.T) {
	text := "echo x"
	for range 6 {
		text = "printf '%s\\n' 0 1 2 3 4 5 6 7 8 9 a b c d e f | xargs -I{} sh -c " + quote(text+" {}")
	}
	if s := Parse(text, Bash); len(s.Calls) > 20_000 || len(s.Unknown) == 0 {
		t.Errorf("%d calls, %d unknown", len(s.Calls), len(s.Unknown))
	}
	text = "x=" + strings.Repeat("a", 250) + strings.Repeat("; echo ${x%%*a*a*b}", 200) + "; rm y"
	s := Parse(text, Bash)
	if last := s.Calls[len(s.Calls)-1]; last.Name() != "rm" {
		t.Errorf("the last call is %q", last.Name())
	}
}
