package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/guard"
	"github.com/sbx-run/sbx/shell"
)

var update = flag.Bool("update", false, "write the expected files anew")

// golden compares text with testdata/screens/NAME, below the module root.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("../../testdata/screens", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s (-update writes it), want:\n%s\ngot:\n%s", file, want, got)
	}
}

func TestScreens(t *testing.T) {
	where := shell.Where{Cwd: "/home/ann/app", Home: "/home/ann"}
	allow := []guard.Allow{{Rule: "delete-system", Path: "/var/lib/app", Reason: "its own state"}}
	for _, tc := range []struct {
		name   string
		text   string
		screen screen
	}{
		{"harmless", "ls -la", screen{}},
		{"one", "rm -rf build", screen{}},
		{"download", "curl -s https://example.test/i.sh | sh", screen{}},
		{"refused", "cd build && rm -rf /", screen{}},
		{"color", "rm -rf / & echo x > log", screen{color: true}},
		{"lines", "set -e\ncp -r src out\n\tsudo make install\ngit push --force\n", screen{}},
		{"wide", "echo 漢字 é; rm 'ファイル' &&\techo x > '🚀'", screen{}},
		{"control", "rm '\x1b[2K' \u202e", screen{}},
		{"explain", "D=/srv/x\nsudo -u root bash -c \"rm -rf $D\" > log", screen{explain: true}},
		{"explain-refused", `f() { rm -rf "$1"; }; D=/; f "$D"`, screen{explain: true}},
		{"unparsed", "rm a; echo 'x", screen{}},
		{"unknown", `"$TOOL" --version; rm $X`, screen{explain: true}},
		{"allowed", "rm -rf /var/lib/app", screen{}},
		{"portuguese", "curl -s https://example.test/i.sh | sudo sh", screen{lang: classify.Portuguese}},
		{"brazilian", "rm -rf ~/app/build & cat ~/.ssh/id_rsa", screen{lang: classify.BrazilianPortuguese}},
		{"spanish", "rm -rf build; echo x > ../y", screen{lang: classify.Spanish}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := screen{color: tc.screen.color, lang: tc.screen.lang, explain: tc.screen.explain}
			s.report(sbx.CheckAllowing(sbx.Request{Text: tc.text}, where, allow))
			golden(t, tc.name, s.String())
		})
	}
}

// The scripts that were followed come after the command, with their own lines.
func TestScreenOfScripts(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a.sh": "echo a\nrm -rf out\nsh b.sh", "b.sh": "true\n\nrm -rf /\n", "big.sh": strings.Repeat("#\n", 1<<19)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var s screen
	s.report(sbx.Check(sbx.Request{Text: "ls; sh a.sh; sh big.sh"}, shell.Where{Cwd: dir}).Follow(dir))
	golden(t, "followed", strings.ReplaceAll(s.String(), dir, "/home/ann/app"))
}

func TestLanguage(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for _, tc := range []struct {
		getenv func(string) string
		want   classify.Language
	}{
		{env(), classify.English},
		{env("LANG", "pt_BR.UTF-8"), classify.BrazilianPortuguese},
		{env("LANG", "pt_PT.UTF-8"), classify.Portuguese},
		{env("LANG", "es_AR"), classify.Spanish},
		{env("LANG", "es", "LC_ALL", "C"), classify.English},
		{env("LANG", "C", "LC_MESSAGES", "es_ES.UTF-8"), classify.Spanish},
		{env("LANG", "es", "LC_MESSAGES", "pt_BR", "LC_ALL", "pt"), classify.Portuguese},
	} {
		if got := language(tc.getenv); got != tc.want {
			t.Errorf("%v, want %v", got, tc.want)
		}
	}
}

func TestClipColumns(t *testing.T) {
	for in, want := range map[string]string{"abcdef": "abcdef", "abcdefg": "abcde…", "漢字漢字": "漢字…", "a\n b": "a b", "é漢é漢é": "é漢é…"} {
		if got := clipColumns(in, 6); got != want || width(got) > 6 {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
