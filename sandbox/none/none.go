// Package none runs a command without isolation. It is used by its name only
// and never as a fallback.
package none

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

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

// Probe lists every control as a gap.
func (*Backend) Probe(context.Context) (sandbox.Capabilities, error) {
	return sandbox.Capabilities{Backend: Name, Gaps: gaps()}, nil
}

// Open refuses nothing: who asks for this backend by name has accepted that
// there is no isolation, and every control is a gap in the plan and the result.
func (*Backend) Open(_ context.Context, p sandbox.Profile) (sandbox.Session, error) {
	if p.MinTier+p.Tier != "" {
		return nil, fmt.Errorf("tier %q: the backend none has no tiers: %w", p.MinTier+p.Tier, sandbox.ErrUnavailable)
	}
	judged, _ := p.Judge(Name, gaps())
	for i := range judged {
		judged[i].Accepted = true
	}
	return &session{p, judged}, nil
}

func gaps() []sandbox.Gap {
	var list []sandbox.Gap
	for _, c := range sandbox.Controls() {
		list = append(list, sandbox.Gap{Control: c, Why: "the backend none confines nothing", Fix: "choose another backend"})
	}
	return list
}

type session struct {
	profile sandbox.Profile
	gaps    []sandbox.Gap
}

func (s *session) Close() error { return nil }

func (s *session) dir(c sandbox.Command) string {
	if c.Dir != "" {
		return c.Dir
	}
	return s.profile.Workspace
}

// Plan says what Run would do.
func (s *session) Plan(c sandbox.Command) (sandbox.Plan, error) {
	plan := sandbox.Plan{
		Backend: Name, Argv: slices.Clone(c.Argv), Dir: s.dir(c), Network: sandbox.NetworkHost.String(),
		Write: []string{"/"}, Steps: []string{"execute"}, Gaps: slices.Clone(s.gaps),
	}
	for _, entry := range c.Env {
		name, _, _ := strings.Cut(entry, "=")
		plan.Env = append(plan.Env, name)
	}
	if len(c.Argv) > 0 {
		if at, err := proc.Lookup(c.Argv[0], c.Env, plan.Dir); err == nil {
			plan.Path = at
			if !filepath.IsAbs(at) {
				plan.Path = filepath.Join(plan.Dir, at)
			}
		}
	}
	return plan, nil
}

// Run starts the command as it is and waits.
func (s *session) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	result, err := proc.Run(ctx, proc.Job{Command: c, Dir: s.dir(c), Supervisor: s.profile.Supervisor})
	result.Backend, result.Gaps = Name, slices.Clone(s.gaps)
	return result, err
}
