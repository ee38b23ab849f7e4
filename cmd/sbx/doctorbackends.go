package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/sandbox"
	chooser "github.com/sbx-run/sbx/sandbox/choice"
	"github.com/sbx-run/sbx/sandbox/none"
)

// cheap are the backends that are measured in a few milliseconds, without a program
// or an engine.
var cheap = [...]string{"direct", "seatbelt", none.Name}

// backends says what each can do here, which one a command gets, and whether
// those that the configuration names are there.
func (c *doctorCall) backends(ctx context.Context) {
	names := c.namedBackends()
	if c.usable {
		known, err := registry(c.file, slices.Sorted(maps.Keys(names))...)
		if err != nil {
			c.add(levelBroken, err.Error(), "correct the configuration")
		} else {
			c.known = known
		}
	}
	works := map[string]error{}
	var list []chooser.Measured
	for _, m := range c.measurements(ctx) {
		works[m.Capabilities.Backend] = m.Err
		list = append(list, m)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		err, measured := works[name]
		if _, lookup := c.known.Lookup(name); lookup != nil && name != sbx.Auto {
			c.add(levelBroken, names[name]+": there is no backend "+quote(name)+": the commands it is for are refused",
				meant(name, c.known.Offered(), "", "the backends are: "+strings.Join(c.known.Names(), ", ")))
		} else if measured && err != nil {
			c.add(levelBroken, names[name]+": the backend "+name+" does not work here, and nothing takes its place: "+sandbox.PassedFor(name, err).Why, c.hintFor(name))
		}
	}
	if c.usable {
		c.automatic(list)
	}
}

// namedBackends maps each backend that the configuration names to the key that does.
func (c *doctorCall) namedBackends() map[string]string {
	names := map[string]string{}
	note := func(list []string, key string) {
		if len(list) > 1 {
			return // an order says itself what comes next
		}
		for _, name := range list {
			names[name] = key
		}
	}
	for agent, list := range c.file.Slots.Agents {
		note(list, "agents."+agent+".slots.sandbox")
	}
	for project, list := range c.file.Slots.Projects {
		note(list, "projects."+project+".default_slots.sandbox")
	}
	note(c.file.Slots.All, "slots.sandbox")
	note(c.file.Backends, "sbx.backend")
	if own := runtimesWrapper(c.file.Sandbox); own != "" && len(c.file.Backends) == 0 && filepath.IsAbs(c.file.Sandbox) {
		names[own] = "sandbox"
	}
	return names
}

// measurements are the last ones, or new ones: with --live, and of what is cheap.
// It says a line about each backend.
func (c *doctorCall) measurements(ctx context.Context) []chooser.Measured {
	var list []chooser.Measured
	if c.live {
		list = chooser.MeasureAll(ctx, c.known, c.store)
		for _, m := range list {
			c.measured(m)
		}
		return list
	}
	var never, old []string
	for _, name := range c.known.Names() {
		b, err := c.known.Lookup(name)
		if err != nil {
			continue
		}
		m, same, ok := c.store.Last(b)
		if slices.Contains(cheap[:], name) && (!ok || !same) {
			m, same, ok = chooser.Measure(ctx, b, c.store), true, true
		}
		switch {
		case !ok:
			never = append(never, name)
		case !same:
			old = append(old, name)
		default:
			list = append(list, m)
			c.measured(m)
		}
	}
	if len(never) > 0 {
		c.add(levelNote, "never measured: "+strings.Join(never, ", "), "sbx doctor --live measures them")
	}
	if len(old) > 0 {
		c.add(levelNote, "measured when this host, sbx or a variable like DOCKER_HOST was another: "+strings.Join(old, ", "), "sbx doctor --live measures them anew")
	}
	return list
}

// measured is the line about one backend.
func (c *doctorCall) measured(m chooser.Measured) {
	name := m.Capabilities.Backend
	if m.Err != nil {
		what := "does not work here: " + sandbox.PassedFor(name, m.Err).Why
		if errors.Is(m.Err, sandbox.ErrUnsupported) {
			what = "is for another system"
		}
		c.add(levelNote, fmt.Sprintf("%s: %s (%s)", name, what, ago(m.When)), c.hintFor(name))
		return
	}
	if len(m.Capabilities.Enforced) == 0 {
		c.add(levelNote, name+": confines nothing; it is used by its name only", "")
		return
	}
	what := fmt.Sprintf("%s: enforces %d controls", name, len(m.Capabilities.Enforced))
	if m.Capabilities.Tier != "" {
		what = fmt.Sprintf("%s: tier %s, enforces %d controls", name, m.Capabilities.Tier, len(m.Capabilities.Enforced))
	}
	if m.Capabilities.Version != "" {
		what += ", " + m.Capabilities.Version
	}
	if m.Capabilities.Apart {
		what += ", commands see " + seenBy(name)
	}
	what += " (" + ago(m.When) + ")"
	l, do := levelOK, ""
	if gaps := measuredGaps(m.Capabilities.Gaps); gaps != "" {
		do = "not enforced: " + gaps
	}
	for _, g := range m.Capabilities.Gaps {
		if slices.Contains(sandbox.DefaultRequired(), g.Control) {
			l, do = levelWarning, string(g.Control)+" is missing, so a command is refused unless the gap is accepted: "+g.Why+"; "+g.Fix
		}
	}
	c.add(l, what, do)
}

// automatic says what a command gets that names no backend.
func (c *doctorCall) automatic(list []chooser.Measured) {
	const who = "a command that names no backend "
	names, key := c.file.For("", "")
	own := runtimesWrapper(c.file.Sandbox)
	switch {
	case len(names) > 1:
		c.add(levelOK, who+"runs on the first of these that can hold what it asks for: "+strings.Join(names, ", ")+" ("+key+")", "")
		return
	case len(names) == 1 && names[0] != sbx.Auto:
		c.add(levelOK, who+"runs on "+names[0]+" ("+key+")", "")
		return
	case len(names) == 0 && own != "":
		c.add(levelOK, who+"runs by the wrapper script that \"sandbox\" names", "")
		return
	}
	usable := slices.DeleteFunc(slices.Clone(list), func(m chooser.Measured) bool {
		b, err := c.known.Lookup(m.Capabilities.Backend)
		only, named := b.(sandbox.OnlyNamed)
		return err != nil || m.Err != nil || named && only.OnlyNamed() || isWrapper(m.Capabilities.Backend)
	})
	chooser.Rank(usable)
	switch {
	case len(usable) > 0:
		c.add(levelOK, "auto: "+who+"runs on "+usable[0].Capabilities.Backend+", the strongest of those that were measured", "")
	case c.live:
		c.add(levelBroken, "no backend works here: every command that does not ask for none is refused", "see the findings above; sbx setup says what to install")
	case len(list) > 0:
		c.add(levelBroken, "no backend that was measured works here", "sbx doctor --live measures all of them")
	}
}

// hintFor says what to install for a backend.
func (c *doctorCall) hintFor(name string) string {
	if p, ok := neededBy(name); ok && !p.here(os.Getenv("PATH")) {
		return p.advice()
	}
	return ""
}

// ago is the age of a measurement in words.
func ago(when time.Time) string {
	age := time.Since(when)
	switch {
	case age < 0:
		return "measured in the future, by this clock"
	case age < 5*time.Second:
		return "measured now"
	}
	return "measured " + roughly(age) + " ago"
}

// roughly is a time in words.
func roughly(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return counted(int(d.Seconds()), "second", "seconds")
	case d < 2*time.Hour:
		return fmt.Sprintf("%d minutes", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d hours", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}
