package classify_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/shell"
)

// TestCases reads testdata/cases: a command, a line of dashes, the tags that
// are required and those that are allowed, an empty line. Lines that begin
// with # between cases are comments.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("../testdata/cases/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no case files: %v", err)
	}
	n := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases(t, string(data)) {
			n++
			got, found := classify.Classify(shell.ParseAt(c.Cmd, shell.Bash, here))
			checkFindings(t, c.Cmd, got, found)
			want := set(t, c.Tags)
			allowed := want | set(t, c.Maybe)
			if want&^got != 0 || got&^allowed != 0 {
				t.Errorf("%s: missing [%v] spurious [%v] %q", filepath.Base(file), want&^got, got&^allowed, c.Cmd)
			}
		}
	}
	if n < 400 {
		t.Errorf("%d cases read", n)
	}
}

func cases(t *testing.T, text string) []row {
	t.Helper()
	var rows []row
	var command []string
	var r *row
	for _, line := range strings.Split(text, "\n") {
		name, value, _ := strings.Cut(line, ":")
		switch {
		case r == nil && strings.Trim(line, "-") == "" && len(line) > 5:
			rows = append(rows, row{Cmd: strings.Join(command, "\n")})
			r, command = &rows[len(rows)-1], nil
		case r == nil && len(command) == 0 && (line == "" || strings.HasPrefix(line, "# ")):
		case r == nil:
			command = append(command, line)
		case name == "tags":
			r.Tags = strings.Fields(value)
		case name == "maybe":
			r.Maybe = strings.Fields(value)
		case line == "":
			r = nil
		default:
			t.Fatalf("unexpected line %q", line)
		}
	}
	return rows
}
