package main

import (
	"strings"
	"testing"

	"github.com/sbx-run/sbx/shell"
)

func TestPrintWhole(t *testing.T) {
	unpainted := func(_ style, text string) string { return text }
	for _, tt := range []struct {
		name, text string
		marks      []mark
		want       string
	}{
		{"one line", "rm x", []mark{{shell.Span{Start: 0, End: 4}, "deletes", red}}, "      rm x\n      ^~~~ deletes\n"},
		{"several", "a\nrm x", []mark{{shell.Span{Start: 2, End: 6}, "deletes", red}}, "  1 | a\n  2 | rm x\n    | ^~~~ deletes\n"},
		{"broken", strings.Repeat("a", 20) + "bbbb", []mark{{shell.Span{Start: 18, End: 24}, "m", red}}, "      " + strings.Repeat("a", 20) + "\n      " + strings.Repeat(" ", 18) + "^~ m\n      bbbb\n      ~~~~\n"},
		{"nothing", "", nil, "\n"},
		{"behind the text", "x", []mark{{shell.Span{Start: 1, End: 1}, "m", red}}, "      x\n       ^ m\n"},
		{"wide and invalid", "界界\xff", []mark{{shell.Span{Start: 3, End: 6}, "m", red}}, "      界界\\xff\n        ^~ m\n"},
	} {
		var b strings.Builder
		printWhole(&b, tt.text, tt.marks, 10, unpainted) // at least 20 columns are used
		if b.String() != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, b.String(), tt.want)
		}
	}
}
