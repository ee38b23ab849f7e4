package direct_test

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/direct"
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
		{name: "descriptors", tiers: []string{landlock}, omit: steps("close descriptors"), rows: []string{"P17a", "P17b"}},
		{
			name: "descriptors, full", tiers: only, omit: steps("close descriptors"), tried: []string{"P17a", "P17b"},
			covered: "pid 1 shuts what it does not need itself, before it starts the command",
		},
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
