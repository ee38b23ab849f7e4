package classify_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/shell"
)

// here is where every row of the corpus runs.
var here = shell.Where{Cwd: "/home/dev/app", Workspace: "/home/dev/app", Home: "/home/dev", User: "dev"}

type row struct {
	ID    string   `json:"id"`
	Cmd   string   `json:"cmd"`
	Tags  []string `json:"tags"`
	Maybe []string `json:"maybe"`
	Any   []string `json:"any"`
}

func set(t *testing.T, names []string) classify.Tags {
	t.Helper()
	var tags classify.Tags
	for _, n := range names {
		tag, ok := classify.Parse(n)
		if !ok {
			t.Fatalf("unknown tag %q", n)
		}
		tags |= tag
	}
	return tags
}

func readCorpus(t *testing.T, name string) []row {
	t.Helper()
	data, err := os.ReadFile("../testdata/corpus/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var r row
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

// TestCorpus scores the tags by the rules of the corpus: a row is right when
// every required tag is there and none but the allowed ones.
func TestCorpus(t *testing.T) {
	for _, f := range []struct {
		name string
		rows int // lower bound of rows that are right; may only rise
	}{{"public.jsonl", 1110}, {"bypass.jsonl", 113}} {
		rows := readCorpus(t, f.name)
		right := 0
		for _, r := range rows {
			want := set(t, r.Tags)
			anyOf := set(t, r.Any)
			allowed := want | set(t, r.Maybe) | anyOf
			got, found := classify.Classify(shell.ParseAt(r.Cmd, shell.Bash, here))
			checkFindings(t, r.Cmd, got, found)
			if want&^got == 0 && got&^allowed == 0 && (anyOf == 0 || anyOf&got != 0) {
				right++
				continue
			}
			t.Logf("%s missing [%v] spurious [%v] %q", r.ID, want&^got, got&^allowed, r.Cmd)
		}
		t.Logf("%s: %d of %d rows right", f.name, right, len(rows))
		if right < f.rows {
			t.Errorf("%s: %d rows right, want at least %d", f.name, right, f.rows)
		}
	}
}

// checkFindings holds what every result promises.
func checkFindings(t *testing.T, cmd string, tags classify.Tags, found []classify.Finding) {
	t.Helper()
	var all classify.Tags
	for i, f := range found {
		all |= f.Tag
		if f.Rule == "" || f.Why == "" || f.Span.Start < 0 || f.Span.End > len(cmd) || f.Span.Start > f.Span.End {
			t.Errorf("%q: finding %+v is not complete", cmd, f)
		}
		if i > 0 && found[i-1].Span.Start > f.Span.Start {
			t.Errorf("%q: findings are out of order", cmd)
		}
	}
	if all != tags {
		t.Errorf("%q: findings say %v, tags %v", cmd, all, tags)
	}
}

func Example() {
	tags, found := classify.Classify(shell.ParseAt("sudo rm -rf /tmp/x", shell.Bash, here))
	fmt.Println(tags)
	for _, f := range found {
		fmt.Println(strings.Join(f.Tag.Names(), ""), f.Rule, f.Words)
	}
	// Output:
	// deletes,elevated,writes_outside
	// elevated elevate sudo rm -rf /tmp/x
	// deletes delete-files rm -rf /tmp/x
	// writes_outside write-outside /tmp/x
}
