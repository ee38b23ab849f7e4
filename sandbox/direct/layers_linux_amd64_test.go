package direct_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/direct"
	"github.com/sbx-run/sbx/sandbox/probes"
)

// layer is a part of the confinement that a test can leave out, and what the
// conformance suite says then.
type layer struct {
	name  string
	tiers []string
	omit  func(step string) bool
	share uintptr // namespaces that stay the host's

	// Exactly one of these says what happens.
	rows    []string // rows of the suite that do not hold any more, each of them
	refuses string   // the kernel or sbx itself refuses: no command runs
	on      string   // of refuses: the row that shows it; empty: P00
	covered string   // why no row can notice; rows are tried, and hold

	tried []string // of covered
	root  bool     // only root notices: the kernel refuses the acts to others
}

func steps(prefixes ...string) func(string) bool {
	return func(step string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool {
			if exact, ok := strings.CutSuffix(p, "$"); ok {
				return step == exact
			}
			return strings.HasPrefix(step, p)
		})
	}
}

func hides(match func(name string) bool) func(string) bool {
	return func(step string) bool {
		name, ok := strings.CutPrefix(step, "hide ")
		return ok && match(name)
	}
}

func isSocket(name string) bool {
	return slices.Contains([]string{"stream", "dgram"}, path.Base(name)) || strings.HasSuffix(name, ".sock")
}

func inProc(name string) bool { return strings.HasPrefix(name, "/proc/") }

// The tiers of this architecture, and with the way that others have.
var (
	both  = []string{full, landlock}
	every = []string{full, landlock, thread}
	lower = []string{landlock, thread}
)

// layers is the table of docs/layers.md.
func layers() []layer {
	only := []string{full}
	fileRows := []string{"P12", "P12b", "P13a", "P13b", "P13c", "P13g"}
	return []layer{
		{name: "mount namespace", tiers: only, share: unix.CLONE_NEWNS, refuses: "SAFETY: it is a new mount namespace"},
		{name: "user namespace", tiers: only, share: unix.CLONE_NEWUSER, refuses: "write /proc/self/|make namespaces: operation not permitted"},
		{name: "process namespace", tiers: only, share: unix.CLONE_NEWPID, refuses: "mount /proc of the new processes"},
		{name: "process namespace and /proc", tiers: only, share: unix.CLONE_NEWPID, omit: steps("mount /proc "), rows: []string{"N36", "P71c", "P71d"}},
		{name: "network namespace", tiers: only, share: unix.CLONE_NEWNET, omit: steps("bring lo up"), rows: []string{"P86a", "P86b", "P86e", "P86f", "P86g", "P86l"}},
		{name: "ipc namespace", tiers: only, share: unix.CLONE_NEWIPC, rows: []string{"N42a", "N42b", "N42c"}},
		{
			name: "host name namespace", tiers: only, share: unix.CLONE_NEWUTS, tried: []string{"N52d", "N52e"}, root: true,
			covered: "the filter and the lack of capabilities refuse to set the host's name",
		},
		{name: "read-only root", tiers: only, omit: steps("make everything read-only"), rows: fileRows},
		{
			name: "cover of /run", tiers: only, omit: steps("cover /run$"), tried: []string{"N22a", "P57a"}, root: true,
			covered: "the run's own file system is mounted there while the tree is built, and stays below",
		},
		{name: "cover of /run and what lies below", tiers: only, omit: steps("cover /run$", "mount own tmpfs on /run"), refuses: "make directory /run/empty: read-only file system"},
		{name: "/tmp of its own", tiers: only, omit: steps("cover /tmp$", "make writable /tmp$"), rows: []string{"N22b"}},
		{name: "/var/tmp of its own", tiers: only, omit: steps("cover /var/tmp$"), rows: []string{"N22c"}},
		{name: "/dev of its own", tiers: only, omit: steps("cover /dev$"), rows: []string{"P23a", "P61a"}},
		{name: "/dev/shm of its own", tiers: only, omit: steps("cover /dev/shm$"), rows: []string{"N04"}},
		{name: "terminals of its own", tiers: only, omit: steps("mount own terminals"), rows: []string{"P61a"}},
		{
			name: "covers of credentials", tiers: only, omit: hides(func(n string) bool { return !isSocket(n) && !inProc(n) }),
			rows: []string{"N10", "N11", "N14", "N16", "N17", "N20a", "N20b", "N20l", "N20s", "N21a", "N21b", "N21c"},
		},
		{name: "covers of sockets", tiers: only, omit: hides(isSocket), rows: []string{"P56d", "P56e", "P56f"}},
		{name: "covers in /proc", tiers: only, omit: hides(inProc), rows: []string{"N22d"}, root: true},
		{name: "/proc of its own", tiers: only, omit: steps("mount /proc "), rows: []string{"N36"}},
		{name: "loopback", tiers: only, omit: steps("bring lo up"), rows: []string{"N60"}},
		{name: "writable places", tiers: only, omit: steps("make writable "), rows: []string{"P02", "P26", "P26c"}},
		{
			name: "death with the caller, full", tiers: only, omit: steps("die with the caller"), tried: []string{"P73"},
			covered: "process 1 asks for it again, and holds a pipe that ends with the caller",
		},
		{
			name: "core limit", tiers: both, omit: steps("limit core dumps"),
			covered: "what a dump does depends on the host's core_pattern, which no probe changes; TestCoreLimit looks at the limit",
		},
		{name: "descriptors", tiers: both, omit: steps("close descriptors"), rows: []string{"P17a", "P17b"}},
		{name: "bounding set", tiers: every, omit: bounding, rows: []string{"P45c"}, root: true},
		{name: "no_new_privs", tiers: every, omit: steps("set no_new_privs"), refuses: "enter landlock domain"},
		{name: "no_new_privs and what needs it", tiers: every, omit: steps("set no_new_privs", "enter landlock domain", "load system call filter"), rows: []string{"P45a"}},
		{
			name: "ambient capabilities", tiers: both, omit: steps("clear ambient"), tried: []string{"P45b"}, root: true,
			covered: "the kernel lowers what leaves the permitted set, which is emptied next",
		},
		{
			name: "capabilities", tiers: every, omit: steps("drop capabilities$"), tried: []string{"P45b"}, root: true,
			covered: "the bounding set is empty, so that executing the command gives none, to root neither",
		},
		{
			name: "capabilities and bounding set", tiers: every, rows: []string{"P45b", "P45c"}, root: true,
			omit: func(s string) bool { return s == "drop capabilities" || bounding(s) },
		},
		{name: "landlock", tiers: only, omit: steps("enter landlock domain"), rows: []string{"N63"}},
		{name: "landlock, alone", tiers: lower, omit: steps("enter landlock domain"), rows: []string{"P01", "P01d", "P07", "P09a", "P10a", "P11a", "P50a", "N20a", "N20l"}},
		{
			name: "system call filter", tiers: every, omit: steps("load system call filter"),
			rows: []string{"P53a", "P53b", "P53c", "P51", "P54a", "P54d", "P47a", "P47b", "P52a", "N53a", "N54a", "N54h"},
		},
		{name: "system call filter, network and sockets", tiers: lower, omit: steps("load system call filter"), rows: []string{"P56d", "P57a", "P86a", "P86e", "P86g", "P86l"}},
		{name: "identity", tiers: only, omit: steps("take user ", "take group"), refuses: "value too large for defined data type", on: "N05", root: true},
		{name: "identity, without namespaces", tiers: lower, omit: steps("take user ", "take group", "take identity"), rows: []string{"N05", "N07"}, root: true},
	}
}

