package main

import (
	"strings"
	"testing"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/permit"
	"github.com/sbx-run/sbx/shell"
)

// Why a question is asked: for what was never permitted, for a policy, or because
// of content from outside; that grants were given apart only where it is so.
func TestNotes(t *testing.T) {
	const apart, never = "not together", "never permitted"
	for name, c := range map[string]struct {
		prompt    permit.Prompt
		says, not string
	}{
		"new":      {permit.Prompt{Risks: []string{"deletes"}, Labels: []string{"deletes files"}, Missing: []string{"deletes"}}, never + " so far: deletes files", apart},
		"apart":    {permit.Prompt{Risks: []string{"deletes", "network"}}, apart, never},
		"tainted":  {permit.Prompt{Risks: []string{"deletes"}, Taint: "Content from outside has entered."}, "careful: Content", apart},
		"policy":   {permit.Prompt{Risks: []string{"deletes"}, Policy: "who needs it?"}, "who needs it?", apart},
		"harmless": {permit.Prompt{}, "", never},
	} {
		q := sbx.Question{Report: sbx.Check(sbx.Request{Text: "true"}, shell.Where{})}
		q.Prompt = &c.prompt
		got := strings.Join(notes(q), "\n")
		if !strings.Contains(got, c.says) || strings.Contains(got, c.not) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
