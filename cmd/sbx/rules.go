package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/guard"
)

const rulesHelp = `sbx rules: every rule that commands are read by.

  sbx rules                     one line each
  sbx rules delete-system       one rule, with examples
  sbx rules network             the rules of a tag
  sbx rules --json | jq '.[].id'

A rule of guard refuses the command, a rule of a tag says what is risky about it.
Each has an example that it matches, and a look-alike that it spares.

  --json            print a list of objects
  --markdown        print docs/rules.md
`

// ruleRow is a rule of guard or of a tag.
type ruleRow struct {
	ID      string `json:"id"`
	Tag     string `json:"tag,omitempty"` // "" for a rule of guard, which refuses
	Refuses bool   `json:"refuses"`
	Reason  string `json:"reason"`
	Instead string `json:"instead,omitempty"`
	Match   string `json:"match"`
	Spare   string `json:"spare"`
}

// allRules lists guard's rules, then those of the tags. Several rows of guard
// share an ID.
func allRules() []ruleRow {
	var rows []ruleRow
	for _, r := range guard.Rules() {
		rows = append(rows, ruleRow{ID: r.ID, Refuses: true, Reason: r.Reason, Instead: r.Instead, Match: r.Match, Spare: r.Spare})
	}
	for _, r := range classify.Rules() {
		rows = append(rows, ruleRow{ID: r.ID, Tag: r.Tag, Reason: r.Why, Match: r.Match, Spare: r.Spare})
	}
	return rows
}

// rulesCommand is sbx rules.
func rulesCommand(s *streams, args []string) int {
	f := newFlags("rules")
	asJSON := f.Bool("json", false, "")
	asMarkdown := f.Bool("markdown", false, "")
	err := f.parse(args)
	if errors.Is(err, errHelp) {
		s.help(rulesHelp)
		return exitOK
	}
	rows := allRules()
	words := append(f.operands, f.after...)
	switch {
	case err != nil:
	case *asJSON && *asMarkdown:
		err = usage("--json and --markdown: want one of them", "")
	case len(words) > 1:
		err = usage("more than one rule", "sbx rules "+words[0])
	case len(words) == 1:
		rows, err = named(rows, words[0])
	}
	if err == nil {
		err = printRules(s.out, rows, *asJSON, *asMarkdown, len(words) == 1)
	}
	if err != nil {
		s.fail(err)
		return exitUsage
	}
	return exitOK
}

// named are the rules of an ID or of a tag.
func named(rows []ruleRow, name string) ([]ruleRow, error) {
	var names []string
	for _, r := range rows {
		names = append(names, r.ID, r.Tag)
	}
	rows = slices.DeleteFunc(rows, func(r ruleRow) bool { return r.ID != name && (r.Tag != name || r.Refuses) })
	if len(rows) > 0 {
		return rows, nil
	}
	return nil, usage("no rule "+quote(name), meant(name, names, "sbx rules ", "sbx rules lists them"))
}

func printRules(w io.Writer, rows []ruleRow, asJSON, asMarkdown, examples bool) error {
	switch {
	case asJSON:
		return writeJSON(w, rows)
	case asMarkdown:
		_, err := io.WriteString(w, rulesMarkdown(rows))
		return err
	}
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%-21s %-15s %s\n", r.ID, r.effect(), r.Reason)
		if examples {
			if r.Instead != "" {
				fmt.Fprintf(&b, "    instead  %s\n", r.Instead)
			}
			fmt.Fprintf(&b, "    matches  %s\n    spares   %s\n", r.Match, r.Spare)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r ruleRow) effect() string {
	if r.Refuses {
		return "refused"
	}
	return r.Tag
}

// rulesMarkdown is docs/rules.md.
func rulesMarkdown(rows []ruleRow) string {
	var b strings.Builder
	b.WriteString(`# Rules

Printed by ` + "`sbx rules --markdown`" + `; a test holds that every example is right.

Tags and findings are advice; what guard refuses does not run. Neither is a boundary: that is the sandbox.

## Refused by guard

An owner lifts one for a single object in the configuration, see [configuration](configuration.md).

`)
	tag := ""
	for i, r := range rows {
		if r.Tag != tag || i == 0 {
			if tag = r.Tag; tag != "" {
				name, _ := classify.Parse(tag)
				fmt.Fprintf(&b, "\n## Tag `%s`: %s\n\n", tag, name.Label(classify.English))
			}
			b.WriteString("| rule | reason | matches | spares |\n| --- | --- | --- | --- |\n")
		}
		reason := r.Reason
		if r.Instead != "" {
			reason += ". Instead: " + r.Instead
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.ID, cell(reason), code(r.Match), code(r.Spare))
	}
	return b.String()
}

// cell escapes what would end a cell of a table or begin a tag.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(text)
}

// code is a code span; two backticks hold one.
func code(text string) string {
	fence := "`"
	if strings.Contains(text, "`") {
		fence = "``"
	}
	return fence + strings.ReplaceAll(text, "|", `\|`) + fence
}
