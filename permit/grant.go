// Package permit is the permission gate: whether a call that could be run may
// run. A grant covers exactly the risks that a person looked at; a harmless call
// needs none; once content from outside has entered a run, earlier answers no
// longer count.
//
// The core is pure: Decide is a function of the call, what is remembered and
// what the policies said. Nothing here confines anything.
package permit

import (
	"slices"
	"strings"
)

// Everything is the grant of every tool with every risk.
const Everything = "*"

// The words behind the colon of a grant that are no risks.
const (
	anyRisk = "any"
	noRisk  = "none"
)

// Grant is what a person allowed: a tool, with the risks that were looked at. In
// a configuration it is a text:
//
//   - every tool, every risk
//     bash, bash:any          every call of the tool
//     bash:none               calls that flag no risk
//     bash:deletes+network    calls that flag no others
//
// A word that is no known risk is kept, and matches nothing: a configuration of
// a newer version loses nothing, and grants nothing that this one does not know.
type Grant struct {
	Tool  string
	Any   bool
	Risks []string // sorted, each once
}

// ParseGrant reads the text of a grant. Every text is one.
func ParseGrant(text string) Grant {
	if text == Everything {
		return Grant{Tool: Everything, Any: true}
	}
	tool, risks, limited := strings.Cut(text, ":")
	if !limited || risks == anyRisk {
		return Grant{Tool: tool, Any: true}
	}
	if risks == noRisk {
		return Grant{Tool: tool}
	}
	return Grant{Tool: tool, Risks: set(strings.Split(risks, "+"))}
}

// GrantFor is the grant of one call: its tool and the risks it flags.
func GrantFor(tool string, risks []string) Grant { return Grant{Tool: tool, Risks: set(risks)} }

// set sorts words and leaves out empty and repeated ones.
func set(words []string) []string {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" })
	slices.Sort(words)
	return slices.Compact(words)
}

// String is the text of a grant.
func (g Grant) String() string {
	switch {
	case g.everything():
		return Everything
	case g.Any:
		return g.Tool + ":" + anyRisk
	case len(g.Risks) == 0:
		return g.Tool + ":" + noRisk
	}
	return g.Tool + ":" + strings.Join(g.Risks, "+")
}

func (g Grant) everything() bool { return g.Tool == Everything && g.Any }

// Covers says whether one of the grants allows a call of the tool with these
// risks. Two grants are never added up: that is what Merge is for.
func Covers(grants []string, tool string, risks []string) bool {
	return slices.ContainsFunc(grants, func(text string) bool {
		g := ParseGrant(text)
		return g.everything() || g.covers(tool, risks)
	})
}

// covers leaves "*" out.
func (g Grant) covers(tool string, risks []string) bool {
	if g.Tool != tool || g.everything() {
		return false
	}
	return g.Any || !slices.ContainsFunc(risks, func(r string) bool { return !slices.Contains(g.Risks, r) })
}

// Merge adds a grant to a list. All entries of its tool become one at the end of
// the list; nothing that was granted is lost. The list is not changed.
func Merge(grants []string, g Grant) []string {
	if slices.Contains(grants, Everything) {
		return slices.Clone(grants)
	}
	if g.everything() {
		return append(slices.Clone(grants), Everything)
	}
	kept := make([]string, 0, len(grants)+1)
	for _, text := range grants {
		have := ParseGrant(text)
		if have.Tool != g.Tool {
			kept = append(kept, text)
			continue
		}
		g = Grant{Tool: g.Tool, Any: g.Any || have.Any, Risks: set(append(slices.Clone(g.Risks), have.Risks...))}
	}
	if g.Any {
		g.Risks = nil
	}
	return append(kept, g.String())
}

// MergeAll is Merge for several grants.
func MergeAll(grants []string, more []Grant) []string {
	for _, g := range more {
		grants = Merge(grants, g)
	}
	return grants
}

// Clear takes grants away: all forms of a bare tool, or the one text that is
// given. It returns what is left and what was taken.
func Clear(grants []string, what string) (left, taken []string) {
	bare := !strings.Contains(what, ":") && what != Everything
	want := ParseGrant(what)
	for _, text := range grants {
		have := ParseGrant(text)
		if text == what || bare && have.Tool == what && !have.everything() || !bare && have.String() == want.String() {
			taken = append(taken, text)
		} else {
			left = append(left, text)
		}
	}
	return left, taken
}

// Describe says a grant to a person. label names a risk; it may return "" for
// one that it does not know.
func (g Grant) Describe(label func(risk string) string) string {
	switch {
	case g.everything():
		return "every tool, every risk"
	case g.Any:
		return g.Tool + ": anything"
	case len(g.Risks) == 0:
		return g.Tool + ": only calls that flag no risk"
	}
	return g.Tool + ": " + labels(g.Risks, label)
}

func labels(risks []string, label func(string) string) string {
	words := make([]string, len(risks))
	for i, r := range risks {
		if words[i] = label(r); words[i] == "" {
			words[i] = r
		}
	}
	return strings.Join(words, ", ")
}
