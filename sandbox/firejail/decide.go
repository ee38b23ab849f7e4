package firejail

import (
	"slices"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/filter"
)

// decision is what a profile comes to.
type decision struct {
	filters  []string
	enforced []sandbox.Control
	gaps     []sandbox.Gap
}

// decide is pure. links says that among what is protected are symbolic links.
func decide(p sandbox.Profile, links bool) decision {
	d := decision{filters: []string{filter.Base}}
	for _, g := range gaps {
		if g.when(p, links) {
			d.gaps = append(d.gaps, sandbox.Gap{Control: g.control, Why: g.why, Fix: g.fix})
		}
	}
	for _, c := range sandbox.Controls() {
		switch {
		case slices.Contains(sandbox.LimitControls(), c), // see package bound
			c == sandbox.NetworkOff && p.Network != sandbox.NetworkNone,
			c == sandbox.HostNetwork && p.Network == sandbox.NetworkHost,
			c == sandbox.RulesHeld,
			c == sandbox.DenialsExplained, c == sandbox.AllCarried,
			slices.ContainsFunc(d.gaps, func(g sandbox.Gap) bool { return g.Control == c }):
			continue
		}
		d.enforced = append(d.enforced, c)
	}
	return d
}

const other = "the backend direct or bwrap"

// gaps is what this backend cannot give, and when.
var gaps = []struct {
	control  sandbox.Control
	when     func(p sandbox.Profile, links bool) bool
	why, fix string
}{
	{
		sandbox.CredentialsLate, always,
		"credentials are covered when the command starts; a file or directory of them that somebody outside makes or replaces while it runs can be read", "the backend direct with --tier landlock leaves it unreadable",
	},
	{
		sandbox.HostNetwork, func(p sandbox.Profile, _ bool) bool { return p.Network != sandbox.NetworkNone },
		"the network is the host's: metadata addresses and services on its loopback are reachable", "network off",
	},
	{
		sandbox.RulesHeld, func(p sandbox.Profile, _ bool) bool { return p.Network == sandbox.NetworkRules },
		"firejail's network belongs to root: nobody else can lead it to a proxy, and no rule would be held", other,
	},
	{
		sandbox.AllCarried, func(p sandbox.Profile, _ bool) bool { return p.Network == sandbox.NetworkRules },
		"no connection is led to a proxy", other,
	},
	{
		sandbox.AbstractSockets, func(p sandbox.Profile, _ bool) bool { return p.Network != sandbox.NetworkNone },
		"the network is the host's, and with it the abstract sockets", "network off",
	},
	{
		sandbox.UnixSockets, func(p sandbox.Profile, _ bool) bool { return p.UnixAllow },
		"unix sockets are allowed: every socket that the user can open is reachable, those of daemons too", "no unix sockets",
	},
	{
		sandbox.UnixSockets, func(p sandbox.Profile, _ bool) bool { return !p.UnixAllow },
		"sockets that exist are covered; one that a daemon makes elsewhere while the command runs can be connected to", "the backend direct with --tier landlock makes no unix sockets",
	},
	{
		sandbox.StatHidden, always,
		"hidden files and directories can be seen, with nothing in them", other,
	},
	{
		sandbox.HooksProtected, func(p sandbox.Profile, _ bool) bool { return p.Protect == nil && !p.ReadOnly },
		"files in the workspace that others run later (.git/hooks, build files) can be written", "name them as protected",
	},
	{
		sandbox.HooksProtected, func(_ sandbox.Profile, links bool) bool { return links },
		"among what is protected is a symbolic link, over which firejail can mount nothing: it can be replaced by another", "name what it leads to, or the backend direct",
	},
	{
		sandbox.DenialsExplained, func(p sandbox.Profile, _ bool) bool {
			return p.Explain != sandbox.ExplainNone || slices.Contains(p.Required, sandbox.DenialsExplained)
		},
		"nobody listens to what the command is refused", "the backend direct",
	},
}

func always(sandbox.Profile, bool) bool { return true }
