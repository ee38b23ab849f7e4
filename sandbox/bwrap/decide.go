package bwrap

import (
	"slices"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/filter"
)

// facts are what the decisions depend on beside the profile.
type facts struct {
	noProc bool // /proc cannot be mounted
	scoped bool // the kernel can keep a process from abstract sockets outside
	links  bool // among what is protected are symbolic links
	nested bool // this bwrap or kernel does not know --disable-userns
}

// decision is what a profile comes to.
type decision struct {
	filters  []string
	enforced []sandbox.Control
	gaps     []sandbox.Gap
}

// decide is pure.
func decide(p sandbox.Profile, f facts) decision {
	d := decision{filters: []string{filter.Base}}
	for _, g := range gaps {
		if g.when(p, f) {
			d.gaps = append(d.gaps, sandbox.Gap{Control: g.control, Why: g.why, Fix: g.fix})
		}
	}
	for _, c := range sandbox.Controls() {
		switch {
		case slices.Contains(sandbox.LimitControls(), c), // see package bound
			c == sandbox.NetworkOff && p.Network != sandbox.NetworkNone,
			c == sandbox.HostNetwork && p.Network == sandbox.NetworkHost,
			c == sandbox.RulesHeld && p.Network != sandbox.NetworkRules,
			c == sandbox.DenialsExplained, c == sandbox.AllCarried,
			slices.ContainsFunc(d.gaps, func(g sandbox.Gap) bool { return g.Control == c }):
			continue
		}
		d.enforced = append(d.enforced, c)
	}
	return d
}

// gaps is what this backend cannot give, and when.
var gaps = []struct {
	control  sandbox.Control
	when     func(p sandbox.Profile, f facts) bool
	why, fix string
}{
	{
		sandbox.CredentialsLate, func(sandbox.Profile, facts) bool { return true },
		"credentials are covered when the command starts; a file or directory of them that somebody outside makes or replaces while it runs can be read", "the backend direct with --tier landlock leaves it unreadable",
	},
	{
		sandbox.HostNetwork, func(p sandbox.Profile, _ facts) bool { return p.Network == sandbox.NetworkHost },
		"the network is the host's: metadata addresses and services on its loopback are reachable", "network off, or an allow list",
	},
	{
		sandbox.AbstractSockets, func(p sandbox.Profile, f facts) bool { return p.Network == sandbox.NetworkHost && !f.scoped },
		"the network is the host's, and this kernel's Landlock does not scope abstract sockets", "network off, or Linux 6.12 or newer",
	},
	{
		sandbox.UnixSockets, func(p sandbox.Profile, _ facts) bool { return p.UnixAllow },
		"unix sockets are allowed: every socket that the user can open is reachable, those of daemons too", "name single sockets as writable paths instead",
	},
	{
		sandbox.UnixSockets, func(p sandbox.Profile, _ facts) bool { return !p.UnixAllow },
		"sockets that exist are covered; one that a daemon makes elsewhere while the command runs can be connected to", "the backend direct with --tier landlock makes no unix sockets",
	},
	{
		sandbox.ProcessesHidden, func(_ sandbox.Profile, f facts) bool { return f.noProc },
		"/proc cannot be mounted here: the names and command lines of processes outside are visible", "a host or container that does not mask /proc",
	},
	{
		sandbox.HooksProtected, func(p sandbox.Profile, _ facts) bool { return p.Protect == nil && !p.ReadOnly },
		"files in the workspace that others run later (.git/hooks, build files) can be written", "name them as protected",
	},
	{
		sandbox.HooksProtected, func(_ sandbox.Profile, f facts) bool { return f.links },
		"among what is protected is a symbolic link, over which bwrap can mount nothing: it can be replaced by another", "name what it leads to, or the backend direct",
	},
	{
		sandbox.AllCarried, func(p sandbox.Profile, _ facts) bool { return p.Network == sandbox.NetworkRules },
		"programs that ignore proxies reach nothing: bwrap takes a filter of system calls, but nobody can listen to one", "the backend direct",
	},
	{
		sandbox.DenialsExplained, func(p sandbox.Profile, _ facts) bool {
			return p.Explain != sandbox.ExplainNone || slices.Contains(p.Required, sandbox.DenialsExplained)
		},
		"nobody listens to what the command is refused", "the backend direct",
	},
}
