package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
)

// gapNames is the value of --accept-gap.
type gapNames []sandbox.Control

func (g *gapNames) String() string { return fmt.Sprint([]sandbox.Control(*g)) }
func (g *gapNames) Set(v string) error {
	if v == allGaps {
		*g = append(*g, allGaps)
		return nil
	}
	control, err := gapName(v)
	if err == nil {
		*g = append(*g, control)
	}
	return err
}

func gapName(v string) (sandbox.Control, error) {
	var names []string
	for _, known := range sandbox.Controls() {
		if string(known) == v {
			return known, nil
		}
		names = append(names, string(known))
	}
	return "", &hintedError{msg: "no such control", hint: meant(v, names, "", "the controls are: "+strings.Join(names, ", "))}
}

// tierName is --require and --tier. A backend of somebody else's may have tiers of
// its own, so that only what is surely meant otherwise is refused here.
type tierName string

// knownTiers are those of the backends of this host, the strongest first.
var knownTiers = []string{"full", "full-noproc", "landlock"}

func (t *tierName) String() string { return string(*t) }
func (t *tierName) Set(v string) error {
	hint := meant(v, knownTiers, "", "")
	if _, err := gapName(v); err == nil {
		hint = `a tier is meant (` + strings.Join(knownTiers, ", ") + `); a control is required by the configuration: {"sbx": {"require": ["` + v + `"]}}`
	}
	if hint != "" && !slices.Contains(knownTiers, v) {
		return &hintedError{msg: "no such tier", hint: hint}
	}
	*t = tierName(v)
	return nil
}

// measuredGaps are those of a measurement that a run has, too: a run names what is
// protected.
func measuredGaps(gaps []sandbox.Gap) string {
	return gapList(slices.DeleteFunc(slices.Clone(gaps), func(g sandbox.Gap) bool { return g.Fix == sandbox.FixProtect }))
}

func gapList(gaps []sandbox.Gap) string {
	var names []string
	for _, g := range gaps {
		if !g.Accepted {
			names = append(names, string(g.Control))
		}
	}
	return strings.Join(names, ", ")
}

// variableNames is --env.
type variableNames struct{ list }

func (n *variableNames) Set(v string) error {
	if name, _, given := strings.Cut(v, "="); given {
		return &hintedError{msg: "a name is wanted, without a value", hint: "set it for sbx: " + name + "=… sbx exec --env " + name + " -- PROGRAM"}
	}
	if strings.ContainsAny(v, " \t\n") {
		return &hintedError{msg: "that is no name of a variable", hint: "--env NAME, again for more"}
	}
	return n.list.Set(v)
}
