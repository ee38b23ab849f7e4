package under

import (
	"slices"

	"github.com/sbx-run/sbx/sandbox"
)

// Missing is a control that a program cannot give under a profile and facts about
// the host.
type Missing[F any] struct {
	Control  sandbox.Control
	When     func(sandbox.Profile, F) bool // nil: always
	Why, Fix string
}

// Decide says what is held under a profile and what is missing, limits left out:
// those are the business of package bound. It is pure.
func Decide[F any](list []Missing[F], p sandbox.Profile, f F) (enforced []sandbox.Control, gaps []sandbox.Gap) {
	for _, m := range list {
		if m.When == nil || m.When(p, f) {
			gaps = append(gaps, sandbox.Gap{Control: m.Control, Why: m.Why, Fix: m.Fix})
		}
	}
	for _, c := range sandbox.Controls() {
		switch {
		case slices.Contains(sandbox.LimitControls(), c),
			c == sandbox.NetworkOff && p.Network != sandbox.NetworkNone,
			c == sandbox.HostNetwork && p.Network == sandbox.NetworkHost,
			c == sandbox.RulesHeld && p.Network != sandbox.NetworkRules,
			c == sandbox.DenialsExplained, c == sandbox.AllCarried, // nobody listens to a filter that such a program loads
			slices.ContainsFunc(gaps, func(g sandbox.Gap) bool { return g.Control == c }):
			continue
		}
		enforced = append(enforced, c)
	}
	return enforced, gaps
}

// Unscoped lists what is missing where Landlock scopes neither signals nor
// abstract sockets.
func Unscoped[F any](unscoped func(F) bool) []Missing[F] {
	return []Missing[F]{
		{
			sandbox.Signals, func(p sandbox.Profile, f F) bool { return p.Supervisor && unscoped(f) },
			"this kernel's Landlock does not scope signals: the command is in the process group of sbx and its caller, which signals to group 0 reach", "Linux 6.12 or newer",
		},
		{
			sandbox.AbstractSockets, func(p sandbox.Profile, f F) bool { return p.Network == sandbox.NetworkHost && unscoped(f) },
			"the network is the host's, and this kernel's Landlock does not scope abstract sockets", "network off, or Linux 6.12 or newer",
		},
	}
}

// Always lists what is missing below every program that lays out mounts once and
// then only waits.
func Always[F any]() []Missing[F] {
	return []Missing[F]{
		{
			sandbox.CredentialsLate, nil,
			"credentials are covered when the command starts; a file or directory of them that somebody outside makes or replaces while it runs can be read", "the backend direct with --tier landlock leaves it unreadable",
		},
		{
			sandbox.UnixSockets, func(p sandbox.Profile, _ F) bool { return !p.UnixAllow },
			"sockets that exist are covered; one that a daemon makes elsewhere while the command runs can be connected to", "the backend direct with --tier landlock makes no unix sockets",
		},
		{
			sandbox.HooksProtected, func(p sandbox.Profile, _ F) bool { return p.Protect == nil && !p.ReadOnly },
			"files in the workspace that others run later (.git/hooks, build files) can be written", sandbox.FixProtect,
		},
		{
			sandbox.DenialsExplained, func(p sandbox.Profile, _ F) bool {
				return p.Explain != sandbox.ExplainNone || slices.Contains(p.Required, sandbox.DenialsExplained)
			},
			"nobody listens to what the command is refused", "the backend direct",
		},
	}
}
