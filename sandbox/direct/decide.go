package direct

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/filter"
)

// The rights of Landlock on files (linux/landlock.h).
const (
	execute = 1 << iota
	writeFile
	readFile
	readDir
	removeDir
	removeFile
	makeChar
	makeDir
	makeReg
	makeSock
	makeFifo
	makeBlock
	makeSym
	refer    // ABI 2: rename and link between directories
	truncate // ABI 3
	ioctlDev // ABI 5
)

// What Landlock scopes (ABI 6).
const (
	scopeAbstract = 1 << iota
	scopeSignal
)

const (
	readRights = readFile | execute
	// fileRights are those that mean something on a file; the kernel refuses a
	// rule on a file that names others.
	fileRights = execute | writeFile | readFile | truncate | ioctlDev
	// writeRights are granted where the command may write. Device nodes are not
	// among them: nobody needs to make one.
	writeRights = writeFile | removeDir | removeFile | makeDir | makeReg | makeSock | makeFifo | makeSym | refer | truncate | ioctlDev

	// newestABI is the newest one that was read and tried. A newer kernel
	// accepts it; what it could do beyond is not used.
	newestABI = 7
)

// decision is what the kernel will be asked for. It follows from the ABI and
// the profile alone.
type decision struct {
	handled  uint64 // rights on files that are refused unless a rule grants them
	scoped   uint64
	filters  []string
	gaps     []sandbox.Gap
	enforced []sandbox.Control
}

// handledRights lists what an ABI can refuse. Reading directories is left out:
// they stay listable everywhere, only files are hidden.
func handledRights(abi int) uint64 {
	rights := uint64(makeSym<<1-1) &^ readDir
	if abi >= 2 {
		rights |= refer
	}
	if abi >= 3 {
		rights |= truncate
	}
	if abi >= 5 {
		rights |= ioctlDev
	}
	return rights
}

// decide is pure. inside are hidden paths that lie below a writable one, late
// those that lie or would lie there: what does not exist yet is among them.
func decide(abi int, p sandbox.Profile, inside, late []string) decision {
	d := decision{handled: handledRights(abi), filters: []string{filter.Base}}
	if abi >= 6 {
		d.scoped = scopeAbstract | scopeSignal
	}
	if !p.UnixAllow {
		d.filters = append(d.filters, filter.NoUnix)
	}
	if p.Network == sandbox.NetworkNone {
		d.filters = append(d.filters, filter.NoNet)
	}
	for _, g := range gaps {
		if g.when(abi, p) {
			d.gaps = append(d.gaps, sandbox.Gap{Control: g.control, Why: g.why, Fix: g.fix})
		}
	}
	if len(inside) > 0 {
		d.gaps = append(d.gaps, sandbox.Gap{
			Control: sandbox.CredentialsHidden,
			Why:     fmt.Sprintf("%s lies below a writable directory, where Landlock cannot refuse reading", strings.Join(inside, ", ")),
			Fix:     "choose a workspace that does not hold it",
		})
	}
	if len(late) > 0 {
		d.gaps = append(d.gaps, sandbox.Gap{
			Control: sandbox.CredentialsLate,
			Why:     fmt.Sprintf("%s is below a writable directory: what somebody outside puts there while the command runs can be read", late[0]),
			Fix:     "choose a workspace that does not hold places of credentials",
		})
	}
	for _, c := range promised(p) {
		if !hasGap(d.gaps, c) {
			d.enforced = append(d.enforced, c)
		}
	}
	return d
}

// promised lists the controls that this tier speaks about, in the order of
// package sandbox.
func promised(p sandbox.Profile) []sandbox.Control {
	list := []sandbox.Control{
		sandbox.WritesConfined, sandbox.CredentialsHidden, sandbox.NoNewPrivileges, sandbox.NoCapabilities,
		sandbox.SyscallFilter, sandbox.TreeEnds, sandbox.DaemonsEnd, sandbox.EndsWithCaller,
		sandbox.CredentialsLate, sandbox.MountsLate,
	}
	if p.Network == sandbox.NetworkNone {
		list = append(list, sandbox.NetworkOff)
	}
	return append(list, sandbox.UnixSockets, sandbox.Signals, sandbox.AbstractSockets, sandbox.DescriptorsShut)
}

