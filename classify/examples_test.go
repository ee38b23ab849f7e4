package classify_test

import (
	"testing"

	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/shell"
)

// TestExamples has each rule prove itself.
func TestExamples(t *testing.T) {
	where := shell.Where{Cwd: "/home/ann/app", Home: "/home/ann", User: "ann"}
	finds := func(text, id string) bool {
		_, found := classify.Classify(shell.ParseAt(text, shell.Bash, where))
		for _, f := range found {
			if f.Rule == id {
				return true
			}
		}
		return false
	}
	for _, r := range classify.Rules() {
		if r.Match == "" || r.Spare == "" {
			t.Errorf("%s: it has no examples", r.ID)
			continue
		}
		if !finds(r.Match, r.ID) {
			_, found := classify.Classify(shell.ParseAt(r.Match, shell.Bash, where))
			t.Errorf("%s does not find %q: %+v", r.ID, r.Match, found)
		}
		if finds(r.Spare, r.ID) {
			t.Errorf("%s finds %q", r.ID, r.Spare)
		}
	}
}

// TestEveryFindingHasARule reads every command there is.
func TestEveryFindingHasARule(t *testing.T) {
	known := map[string]classify.Rule{}
	for _, r := range classify.Rules() {
		known[r.ID] = r
	}
	used := map[string]bool{}
	for _, text := range everyCommand(t) {
		_, found := classify.Classify(shell.ParseAt(text, shell.Bash, here))
		for _, f := range found {
			r, ok := known[f.Rule]
			if !ok || r.Tag != f.Tag.String() || r.Why != f.Why {
				t.Errorf("%q: finding %+v, rule %+v", text, f, r)
			}
			used[f.Rule] = true
		}
	}
	for id := range known {
		if !used[id] {
			t.Errorf("no command of the corpora and cases is found by %s", id)
		}
	}
}
