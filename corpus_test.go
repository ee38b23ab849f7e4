package sbx_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/guard"
	"github.com/sbx-run/sbx/shell"
)

// labelledRow is one labelled command: the tags that are required, those that
// are allowed, those of which one must be there, and guard's verdict.
type labelledRow struct {
	ID    string   `json:"id"`
	Cmd   string   `json:"cmd"`
	Tags  []string `json:"tags"`
	Maybe []string `json:"maybe"`
	Any   []string `json:"any"`
	Guard string   `json:"guard"`
}

// score is what testdata/corpus/score.json holds for each file: the numbers
// may only rise, those of guard only fall.
type score struct {
	Rows        int     `json:"rows"`
	Right       int     `json:"right"`
	GuardMissed int     `json:"guard_missed"`
	GuardWrong  int     `json:"guard_wrong"`
	Precision   float64 `json:"lowest_precision"` // of any tag
	Recall      float64 `json:"lowest_recall"`
}

// TestCorpusScore reads every labelled command and compares tags and verdict.
func TestCorpusScore(t *testing.T) {
	data, err := os.ReadFile("testdata/corpus/score.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]score
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if len(want) == 0 {
		t.Fatal("score.json names no file")
	}
	for file, floor := range want {
		t.Run(file, func(t *testing.T) {
			got := scoreOf(t, readLabelled(t, "testdata/corpus/"+file))
			t.Logf("%d of %d rows right; guard missed %d, wrong %d; lowest precision %.3f, recall %.3f",
				got.Right, got.Rows, got.GuardMissed, got.GuardWrong, got.Precision, got.Recall)
			if got.Rows < floor.Rows || got.Right < floor.Right || got.GuardMissed > floor.GuardMissed || got.GuardWrong > floor.GuardWrong ||
				got.Precision < floor.Precision || got.Recall < floor.Recall {
				t.Errorf("worse than the score that is kept: %+v", floor)
			}
			if got.Right > floor.Right || got.GuardMissed < floor.GuardMissed || got.GuardWrong < floor.GuardWrong {
				t.Logf("better than the score that is kept: raise it")
			}
		})
	}
}

func readLabelled(t *testing.T, name string) []labelledRow {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var rows []labelledRow
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var r labelledRow
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

// hits counts one tag: rows where it was right, spurious, missing.
type hits struct{ right, spurious, missing int }

func scoreOf(t *testing.T, rows []labelledRow) score {
	t.Helper()
	here := shell.Where{Cwd: "/home/dev/app", Workspace: "/home/dev/app", Home: "/home/dev", User: "dev"}
	s := score{Rows: len(rows), Precision: 1, Recall: 1}
	per := map[classify.Tags]*hits{}
	for _, tag := range classify.All() {
		per[tag] = &hits{}
	}
	for _, r := range rows {
		script := shell.ParseAt(r.Cmd, shell.Bash, here)
		got, _ := classify.Classify(script)
		blocked := len(guard.Check(script)) > 0
		want, anyOf := tagSet(t, r.Tags), tagSet(t, r.Any)
		allowed := want | anyOf | tagSet(t, r.Maybe)
		for tag, h := range per {
			switch {
			case want&tag != 0 && got&tag != 0:
				h.right++
			case want&tag != 0:
				h.missing++
			case got&tag&^allowed != 0:
				h.spurious++
			}
		}
		if want&^got == 0 && got&^allowed == 0 && (anyOf == 0 || anyOf&got != 0) {
			s.Right++
		} else {
			t.Logf("%s: missing [%v] spurious [%v] %q", r.ID, want&^got, got&^allowed, r.Cmd)
		}
		switch {
		case r.Guard == "block" && !blocked:
			s.GuardMissed++
			t.Logf("%s: guard allows %q", r.ID, r.Cmd)
		case r.Guard == "allow" && blocked:
			s.GuardWrong++
			t.Logf("%s: guard blocks %q", r.ID, r.Cmd)
		}
	}
	for _, tag := range classify.All() {
		h := per[tag]
		precision, recall := ratio(h.right, h.spurious), ratio(h.right, h.missing)
		s.Precision, s.Recall = min(s.Precision, precision), min(s.Recall, recall)
		t.Logf("%-15s right %4d spurious %3d missing %3d  P %.3f R %.3f", tag, h.right, h.spurious, h.missing, precision, recall)
	}
	return s
}

func ratio(right, wrong int) float64 {
	if right+wrong == 0 {
		return 1
	}
	return float64(right) / float64(right+wrong)
}

func tagSet(t *testing.T, names []string) classify.Tags {
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
