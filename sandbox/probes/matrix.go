package probes

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sbx-run/sbx/sandbox"
)

// Line is what a matrix says about one control of a backend.
type Line struct {
	Control   sandbox.Control `json:"control"`
	Requested string          `json:"requested"` // "required" or "wanted"
	Promised  string          `json:"promised"`  // "enforced", "gap", or "" where the plan is silent
	Observed  Status          `json:"observed"`
	Held      int             `json:"held"`
	Open      int             `json:"open"` // named or not
	Untried   int             `json:"untried"`
	Why       string          `json:"why,omitempty"` // of the gap
}

// Lines sums up the rows of a report by control, in the order of the contract.
// Rows that test no control are under the empty one: what every backend owes.
func (r Report) Lines() []Line {
	var lines []Line
	for _, c := range append(sandbox.Controls(), "") {
		l := Line{Control: c, Requested: "wanted", Promised: r.promise(c), Why: whyGap(c, r.Gaps)}
		if c == "" || slices.Contains(sandbox.DefaultRequired(), c) {
			l.Requested = "required"
		}
		named, not := 0, 0
		for _, o := range r.Outcomes {
			if first(o.Controls) != c {
				continue
			}
			switch o.Status {
			case Held:
				l.Held++
			case GapNamed:
				named++
			case NotHeld:
				not++
			case NotTried:
				l.Untried++
			}
		}
		l.Open = named + not
		switch {
		case not > 0:
			l.Observed = NotHeld
		case named > 0:
			l.Observed = GapNamed
		case l.Held > 0:
			l.Observed = Held
		case l.Untried > 0:
			l.Observed = NotTried
		default:
			continue // no row
		}
		lines = append(lines, l)
	}
	return lines
}

func first(list []sandbox.Control) sandbox.Control {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

func (r Report) promise(c sandbox.Control) string {
	switch {
	case slices.Contains(r.Enforced, c):
		return "enforced"
	case namedGap([]sandbox.Control{c}, r.Gaps) != "":
		return "gap"
	}
	return ""
}

// Name is the backend and its tier.
func (r Report) Name() string {
	if r.Tier == "" {
		return r.Backend
	}
	return r.Backend + " (tier " + r.Tier + ")"
}

// Summary is one sentence.
func (r Report) Summary() string {
	return fmt.Sprintf("%s: %d held, %d not held, %d open with their gap named, %d could not be tried, %d not applicable",
		r.Name(), r.Counts[Held], r.Counts[NotHeld], r.Counts[GapNamed], r.Counts[NotTried], r.Counts[NotApplicable])
}

// controlName is what people read.
func controlName(c sandbox.Control) string {
	if c == "" {
		return "work goes on"
	}
	return string(c)
}

// observed is a status with its figures: "held (12 of 14)".
func (l Line) observed() string {
	tried := l.Held + l.Open
	text := string(l.Observed)
	switch {
	case l.Observed == NotTried:
		return fmt.Sprintf("%s (%d)", text, l.Untried)
	case l.Open > 0:
		return fmt.Sprintf("%s (%d of %d open)", text, l.Open, tried)
	}
	return fmt.Sprintf("%s (%d)", text, tried)
}

// Table is the matrix of one report as text.
func (r Report) Table() string {
	rows := [][]string{{"CONTROL", "REQUESTED", "PROMISED", "OBSERVED"}}
	for _, l := range r.Lines() {
		rows = append(rows, []string{controlName(l.Control), l.Requested, dash(l.Promised), l.observed()})
	}
	return columns(rows)
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func columns(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Compare is the matrix of several reports as text.
func Compare(reports []Report) string {
	rows := [][]string{{"CONTROL"}}
	for _, r := range reports {
		rows[0] = append(rows[0], r.Name())
	}
	for _, c := range append(sandbox.Controls(), "") {
		row, any := []string{controlName(c)}, false
		for _, r := range reports {
			cell := "-"
			for _, l := range r.Lines() {
				if l.Control == c {
					cell, any = l.observed(), true
				}
			}
			row = append(row, cell)
		}
		if any {
			rows = append(rows, row)
		}
	}
	return columns(rows)
}

// Markdown is what docs/backends.md holds: a matrix by control, then every row.
func Markdown(reports []Report) string {
	var b strings.Builder
	header := func(first ...string) {
		for _, r := range reports {
			first = append(first, r.Name()+", "+r.User)
		}
		fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(first, " | "), strings.Repeat(" --- |", len(first)))
	}
	header("Control")
	for _, c := range append(sandbox.Controls(), "") {
		var cells []string
		any := false
		for _, r := range reports {
			cell := "-"
			for _, l := range r.Lines() {
				if l.Control == c {
					cell, any = l.observed(), true
				}
			}
			cells = append(cells, cell)
		}
		if any {
			fmt.Fprintf(&b, "| %s | %s |\n", controlName(c), strings.Join(cells, " | "))
		}
	}
	b.WriteString("\n## Gaps\n\n")
	for _, r := range reports {
		if len(r.Enforced) == 0 {
			continue // nothing but gaps
		}
		for _, g := range r.Gaps {
			fmt.Fprintf(&b, "- %s, %s, `%s`: %s\n", r.Name(), r.User, g.Control, cellText(g.Why))
		}
	}
	b.WriteString("\n## Every probe\n\n")
	header("", "What is tried", "Wanted")
	for i, o := range reports[0].Outcomes {
		fmt.Fprintf(&b, "| %s | %s | %s |", o.ID, cellText(o.Try), o.Want)
		for _, r := range reports {
			fmt.Fprintf(&b, " %s |", cellText(r.Outcomes[i].short()))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// short is the cell of one row.
func (o Outcome) short() string {
	switch o.Status {
	case GapNamed:
		return "gap " + string(o.Gap)
	case NotHeld:
		return "**" + string(o.Status) + "**: " + o.Observed
	case NotTried, NotApplicable:
		return string(o.Status)
	}
	if o.Want == "works" || o.Observed == "" {
		return "held"
	}
	return "held: " + o.Observed
}

func cellText(text string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "`", "'", "<", "&lt;").Replace(text)
}
