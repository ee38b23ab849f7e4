package firejail

import (
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/filter"
	"github.com/sbx-run/sbx/sandbox/under"
)

// decision is what a profile comes to.
type decision struct {
	filters  []string
	enforced []sandbox.Control
	gaps     []sandbox.Gap
}

// facts are what the decisions depend on beside the profile.
type facts struct {
	links   bool // among what is protected are symbolic links
	scoped  bool // see under.Scopes
	follows bool // what the host mounts appears inside, and only root could change that
}

// decide is pure.
func decide(p sandbox.Profile, f facts) decision {
	d := decision{filters: []string{filter.Base}}
	d.enforced, d.gaps = under.Decide(missing(), p, f)
	return d
}

const other = "the backend direct or bwrap"

// missing is what this backend cannot give, and when.
func missing() []under.Missing[facts] {
	list := append(under.Always[facts](), under.Unscoped(func(f facts) bool { return !f.scoped })...)
	return append(list, []under.Missing[facts]{
		{
			Control: sandbox.MountsLate, When: func(_ sandbox.Profile, f facts) bool { return f.follows },
			Why: "a file system that the host mounts while the command runs appears inside and can be written: firejail's mounts follow the host's, and are root's",
			Fix: other,
		},
		{
			Control: sandbox.HostNetwork, When: func(p sandbox.Profile, _ facts) bool { return p.Network != sandbox.NetworkNone },
			Why: "the network is the host's: metadata addresses and services on its loopback are reachable",
			Fix: "network off",
		},
		{
			Control: sandbox.RulesHeld, When: func(p sandbox.Profile, _ facts) bool { return p.Network == sandbox.NetworkRules },
			Why: "firejail's network belongs to root: nobody else can lead it to a proxy, and no rule would be held",
			Fix: other,
		},
		{
			Control: sandbox.AllCarried, When: func(p sandbox.Profile, _ facts) bool { return p.Network == sandbox.NetworkRules },
			Why: "no connection is led to a proxy",
			Fix: other,
		},
		{
			Control: sandbox.UnixSockets, When: func(p sandbox.Profile, _ facts) bool { return p.UnixAllow },
			Why: "unix sockets are allowed: every socket that the user can open is reachable, those of daemons too",
			Fix: "no unix sockets",
		},
		{
			Control: sandbox.StatHidden,
			Why:     "hidden files and directories can be seen, with nothing in them",
			Fix:     other,
		},
		{
			Control: sandbox.HooksProtected, When: func(_ sandbox.Profile, f facts) bool { return f.links },
			Why: "among what is protected is a symbolic link, over which firejail can mount nothing: it can be replaced by another",
			Fix: "name what it leads to, or the backend direct",
		},
	}...)
}
