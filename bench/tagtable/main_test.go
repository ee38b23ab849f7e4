package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The test binary plays sbx when this variable says how it should behave.
const role = "TAGTABLE_TEST_SBX"

func TestMain(m *testing.M) {
	if how := os.Getenv(role); how != "" {
		os.Exit(playSbx(how))
	}
	os.Exit(m.Run())
}

func playSbx(how string) int {
	lines := bufio.NewScanner(os.Stdin)
	for n := 0; lines.Scan(); n++ {
		var row struct{ ID, Cmd string }
		if json.Unmarshal(lines.Bytes(), &row) != nil {
			return 9
		}
		if n == 1 {
			switch how {
			case "drops":
				continue
			case "stops":
				return 0
			case "crashes":
				return 2
			case "swaps":
				row.ID = "0"
			}
		}
		tags, guard := `[]`, "allow"
		if strings.HasPrefix(row.Cmd, "rm") {
			tags, guard = `["deletes"]`, "block"
		}
		fmt.Printf(`{"id":%q,"tags":%s,"guard":%q}`+"\n", row.ID, tags, guard)
	}
	return 0
}

func judgeAs(t *testing.T, how string) (column, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "commands.txt")
	if err := os.WriteFile(file, []byte("ls\nrm -rf /\necho\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(role, how)
	return judge(file, os.Args[0])
}

func TestJudgeCounts(t *testing.T) {
	c, err := judgeAs(t, "well")
	if err != nil {
		t.Fatal(err)
	}
	for row, want := range map[string]int{rowCommands: 3, rowNone: 2, "deletes": 1, rowBlocked: 1} {
		if c.counts[row] != want {
			t.Errorf("%s: got %d, want %d", row, c.counts[row], want)
		}
	}
}

func TestJudgeFailsOnAMissingAnswer(t *testing.T) {
	for _, how := range []string{"drops", "stops", "crashes", "swaps"} {
		if c, err := judgeAs(t, how); err == nil {
			t.Errorf("%s: got %v and no error", how, c.counts)
		}
	}
}
