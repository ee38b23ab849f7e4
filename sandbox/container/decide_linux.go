package container

import (
	"slices"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/filter"
)

// decision is what a profile comes to.
type decision struct {
	filters  []string
	enforced []sandbox.Control
	gaps     []sandbox.Gap
}

// decide is pure. Of what the contract lists, a container holds nearly all by
// being one; the rest are gaps.
func decide(p sandbox.Profile, l Layout) decision {
	d := decision{filters: []string{filter.Base}}
	required := slices.Contains(p.Required, sandbox.UnixSockets)
	switch {
	case required && !p.UnixAllow:
		// What lies in the workspace cannot be told apart by name.
		d.filters = append(d.filters, filter.NoUnix)
	case p.UnixAllow:
		d.gap(sandbox.UnixSockets, "unix sockets are allowed: those in the workspace and other shared directories can be connected to", "no unix sockets")
	default:
		d.gap(sandbox.UnixSockets, "a socket that somebody outside opens in the workspace or another shared directory can be connected to",
			"require unix-sockets: then the command can make none at all")
	}
	if l.late != "" {
		d.gap(sandbox.CredentialsLate, l.late+" is below a shared directory: what somebody outside puts there while the command runs can be read",
			"a workspace and shared directories that hold no places of credentials")
	}
	ruled := p.Network == sandbox.NetworkRules && holdsRules
	if p.Network == sandbox.NetworkRules && !ruled {
		d.gap(sandbox.RulesHeld, "on this processor a command in a container cannot be held to a list of hosts", "an amd64 machine")
	}
	if p.Network == sandbox.NetworkRules {
		d.gap(sandbox.AllCarried, "programs that ignore proxies reach nothing from a container", "the backend direct")
	}
	if p.Network != sandbox.NetworkNone && !ruled {
		d.gap(sandbox.HostNetwork, "the engine's network leads to the host's addresses and to metadata services; the host's loopback stays shut", "network off")
	}
	switch {
	case p.Protect == nil && !p.ReadOnly:
		d.gap(sandbox.HooksProtected, "files in the workspace that others run later (.git/hooks, build files) can be written", sandbox.FixProtect)
	case len(l.loose) > 0:
		d.gap(sandbox.HooksProtected, strings.Join(l.loose, ", ")+": a symbolic link, which can be replaced by another", "name what it leads to, or put a file in its place")
	}
	if p.Explain != sandbox.ExplainNone || slices.Contains(p.Required, sandbox.DenialsExplained) {
		d.gap(sandbox.DenialsExplained, "nobody listens to what a container is refused", "the backend direct")
	}
	for _, c := range sandbox.Controls() {
		switch {
		case d.open(c), slices.Contains(sandbox.LimitControls(), c), // see bound
			c == sandbox.NetworkOff && p.Network != sandbox.NetworkNone,
			c == sandbox.DenialsExplained, c == sandbox.AllCarried,
			c == sandbox.RulesHeld && !ruled:
			continue
		}
		d.enforced = append(d.enforced, c)
	}
	d.bound(p.Limits)
	return d
}

func (d *decision) gap(c sandbox.Control, why, fix string) {
	d.gaps = append(d.gaps, sandbox.Gap{Control: c, Why: why, Fix: fix})
}

func (d *decision) open(c sandbox.Control) bool {
	return slices.ContainsFunc(d.gaps, func(g sandbox.Gap) bool { return g.Control == c })
}
