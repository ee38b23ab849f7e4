package probes

import (
	"slices"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
)

func TestDecide(t *testing.T) {
	yes, no, dark := observation{ran: true, open: true}, observation{ran: true}, observation{detail: "gone"}
	gap := []sandbox.Gap{{Control: sandbox.Signals, Why: "no scope"}}
	other := []sandbox.Gap{{Control: sandbox.Loopback}}
	blocked := Row{Controls: []sandbox.Control{sandbox.Signals}}
	works := Row{Want: Works, Controls: []sandbox.Control{sandbox.Signals}}
	alone := Row{NoControl: "a reason"}
	tests := []struct {
		name            string
		row             Row
		control, inside observation
		gaps            []sandbox.Gap
		want            Status
	}{
		{"blocked, and refused", blocked, yes, no, nil, Held},
		{"blocked, and refused although a gap is named", blocked, yes, no, gap, Held},
		{"blocked, and open", blocked, yes, yes, nil, NotHeld},
		{"blocked, and open with its gap", blocked, yes, yes, gap, GapNamed},
		{"blocked, and open with another gap", blocked, yes, yes, other, NotHeld},
		{"blocked, and refused without a sandbox too", blocked, no, no, nil, NotTried},
		{"blocked, and the control did not run", blocked, dark, no, nil, NotTried},
		{"blocked, and nothing ran inside", blocked, yes, dark, nil, NotTried},
		{"works", works, yes, yes, nil, Held},
		{"does not work", works, yes, no, nil, NotHeld},
		{"does not work, with its gap", works, yes, no, gap, GapNamed},
		{"works nowhere", works, no, no, nil, NotTried},
		{"nothing runs", works, yes, dark, nil, NotHeld},
		{"refused, and it was to work", works, yes, observation{none: true}, nil, NotTried},
		{"refused, and it was to work, with its gap", works, yes, observation{none: true}, gap, NotTried},
		{"refused, and it was to be blocked", blocked, yes, observation{none: true}, nil, NotTried},
		{"no control is needed, and refused", alone, observation{}, no, nil, Held},
		{"no control is needed, and open", alone, observation{}, yes, nil, NotHeld},
		{"no control to name, and open", Row{}, yes, yes, gap, NotHeld},
		{"the runner is at fault", works, yes, observation{trouble: "no space"}, nil, NotTried},
	}
	for _, tt := range tests {
		if got := decide(tt.row, tt.control, tt.inside, tt.gaps); got.Status != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got.Status, tt.want)
		}
	}
}

// Every row says how in one way, has a name of its own and something to say.
func TestRowsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range Rows() {
		ways := 0
		for _, given := range []bool{len(row.Act) > 0, row.Shell != "", len(row.Procedure) > 0, row.Beyond != ""} {
			if given {
				ways++
			}
		}
		if ways != 1 {
			t.Errorf("%s: %d ways", row.ID, ways)
		}
		if row.Try == "" || row.Group == "" || seen[row.ID] {
			t.Errorf("%s: no sentence, no group, or twice", row.ID)
		}
		seen[row.ID] = true
		for _, c := range row.Controls {
			if !slices.Contains(sandbox.Controls(), c) {
				t.Errorf("%s: no control %q", row.ID, c)
			}
		}
	}
	for _, c := range sandbox.Controls() {
		if c == sandbox.MountsLate { // a row would mount on the host: sandbox/under tests it in a namespace
			continue
		}
		if !slices.ContainsFunc(Rows(), func(r Row) bool { return first(r.Controls) == c && r.Beyond == "" }) {
			t.Errorf("no row tests %s", c)
		}
	}
}

func TestMeans(t *testing.T) {
	for _, tt := range []struct {
		given, id string
		want      bool
	}{
		{"P09", "P09a", true},
		{"p09b", "P09b", true},
		{"P09b", "P09a", false},
		{"P0", "P01", false},
		{"P1", "P12", false},
	} {
		if got := means(tt.given, tt.id); got != tt.want {
			t.Errorf("%s means %s: %v", tt.given, tt.id, got)
		}
	}
}

func TestSummaryAndMatrix(t *testing.T) {
	r := Report{
		Backend: "x", Tier: "y", Enforced: []sandbox.Control{sandbox.Signals},
		Gaps:   []sandbox.Gap{{Control: sandbox.Loopback, Why: "none"}},
		Counts: map[Status]int{Held: 1, NotHeld: 1, GapNamed: 1},
		Outcomes: []Outcome{
			{ID: "1", Controls: []sandbox.Control{sandbox.Signals}, Status: Held, Want: "blocked", Observed: "EPERM"},
			{ID: "2", Controls: []sandbox.Control{sandbox.Signals}, Status: NotHeld, Observed: "a|b"},
			{ID: "3", Controls: []sandbox.Control{sandbox.Loopback}, Status: GapNamed, Gap: sandbox.Loopback},
		},
	}
	if want := "x (tier y): 1 held, 1 not held, 1 open with their gap named, 0 could not be tried, 0 not applicable"; r.Summary() != want {
		t.Errorf("summary %q", r.Summary())
	}
	for _, want := range []string{"signals   wanted     enforced  NOT HELD (1 of 2 open)", "loopback  wanted     gap       gap named (1 of 1 open)"} {
		if !strings.Contains(r.Table(), want) {
			t.Errorf("no %q in\n%s", want, r.Table())
		}
	}
	for _, want := range []string{"| signals | NOT HELD (1 of 2 open) |", "**NOT HELD**: a\\|b |", "held: EPERM", "gap loopback"} {
		if text := Markdown([]Report{r}); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if !r.Failed() {
		t.Error("what is not held is no failure")
	}
}