func bounding(step string) bool {
	return step == "drop the bounding set of capabilities" || step == "drop capability bounding set"
}

// without is the backend without the layers of these names.
func without(tier string, names ...string) sandbox.Backend {
	var omit []func(string) bool
	share := uintptr(0)
	for _, name := range names {
		all := layers()
		i := slices.IndexFunc(all, func(l layer) bool { return l.name == name })
		if all[i].omit != nil {
			omit = append(omit, all[i].omit)
		}
		share |= all[i].share
	}
	name := tier
	if tier == thread {
		name = landlock
	}
	return direct.Leaving(name, tier == thread, func(step string) bool {
		return slices.ContainsFunc(omit, func(match func(string) bool) bool { return match(step) })
	}, share)
}

// backendWithout is what the probe program opens: the first name is the tier.
func backendWithout(_ string, names []string) (sandbox.Backend, error) {
	return without(names[0], names[1:]...), nil
}

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
			whole := suite(t, tier, rows)
			for _, l := range layers() {
				if slices.Contains(l.tiers, tier) && (os.Geteuid() == 0 || !l.root) {
					t.Run(l.name, func(t *testing.T) { l.check(t, tier, whole) })
				}
			}
		})
	}
}

// suite runs rows of the conformance suite, and gives their outcomes.
func suite(t *testing.T, tier string, rows []string, left ...string) map[string]probes.Outcome {
	t.Helper()
	base := os.Getenv(baseVar)
	if base == "" {
		base = probes.Base()
	}
	report, err := probes.Run(t.Context(), backend(tier), probes.Options{
		Helper: []string{self(t)}, Dir: base, Only: append([]string{"P00"}, rows...), Without: append([]string{tier}, left...),
	})
	check(t, err)
	found := map[string]probes.Outcome{}
	for _, o := range report.Outcomes {
		found[o.ID] = o
	}
	return found
}

func (l layer) check(t *testing.T, tier string, whole map[string]probes.Outcome) {
	rows := slices.Concat(l.rows, l.tried)
	if l.refuses != "" {
		rows = []string{cmp.Or(l.on, "P00")}
	}
	left := suite(t, tier, rows, l.name)
	if l.refuses != "" {
		if o := left[rows[0]]; o.Status != probes.NotHeld || !oneOfTexts(l.refuses, o.Observed) || !strings.Contains(o.Observed, "command not started") {
			t.Errorf("a command ran without it, or not for this reason: %+v", o)
		}
		return
	}
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
