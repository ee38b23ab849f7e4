//go:build amd64 || arm64

package direct_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/probes"
)

// A build that leaves a layer out does not pass: for each layer the suite says
// which rows do not hold any more, or nothing runs at all.
func TestEachLayerCounts(t *testing.T) {
	for _, tier := range every {
		t.Run(tier, func(t *testing.T) {
			if tier == thread && testing.Short() {
				t.Skip("takes a while")
			}
			need(t, tier)
			var rows []string
			for _, l := range layers() {
				if slices.Contains(l.tiers, tier) {
					rows = append(rows, slices.Concat(l.rows, l.tried)...)
				}
			}
			whole, err := suite(t, tier, rows)
			check(t, err)
			for _, l := range layers() {
				if slices.Contains(l.tiers, tier) && (os.Geteuid() == 0 || !l.root) {
					t.Run(l.name, func(t *testing.T) { l.check(t, tier, whole) })
				}
			}
		})
	}
}

// suite runs rows of the conformance suite, and gives their outcomes; an error if the
// backend starts nothing.
func suite(t *testing.T, tier string, rows []string, left ...string) (map[string]probes.Outcome, error) {
	t.Helper()
	base := os.Getenv(baseVar)
	if base == "" {
		base = probes.Base()
	}
	report, err := probes.Run(t.Context(), backend(tier), probes.Options{
		Helper: []string{self(t)}, Dir: base, Only: append([]string{"P00"}, rows...), Without: append([]string{tier}, left...),
	})
	found := map[string]probes.Outcome{}
	for _, o := range report.Outcomes {
		found[o.ID] = o
	}
	return found, err
}

func (l layer) check(t *testing.T, tier string, whole map[string]probes.Outcome) {
	rows := slices.Concat(l.rows, l.tried)
	if l.refuses != "" {
		l.checkRefuses(t, tier)
		return
	}
	left, err := suite(t, tier, rows, l.name)
	check(t, err)
	if l.covered != "" && l.omit != nil { // what no row notices might be left in, too
		r, c := newRoom(t, tier), sandbox.Command{Argv: []string{"true"}}
		plan, err := r.open(without(tier, l.name)).Plan(c)
		check(t, err)
		entire, err := r.confined().Plan(c)
		check(t, err)
		if slices.Equal(plan.Steps, entire.Steps) {
			t.Errorf("no step is left out: %q", plan.Steps)
		}
	}
	tried := 0
	for _, id := range rows {
		before, after := whole[id], left[id]
		if before.Status == probes.NotTried && before.Why == after.Why {
			continue // not on this machine
		}
		tried++
		// What opens under a gap that is always named is no less open.
		open := after.Status == probes.NotHeld || after.Status == probes.GapNamed
		switch {
		case before.Status != probes.Held:
			t.Errorf("%s: with all layers: %s, %s", id, before.Status, before.Observed+before.Why)
		case l.covered == "" && !open:
			t.Errorf("%s: %s: it holds without the layer, too: %s", id, after.Try, after.Observed+after.Why)
		case l.covered != "" && after.Status != probes.Held:
			t.Errorf("%s: %s: it is said that another layer holds it: %s", id, after.Try, after.Observed+after.Why)
		case open:
			t.Logf("%s %s: %s: %s", after.Status, id, after.Try, after.Observed)
		}
	}
	if tried == 0 && len(rows) > 0 {
		t.Errorf("none of %q could be tried", rows)
	}
}

// checkRefuses says that nothing runs without the layer, and why.
func (l layer) checkRefuses(t *testing.T, tier string) {
	left, err := suite(t, tier, []string{cmp.Or(l.on, "P00")}, l.name)
	o := left[l.on]
	why := o.Why
	if l.on == "" && err != nil {
		why = err.Error()
	} else if l.on != "" && (err != nil || !o.Refused) {
		t.Errorf("%v, %+v", err, o)
	}
	if !oneOfTexts(l.refuses, why) || !strings.Contains(why, "command not started") {
		t.Errorf("a command ran without it, or not for this reason: %v, %+v", err, o)
	}
}

// oneOfTexts says that text holds one of several, which bars part.
func oneOfTexts(several, text string) bool {
	return slices.ContainsFunc(strings.Split(several, "|"), func(one string) bool { return strings.Contains(text, one) })
}

// A process that crashes must not have the host's handler of core dumps run.
func TestCoreLimit(t *testing.T) { eachOfBoth(t, testCoreLimit) }

func testCoreLimit(r *room) {
	if out, _ := r.run(r.confined(), "sh", "-c", "ulimit -Hc; ulimit -Sc"); out != "0\n0\n" {
		r.Errorf("limits of core dumps are %q", out)
	}
	limit := unix.Rlimit{}
	check(r, unix.Getrlimit(unix.RLIMIT_CORE, &limit))
	if out, _ := r.run(r.open(without(r.tier, "core limit")), "sh", "-c", "ulimit -Hc"); limit.Max > 0 && out == "0\n" {
		r.Error("control: the limit is 0 without the layer, too")
	}
}

var update = flag.Bool("update", false, "write docs/layers.md")

// The table is published, so that what no row notices can be read, too.
func TestLayersDocument(t *testing.T) {
	const name = "../../docs/layers.md"
	var b strings.Builder
	b.WriteString(`# Each layer counts

A build that leaves one layer of the backend ` + "`direct`" + ` out does not pass its tests: the
conformance suite (` + "`sbx probe`" + `) is run without it, and either says which probes do not
hold any more, or nothing runs at all. Where another layer holds the same, that is
written here, and tried. Printed from the table of the test (TestEachLayerCounts) by
` + "`go test ./sandbox/direct -run TestLayersDocument -update`" + `.

| Left out | Tier | What happens |
| --- | --- | --- |
`)
	for _, l := range layers() {
		what := ""
		switch {
		case l.refuses != "":
			what = "nothing runs: `" + strings.ReplaceAll(l.refuses, "|", "` or `") + "`"
		case l.covered != "":
			what = "nothing: " + l.covered
			if len(l.tried) > 0 {
				what += " (" + strings.Join(l.tried, " ") + ")"
			}
		default:
			what = "not held: " + strings.Join(l.rows, " ")
		}
		if l.root {
			what += "; as root"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", l.name, strings.Join(l.tiers, ", "), what)
	}
	if *update {
		check(t, os.WriteFile(name, []byte(b.String()), 0o644))
	}
	have, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return // the run as an ordinary user
	}
	check(t, err)
	if string(have) != b.String() {
		t.Error("docs/layers.md is not what the table says: go test ./sandbox/direct -run TestLayersDocument -update")
	}
}
