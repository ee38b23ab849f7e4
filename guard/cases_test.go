package guard_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/guard"
	"github.com/sbx-run/sbx/shell"
)

// where is the place that every case and every row of the corpus assumes.
var where = shell.Where{Cwd: "/home/dev/app", Workspace: "/home/dev/app", Home: "/home/dev", User: "dev"}

func check(cmd string) []guard.Violation {
	return guard.Check(shell.ParseAt(cmd, shell.Bash, where))
}

// guardCase is one command of a case file and the rule that refuses it; "" for
// none.
type guardCase struct {
	at, cmd, rule string
}

// readCases reads testdata/guard: a line "block RULE" or "allow", then the
// commands, indented by four blanks; a line with "  | " behind them goes on with
// the command above.
func readCases(t testing.TB) []guardCase {
	t.Helper()
	files, err := filepath.Glob("../testdata/guard/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no case files: %v", err)
	}
	var cases []guardCase
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rule, known := "", false
		for n, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
			body, isCase := strings.CutPrefix(line, "    ")
			more, goesOn := strings.CutPrefix(line, "      | ")
			switch {
			case goesOn:
				cases[len(cases)-1].cmd += "\n" + more
			case isCase && known:
				cases = append(cases, guardCase{fmt.Sprintf("%s:%d", filepath.Base(file), n+1), body, rule})
			case strings.HasPrefix(line, "block "):
				rule, known = strings.TrimPrefix(line, "block "), true
			case line == "allow":
				rule, known = "", true
			case line != "" && line[0] != '#':
				t.Fatalf("%s:%d: %q is no case", file, n+1, line)
			}
		}
	}
	return cases
}

func rulesOf(list []guard.Violation) string {
	var names []string
	for _, v := range list {
		names = append(names, v.Rule)
	}
	return strings.Join(names, " ")
}

func TestCases(t *testing.T) {
	cases := readCases(t)
	blocks := 0
	for _, c := range cases {
		got := check(c.cmd)
		if c.rule != "" {
			blocks++
		}
		switch {
		case c.rule == "" && len(got) > 0:
			t.Errorf("%s: %q is refused: %s: %s", c.at, c.cmd, got[0].Words, got[0].Reason)
		case c.rule != "" && !strings.Contains(" "+rulesOf(got)+" ", " "+c.rule+" "):
			t.Errorf("%s: %q: got rules %q, want %s", c.at, c.cmd, rulesOf(got), c.rule)
		}
	}
	if blocks < 125 || len(cases)-blocks < 125 {
		t.Errorf("%d refused and %d allowed cases: too few to mean anything", blocks, len(cases)-blocks)
	}
}
