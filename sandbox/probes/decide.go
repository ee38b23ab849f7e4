package probes

import (
	"fmt"
	"slices"

	"github.com/sbx-run/sbx/sandbox"
)

// observation is one try of a row, without a sandbox or inside.
type observation struct {
	ran    bool   // the act was reached; false: nothing can be concluded
	none   bool   // the backend refused: nothing was started
	open   bool   // blocked rows: it got through; works rows: it worked
	detail string // "EACCES", "changed $O/f", …
	// trouble is a failure of the runner, not of the backend.
	trouble string
}

func (o observation) String() string {
	switch {
	case o.trouble != "":
		return o.trouble
	case !o.ran:
		return "did not run: " + o.detail
	case o.detail == "" && o.open:
		return "succeeded"
	case o.detail == "":
		return "no effect"
	}
	return o.detail
}

// decide is pure. gaps are those of the plan the act ran under.
func decide(row Row, control, inside observation, gaps []sandbox.Gap) Outcome {
	o := outcome(row)
	o.Control, o.Observed = control.String(), inside.String()
	if row.NoControl != "" {
		o.Control = "none: " + row.NoControl
	} else if !control.ran || !control.open {
		o.Status, o.Why = NotTried, "without a sandbox it does not succeed either: "+control.String()
		o.Observed = ""
		return o
	}
	if inside.trouble != "" {
		o.Status, o.Why, o.Observed = NotTried, inside.trouble, ""
		return o
	}
	named := namedGap(row.Controls, gaps)
	fine := inside.ran && inside.open == (row.Want == Works)
	switch {
	case fine && named == "":
		o.Status = Held
	case fine:
		o.Status, o.Why = Held, fmt.Sprintf("although the gap %s is named", named)
	case inside.none && !inside.ran:
		// A backend that refuses breaks no work, and stops nothing either.
		o.Status, o.Refused, o.Why = NotTried, true, "nothing was started: "+inside.detail
	case !inside.ran && row.Want == Blocked:
		// Not evidence of anything, and a suite that shrugs here would pass on
		// a backend that runs nothing at all.
		o.Status, o.Why = NotTried, "the probe did not get as far as the act: "+inside.detail
	case named != "":
		o.Status, o.Gap, o.Why = GapNamed, named, whyGap(named, gaps)
	default:
		o.Status, o.Why = NotHeld, missing(row)
	}
	return o
}

func outcome(row Row) Outcome {
	want := "blocked"
	if row.Want == Works {
		want = "works"
	}
	return Outcome{ID: row.ID, Group: row.Group, Try: row.Try, Controls: row.Controls, Want: want}
}

func missing(row Row) string {
	if len(row.Controls) == 0 {
		return "every backend has to"
	}
	return fmt.Sprintf("no gap %s is named", row.Controls[0])
}

// namedGap returns the first control of the row that is a gap.
func namedGap(controls []sandbox.Control, gaps []sandbox.Gap) sandbox.Control {
	for _, c := range controls {
		if slices.ContainsFunc(gaps, func(g sandbox.Gap) bool { return g.Control == c }) {
			return c
		}
	}
	return ""
}

func whyGap(c sandbox.Control, gaps []sandbox.Gap) string {
	for _, g := range gaps {
		if g.Control == c {
			return g.Why
		}
	}
	return ""
}
