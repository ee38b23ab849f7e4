package main

import (
	"strings"
	"testing"
	"time"

	"github.com/sbx-run/sbx/shell"
)

func TestDuration(t *testing.T) {
	for v, want := range map[string]time.Duration{"90": 90 * time.Second, "0.5": 500 * time.Millisecond, "5m": 5 * time.Minute, "1h30m": 90 * time.Minute, "0": 0} {
		if got, err := duration(v); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", v, got, err, want)
		}
	}
	for _, v := range []string{"", "soon", "-1", "-5s", "NaN", "Inf", "1e30", "5 m"} {
		if got, err := duration(v); err == nil {
			t.Errorf("%q: %v, want an error", v, got)
		}
	}
}

func TestVisible(t *testing.T) {
	for _, tc := range []struct {
		in, want string
		width    int
	}{
		{"plain", "plain", 5},
		{"a\tb", "a       b", 9},
		{"漢\tb", "漢      b", 9},
		{"e\u0301x", "e\u0301x", 2},
		{"\x1b[2K\a", `\x1b[2K\a`, 9},
		{"\u202eabc", `\u202eabc`, 9},
		{"\u200b", `\u200b`, 6},
		{"a\xffb", `a\xffb`, 6},
		{"🚀", "🚀", 2},
		{"ｆ", "ｆ", 2},
		{"'\"", "'\"", 2},
	} {
		if got := visible(tc.in); got != tc.want || width(tc.in) != tc.width {
			t.Errorf("%q: %q of width %d, want %q of width %d", tc.in, got, width(tc.in), tc.want, tc.width)
		}
	}
}

// A mark never fails, wherever its span lies.
func TestMarksOutsideTheText(t *testing.T) {
	for _, text := range []string{"", "\n", "a\nb", strings.Repeat("x", 1000), strings.Repeat("é", 500)} {
		for _, span := range []shell.Span{{Start: 0, End: 0}, {Start: 0, End: 5000}, {Start: 4000, End: 5000}, {Start: len(text), End: len(text)}, {Start: 401, End: 402}} {
			var b strings.Builder
			printMarked(&b, text, []mark{{span, "label", red}}, new(screen).paint)
			if strings.Count(b.String(), "label") != 1 {
				t.Errorf("%.20q %v:\n%s", text, span, b.String())
			}
		}
	}
}

// Of a long line each mark shows its part, says what it left out on both
// sides, and stands under its words; marks of one part share it.
func TestMarksOfLongLines(t *testing.T) {
	text := strings.Repeat("é", 300) + "; rm a; sudo b; " + strings.Repeat("x", 900) + "; curl c"
	at := func(words string) mark {
		i := strings.Index(text, words)
		return mark{shell.Span{Start: i, End: i + len(words)}, words, red}
	}
	var b strings.Builder
	printMarked(&b, text, []mark{at("rm a"), at("sudo b"), at("curl c")}, new(screen).paint)
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[0], "  … ") || !strings.HasSuffix(lines[0], " …") {
		t.Fatalf("%d lines:\n%s", len(lines), b.String())
	}
	for i, part := range map[int]string{1: lines[0], 2: lines[0], 4: lines[3]} {
		words := strings.TrimSpace(strings.TrimLeft(lines[i], " ^~"))
		before, _, ok := strings.Cut(part, words)
		if !ok || width(before) != strings.IndexByte(lines[i], '^') {
			t.Errorf("%q is not under its words in %q", lines[i], part)
		}
	}
}

func TestFlags(t *testing.T) {
	parse := func(stops bool, args ...string) (*flags, bool, string, error) {
		f := newFlags("test")
		f.stops = stops
		on := f.Bool("on", false, "")
		name := f.String("name", "", "")
		err := f.parse(args)
		return f, *on, *name, err
	}
	f, on, name, err := parse(false, "a", "--on", "b", "-name=x", "-", "--", "--on", "c")
	if err != nil || !on || name != "x" || strings.Join(f.operands, " ") != "a b -" || !f.dashes || strings.Join(f.after, " ") != "--on c" {
		t.Errorf("%+v, %v, %q, %v", f, on, name, err)
	}
	f, on, _, err = parse(true, "--on", "ls", "--on", "-x", "--", "y")
	if err != nil || !on || f.dashes || strings.Join(f.after, " ") != "ls --on -x -- y" {
		t.Errorf("%+v, %v", f, err)
	}
	for _, args := range [][]string{{"--nope"}, {"--name"}, {"--on=maybe"}, {"-"}} {
		if _, _, _, err := parse(false, args...); (err == nil) != (args[0] == "-") {
			t.Errorf("%q: %v", args, err)
		}
	}
	if _, _, _, err := parse(false, "x", "-h", "--nope"); err != errHelp {
		t.Errorf("-h: %v", err)
	}
}
