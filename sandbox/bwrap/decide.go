package bwrap

import (
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/filter"
	"github.com/sbx-run/sbx/sandbox/under"
)

// facts are what the decisions depend on beside the profile.
type facts struct {
	noProc bool // /proc cannot be mounted
	scoped bool // see under.Scopes
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
	d.enforced, d.gaps = under.Decide(missing(), p, f)
	return d
}

// missing is what this backend cannot give, and when.
func missing() []under.Missing[facts] {
	list := append(under.Always[facts](), under.Unscoped(func(f facts) bool { return !f.scoped })...)
	return append(list, []under.Missing[facts]{
		{
			Control: sandbox.HostNetwork, When: func(p sandbox.Profile, _ facts) bool { return p.Network == sandbox.NetworkHost },
			Why: "the network is the host's: metadata addresses and services on its loopback are reachable",
			Fix: "network off, or an allow list",
		},
		{
			Control: sandbox.UnixSockets, When: func(p sandbox.Profile, _ facts) bool { return p.UnixAllow },
			Why: "unix sockets are allowed: every socket that the user can open is reachable, those of daemons too",
			Fix: "name single sockets as writable paths instead",
		},
		{
			Control: sandbox.ProcessesHidden, When: func(_ sandbox.Profile, f facts) bool { return f.noProc },
			Why: "/proc cannot be mounted here: the names and command lines of processes outside are visible",
			Fix: "a host or container that does not mask /proc",
		},
		{
			Control: sandbox.HooksProtected, When: func(_ sandbox.Profile, f facts) bool { return f.links },
			Why: "among what is protected is a symbolic link, over which bwrap can mount nothing: it can be replaced by another",
			Fix: "name what it leads to, or the backend direct",
		},
		{
			Control: sandbox.AllCarried, When: func(p sandbox.Profile, _ facts) bool { return p.Network == sandbox.NetworkRules },
			Why: "programs that ignore proxies reach nothing: bwrap takes a filter of system calls, but nobody can listen to one",
			Fix: "the backend direct",
		},
	}...)
}
