package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/shell"
)

// screen writes a report for people: the command with the responsible words
// underlined, then one line for each finding.
type screen struct {
	strings.Builder
	color   bool
	lang    classify.Language
	explain bool
}

// screenFor is the screen of this terminal and this locale.
func screenFor(out *os.File, explain bool) *screen {
	return &screen{color: colored(out, os.Getenv), lang: language(os.Getenv), explain: explain}
}

// colored follows no-color.org; a file or a pipe gets no colour either.
func colored(out *os.File, getenv func(string) string) bool {
	return getenv("NO_COLOR") == "" && getenv("TERM") != "dumb" && isTerminal(out)
}

// language is that of messages, by the rules of POSIX locales.
func language(getenv func(string) string) classify.Language {
	return classify.LanguageOf(cmp.Or(getenv("LC_ALL"), getenv("LC_MESSAGES"), getenv("LANG")))
}

// style is the parameter of an SGR sequence (ECMA-48).
type style string

const (
	red    style = "1;31"
	yellow style = "33"
	green  style = "32"
	faint  style = "2"
)

func (s *screen) paint(how style, text string) string {
	if !s.color || text == "" {
		return text
	}
	return "\x1b[" + string(how) + "m" + text + "\x1b[0m"
}

// report writes a whole report with the verdict at its end.
func (s *screen) report(r sbx.Report) {
	s.command(r)
	for _, f := range r.Followed {
		s.script(r, f)
	}
	fmt.Fprintf(s, "tags: %s\n", r.Tags)
	refusals := r.Refusals()
	if len(refusals) == 0 {
		fmt.Fprintf(s, "guard: %s\n", s.paint(green, "allow"))
	}
	for _, v := range refusals {
		place := ""
		if v.Path != "" {
			place = visible(v.Place()) + ": "
		}
		fmt.Fprintf(s, "guard: %s (%s): %s%s\n", s.paint(red, "block"), visible(v.Rule), place, visible(v.Reason))
		if v.Instead != "" {
			fmt.Fprintf(s, "instead: %s\n", visible(v.Instead))
		}
	}
	for _, u := range r.AllAllowed() {
		fmt.Fprintf(s, "allowed by configuration: %s (%s): %s\n", visible(u.Object), visible(u.Rule), visible(u.Reason))
	}
}

// script writes what was found in a script that the command runs.
func (s *screen) script(by sbx.Report, f sbx.Followed) {
	at := by.Script.Pos(by.Script.Calls[f.Call].Span.Start)
	if !strings.HasSuffix(s.String(), "\n\n") {
		s.WriteByte('\n')
	}
	if f.Skipped != "" {
		fmt.Fprintf(s, "%s, run at %d:%d: not read: %s\n\n", visible(f.Path), at.Line, at.Column, visible(f.Skipped))
		return
	}
	if len(f.Report.Findings) > 0 || len(f.Report.Violations) > 0 {
		fmt.Fprintf(s, "%s, run at %d:%d:\n", visible(f.Path), at.Line, at.Column)
		s.command(f.Report)
	}
	for _, inner := range f.Report.Followed {
		s.script(f.Report, inner)
	}
}

// command writes one text, its marks and its rows.
func (s *screen) command(r sbx.Report) {
	printMarked(s, r.Script.Text, s.marks(r), s.paint)
	if rows := s.rows(r); len(rows) > 0 {
		s.WriteByte('\n')
		s.table(rows)
		s.WriteByte('\n')
	}
}

// marks are the spans that something was found in, labelled with the names on
// the wire. What is said of the same span stands on one line.
func (s *screen) marks(r sbx.Report) []mark {
	var marks []mark
	at := map[shell.Span]int{}
	add := func(span shell.Span, label string, how style) {
		if i, ok := at[span]; !ok {
			at[span] = len(marks)
			marks = append(marks, mark{span, label, how})
		} else if !slices.Contains(strings.Split(marks[i].label, ", "), label) {
			marks[i].label += ", " + label
		}
	}
	for _, v := range r.Violations {
		add(v.Span, "refused", red)
	}
	for _, f := range r.Findings {
		add(f.Span, f.Tag.String(), yellow)
	}
	for _, u := range r.Script.Unknown {
		add(u.Span, classify.UnknownTag.String(), yellow)
	}
	slices.SortStableFunc(marks, func(a, b mark) int {
		return cmp.Or(a.span.Start-b.span.Start, b.span.End-a.span.End)
	})
	return marks
}

// row is one finding or violation.
type row struct {
	at                shell.Pos
	label, words, why string
	how               style
	rule              string
	explain           sbx.Explanation
}

func (s *screen) rows(r sbx.Report) []row {
	var rows []row
	for _, v := range r.Violations {
		this := row{at: r.Script.Pos(v.Span.Start), label: "refused", words: v.Words, why: v.Reason, how: red, rule: v.Rule}
		if s.explain {
			this.explain = r.ExplainViolation(v)
		}
		rows = append(rows, this)
	}
	for _, f := range r.Findings {
		this := row{at: r.Script.Pos(f.Span.Start), label: f.Tag.Label(s.lang), words: f.Words, why: f.Why, how: yellow, rule: f.Rule}
		if s.explain {
			this.explain = r.ExplainFinding(f)
		}
		rows = append(rows, this)
	}
	return rows
}

// maxColumn bounds the words of a row, in columns; the mark shows the rest.
const maxColumn = 40

func (s *screen) table(rows []row) {
	places, labels, words := 0, 0, 0
	several := slices.ContainsFunc(rows, func(r row) bool { return r.at.Line != rows[0].at.Line || r.at.Line > 1 })
	for i := range rows {
		r := &rows[i]
		r.words = clipColumns(r.words, maxColumn)
		labels, words = max(labels, width(r.label)), max(words, width(r.words))
		if several {
			places = max(places, len(place(r.at)))
		}
	}
	for _, r := range rows {
		s.WriteString("  ")
		if several {
			s.WriteString(s.paint(faint, pad(place(r.at), places)) + "  ")
		}
		s.WriteString(s.paint(r.how, pad(r.label, labels)) + "   ")
		if words > 0 {
			s.WriteString(pad(r.words, words) + "   ")
		}
		s.WriteString(visible(r.why) + "\n")
		if s.explain {
			s.explained(r)
		}
	}
}

// explained writes how sbx came to a row.
func (s *screen) explained(r row) {
	e := r.explain
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(s, "      %s %s\n", s.paint(faint, pad(name, 4)), visible(value))
		}
	}
	line("rule", r.rule)
	if len(e.Chain) > 1 {
		line("via", strings.Join(e.Chain, " → "))
	}
	line("argv", strings.Join(e.Argv, " "))
	line("path", strings.Join(e.Paths, ", "))
	var set []string
	for _, v := range e.Set {
		name := v.Name
		if name[0] >= '0' && name[0] <= '9' {
			name = "$" + name
		}
		set = append(set, name+" set at "+place(v.At))
	}
	line("from", strings.Join(set, ", "))
}

func place(p shell.Pos) string { return strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column) }

// pad fills the visible form of a text with blanks.
func pad(text string, columns int) string {
	return visible(text) + strings.Repeat(" ", max(0, columns-width(text)))
}

// clipColumns cuts a text to a number of columns, at a character.
func clipColumns(text string, columns int) string {
	text = oneLine(text)
	if width(text) <= columns {
		return text
	}
	end := 0
	for i := range text {
		if width(text[:i]) > columns-1 {
			break
		}
		end = i
	}
	return text[:end] + "…"
}