func hasGap(gaps []sandbox.Gap, c sandbox.Control) bool {
	for _, g := range gaps {
		if g.Control == c {
			return true
		}
	}
	return false
}

const fixFull = "the full tier (namespaces) closes it"

// gaps is what this tier cannot give, and when.
var gaps = []struct {
	control  sandbox.Control
	when     func(abi int, p sandbox.Profile) bool
	why, fix string
}{
	{
		sandbox.WritesConfined, func(abi int, _ sandbox.Profile) bool { return abi < 3 },
		"this kernel's Landlock does not control truncate: one's own files outside can be emptied", "Linux 6.2 or newer",
	},
	{
		sandbox.Signals, func(abi int, _ sandbox.Profile) bool { return abi < 6 },
		"this kernel's Landlock does not scope signals: the user's other processes, sbx among them, can be killed", "Linux 6.12 or newer",
	},
	{
		sandbox.AbstractSockets, func(abi int, p sandbox.Profile) bool { return abi < 6 && p.UnixAllow },
		"this kernel's Landlock does not scope abstract sockets, and unix sockets are allowed", "Linux 6.12 or newer, or no unix sockets",
	},
	{
		sandbox.UnixSockets, func(_ int, p sandbox.Profile) bool { return p.UnixAllow },
		"unix sockets are allowed: every socket that the user can open is reachable, those of daemons too", fixFull,
	},
	{
		sandbox.RulesHeld, func(_ int, p sandbox.Profile) bool { return p.Network == sandbox.NetworkRules },
		"Landlock knows no hosts: the network would be the host's as it is, and no rule would be held", fixFull,
	},
	{
		sandbox.HostNetwork, func(_ int, p sandbox.Profile) bool { return p.Network != sandbox.NetworkNone },
		"the network is the host's: metadata addresses and services on its loopback are reachable", "network off, or the full tier with an allow list",
	},
	{
		sandbox.Loopback, func(_ int, p sandbox.Profile) bool { return p.Network == sandbox.NetworkNone },
		"with the network off the command cannot open sockets for its own servers either", fixFull,
	},
	{
		sandbox.DaemonsEnd, func(_ int, p sandbox.Profile) bool { return !p.Supervisor },
		"a process that leaves the process group survives the command: a library cannot be a subreaper", "run by way of the sbx command",
	},
	{
		sandbox.EndsWithCaller, func(_ int, p sandbox.Profile) bool { return !p.Supervisor },
		"the command goes on when the embedding process is killed", "run by way of the sbx command",
	},
	{
		sandbox.EndsWithCaller, func(_ int, p sandbox.Profile) bool { return p.Supervisor },
		"when sbx gets SIGKILL only the command itself is killed with it, not what the command started", fixFull,
	},
	{
		sandbox.MetadataConfined, always,
		"Landlock does not control chmod, chown and utime: one's own files outside can change mode, group and times", fixFull,
	},
	{sandbox.ProcessesHidden, always, "the list of processes and their command lines is visible, and their priority can be changed", fixFull},
	{sandbox.StatHidden, always, "names and sizes of hidden files are visible", fixFull},
	{sandbox.SharedMemory, always, "/dev/shm and System V objects are shared with the host", fixFull},
	{sandbox.HooksProtected, always, "files in the workspace that others run later (.git/hooks, build files) can be written", fixFull},
	{sandbox.Terminals, always, "the user's other terminals can be opened", fixFull},
}

const (
	whyNoChild = "a listener for system calls needs a child that confines itself, which exists for amd64 and arm64"
	fixNoChild = "a machine of one of those architectures"
)

// unasked is the gap of who requires records of denials and does not ask for
// any.
func unasked(p sandbox.Profile) *sandbox.Gap {
	if !slices.Contains(p.Required, sandbox.DenialsExplained) {
		return nil
	}
	return &sandbox.Gap{Control: sandbox.DenialsExplained, Why: "denials are required to be recorded, and were not asked for", Fix: "--explain-denials"}
}

