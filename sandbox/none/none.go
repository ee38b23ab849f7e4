// Package none runs a command without isolation. It is used by its name only
// and never as a fallback.
package none

import (
	"context"
	"fmt"
	"slices"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/proc"
)

// Name is the word for --backend and the configuration.
const Name = "none"

// Backend confines nothing. It is safe for concurrent use.
type Backend struct{}

// New returns the backend.
func New() *Backend { return &Backend{} }

// Name returns "none".
func (*Backend) Name() string { return Name }

// OnlyNamed says that nobody gets this backend who has not asked for it.
func (*Backend) OnlyNamed() bool { return true }

// Probe lists every control as a gap.
func (*Backend) Probe(context.Context) (sandbox.Capabilities, error) {
	return sandbox.Capabilities{Backend: Name, Gaps: gaps(sandbox.Limits{})}, nil
}

// Open refuses no missing isolation: who asks for this backend by name has
// accepted that there is none, and every control is a gap in the plan and the
// result. A limit that cannot be kept is refused unless it was accepted.
func (*Backend) Open(_ context.Context, p sandbox.Profile) (sandbox.Session, error) {
	if p.MinTier+p.Tier != "" {
		return nil, fmt.Errorf("tier %q: the backend none has no tiers: %w", p.MinTier+p.Tier, sandbox.ErrUnavailable)
	}
	judged, err := p.Judge(Name, gaps(p.Limits))
	var missing []sandbox.Gap
	for i := range judged {
		if g := &judged[i]; !slices.Contains(p.Limits.Asked(), g.Control) {
			g.Accepted = true
		} else if !g.Accepted {
			missing = append(missing, *g)
		}
	}
	if err != nil && len(missing) > 0 {
		return nil, &sandbox.GapError{Backend: Name, Gaps: missing}
	}
	p.Limits = p.Limits.Without(sandbox.GapControls(judged))
	return &session{p, judged, kept(p.Limits)}, nil
}

func gaps(l sandbox.Limits) []sandbox.Gap {
	var list []sandbox.Gap
	measured := measured()
	for _, c := range sandbox.Controls() {
		g := sandbox.Gap{Control: c, Why: "the backend none confines nothing", Fix: "choose another backend"}
		switch {
		case c == sandbox.LimitsExact:
			g.Why = "the backend none measures limits from outside, and sets some of them when the command has begun to run"
		case slices.Contains(measured, c):
			continue
		case c == sandbox.LimitProcesses:
			g.Why = "the backend none cannot keep processes from being made faster than they can be ended"
		case c == sandbox.LimitFileSize:
			g.Why = "the backend none can set it only when the command has begun to run, and may have written"
		case slices.Contains(sandbox.LimitControls(), c):
			g.Why = "the backend none cannot keep this limit on this system"
		}
		if l.Speaks(c) {
			list = append(list, g)
		}
	}
	return list
}

// measured lists the limits that can be kept. A fork bomb outruns who looks at
// it from outside, and a file may be written before its limit is set.
func measured() []sandbox.Control {
	return slices.DeleteFunc(proc.Measured(), func(c sandbox.Control) bool {
		return c == sandbox.LimitProcesses || c == sandbox.LimitFileSize
	})
}

// kept lists the limits that are kept.
func kept(l sandbox.Limits) []sandbox.Control {
	list := []sandbox.Control{}
	for _, c := range l.Asked() {
		if slices.Contains(measured(), c) {
			list = append(list, c)
		}
	}
	return list
}

type session struct {
	profile sandbox.Profile
	gaps    []sandbox.Gap
	kept    []sandbox.Control
}

func (s *session) Close() error { return nil }

// Plan says what Run would do.
func (s *session) Plan(c sandbox.Command) (sandbox.Plan, error) {
	plan := proc.PlanOf(Name, s.profile, c)
	plan.Network, plan.Write, plan.Steps = sandbox.NetworkHost.String(), []string{"/"}, []string{"execute"}
	plan.Enforced, plan.Gaps = slices.Clone(s.kept), slices.Clone(s.gaps)
	return plan, nil
}

// Run starts the command as it is and waits.
func (s *session) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	result, err := proc.Run(ctx, proc.Job{
		Command: c, Dir: c.DirIn(s.profile), Supervisor: s.profile.Supervisor, Limits: s.profile.Limits, Identity: s.profile.Identity,
	})
	result.Identity = s.profile.Identity
	result.Backend, result.Enforced, result.Gaps = Name, slices.Clone(s.kept), slices.Clone(s.gaps)
	return result, err
}
