package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/sbx-run/sbx/changes"
)

// Whatever a command calls its files or writes into them, nothing that is shown
// acts on a terminal.
func FuzzNothingShownActsOnATerminal(f *testing.F) {
	for _, s := range []string{"a", "\x1b[31m", "a\r\nb", "\u202eevil", "\x9b31m", "\xff", "tab\there", "e\u0301", "\u2028", "\x00", "\u200b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := &changes.Changes{Roots: []string{"/r"}, Entries: []changes.Entry{
			{Root: "/r", Path: s, Kind: changes.Created, Type: "symlink", Target: s},
			{Root: "/r", Path: s, Kind: changes.Changed, Type: "file", Link: s},
		}, Conflicts: []changes.Conflict{{Root: "/r", Path: s, Why: s}}}
		var b strings.Builder
		p := &changeList{out: &b}
		p.summary(c)
		p.list(c, 0)
		d := changes.Diff{Hunks: []changes.Hunk{{Lines: []changes.Line{{Sign: '+', Text: s}}}}}
		if err := p.diff(&b, c, c.Entries[1], d); err != nil {
			t.Fatal(err)
		}
		for _, r := range b.String() {
			if r != '\n' && r != '\t' && !unicode.IsPrint(r) && !unicode.In(r, unicode.Mn, unicode.Me) {
				t.Fatalf("%q shows %U in %q", s, r, b.String())
			}
		}
		if lines := strings.Count(b.String(), "\n"); lines != 8 {
			t.Fatalf("%q makes %d lines:\n%s", s, lines, b.String())
		}
	})
}

// The pager runs outside the sandbox: never one that a command could have put
// there.
func TestPagerIsNotTheCommands(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"ws/bin", "bin"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"less", "more"} {
			if err := os.WriteFile(filepath.Join(dir, d, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Symlink(dir+"/ws/bin", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		pager, path string
		want        []string
	}{
		{"", dir + "/bin", []string{dir + "/bin/less"}},
		{"more -s", dir + "/bin", []string{dir + "/bin/more", "-s"}},
		{"", dir + "/ws/bin:" + dir + "/link:" + dir + "/bin", []string{dir + "/bin/less"}},
		{"", dir + "/ws/bin", nil},
		{"", ".:bin:" + dir + "/absent", nil},
		{"bin/less", dir + "/bin", nil},
		{dir + "/bin/more", "", []string{dir + "/bin/more"}},
		{"cat", dir + "/bin", nil},
	} {
		getenv := func(name string) string { return map[string]string{"PAGER": tt.pager, "PATH": tt.path}[name] }
		if got := pager(getenv, []string{dir + "/ws"}); !slices.Equal(got, tt.want) {
			t.Errorf("PAGER=%q PATH=%q: %q, want %q", tt.pager, tt.path, got, tt.want)
		}
	}
}