// explained adds what is said about recording denials, and about carrying
// connections.
func (d *decision) explained(p sandbox.Profile, gap, carried *sandbox.Gap) {
	if carried != nil {
		d.gaps = append(d.gaps, *carried)
	} else if p.Network == sandbox.NetworkRules {
		d.enforced = append(d.enforced, sandbox.AllCarried)
	}
	if gap != nil {
		d.gaps = append(d.gaps, *gap)
	} else if p.Explain != sandbox.ExplainNone {
		d.enforced = append(d.enforced, sandbox.DenialsExplained)
	}
}

func always(int, sandbox.Profile) bool { return true }

// decideFull is decide for the tiers with namespaces. What they leave open is
// little.
func decideFull(abi int, p sandbox.Profile, noProc bool) decision {
	d := decision{handled: handledRights(abi), filters: []string{filter.Base}}
	if abi >= 6 {
		d.scoped = scopeAbstract | scopeSignal
	}
	for _, g := range fullGaps {
		if g.when(abi, p, noProc) {
			d.gaps = append(d.gaps, sandbox.Gap{Control: g.control, Why: g.why, Fix: g.fix})
		}
	}
	for _, c := range sandbox.Controls() {
		switch {
		case slices.Contains(sandbox.LimitControls(), c), // see bound
			c == sandbox.NetworkOff && p.Network != sandbox.NetworkNone,
			c == sandbox.HostNetwork && p.Network == sandbox.NetworkHost,
			c == sandbox.RulesHeld && p.Network != sandbox.NetworkRules,
			c == sandbox.DenialsExplained, c == sandbox.AllCarried,
			hasGap(d.gaps, c):
			continue
		}
		d.enforced = append(d.enforced, c)
	}
	return d
}

// fullGaps is what the full tiers cannot give, and when.
var fullGaps = []struct {
	control  sandbox.Control
	when     func(abi int, p sandbox.Profile, noProc bool) bool
	why, fix string
}{
	{
		sandbox.CredentialsLate, func(int, sandbox.Profile, bool) bool { return true },
		"credentials are covered when the command starts; a file or directory of them that somebody outside makes or replaces while it runs can be read", "--tier landlock leaves it unreadable",
	},
	{
		sandbox.HostNetwork, func(_ int, p sandbox.Profile, _ bool) bool { return p.Network == sandbox.NetworkHost },
		"the network is the host's: metadata addresses and services on its loopback are reachable", "network off, or an allow list",
	},
	{
		sandbox.Signals, func(abi int, p sandbox.Profile, _ bool) bool { return p.Supervisor && abi < 6 },
		"this kernel's Landlock does not scope signals: the command is in the process group of sbx and its caller, which signals to group 0 reach", "Linux 6.12 or newer",
	},
	{
		sandbox.AbstractSockets, func(abi int, p sandbox.Profile, _ bool) bool { return p.Network == sandbox.NetworkHost && abi < 6 },
		"the network is the host's, and this kernel's Landlock does not scope abstract sockets", "network off, or Linux 6.12 or newer",
	},
	{
		sandbox.UnixSockets, func(_ int, p sandbox.Profile, _ bool) bool { return p.UnixAllow },
		"unix sockets are allowed: every socket that the user can open is reachable, those of daemons too", "name single sockets as writable paths instead",
	},
	{
		sandbox.UnixSockets, func(_ int, p sandbox.Profile, _ bool) bool { return !p.UnixAllow },
		"sockets that exist are covered; one that a daemon makes elsewhere while the command runs can be connected to", "--tier landlock makes no unix sockets",
	},
	{
		sandbox.ProcessesHidden, func(_ int, _ sandbox.Profile, noProc bool) bool { return noProc },
		"/proc cannot be mounted here: the names and command lines of processes outside are visible", "a host or container that does not mask /proc",
	},
	{
		sandbox.HooksProtected, func(_ int, p sandbox.Profile, _ bool) bool { return p.Protect == nil },
		"files in the workspace that others run later (.git/hooks, build files) can be written", sandbox.FixProtect,
	},
}
