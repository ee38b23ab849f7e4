//go:build amd64 || arm64

package direct

import (
	"errors"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/egress"
	"github.com/sbx-run/sbx/sandbox/spawn"
)

// pointed is the command with an environment that names its proxy.
func (s *full) pointed(c sandbox.Command) sandbox.Command {
	if s.profile.Network == sandbox.NetworkRules {
		c.Env = egress.Environment(c.Env)
	}
	return c
}

// openGate starts sbx-proxy for a run with rules, and appends the steps that
// give it the listener and wait until it serves: a command that has started can
// always reach its proxy. nil without rules.
func (s *full) openGate(p *spawn.Plan, pipes *spawn.Pipes, names *uint64) (*egress.Gate, error) {
	if s.profile.Network != sandbox.NetworkRules {
		return nil, nil
	}
	gate, err := egress.Start(s.profile.Egress)
	if err != nil {
		return nil, err
	}
	planGate(p, pipes, gate.Child, names)
	before := p.AfterClone
	p.AfterClone = func(pid int) error {
		if before != nil {
			if err := before(pid); err != nil {
				return err
			}
		}
		gate.CloseChild() // the child has its own copy
		err := gate.Ready()
		if errors.Is(err, egress.ErrNoListener) {
			return nil // the child says which step failed
		}
		if err != nil {
			return err
		}
		return pipes.Release()
	}
	return gate, nil
}

// planGate is what the child does for it.
func planGate(p *spawn.Plan, pipes *spawn.Pipes, child int, names *uint64) {
	egress.SendListener(p, child, names)
	p.AwaitRelease(pipes)
}
