package proc

import (
	"path/filepath"
	"slices"

	"github.com/sbx-run/sbx/sandbox"
)

// PlanOf fills in what a plan says of a command that is looked up on this host, and
// of the profile, whatever confines it.
func PlanOf(backend string, p sandbox.Profile, c sandbox.Command) sandbox.Plan {
	plan := sandbox.Plan{
		Backend: backend, Argv: slices.Clone(c.Argv), Dir: c.DirIn(p), Env: sandbox.VariableNames(c.Env), Network: p.NetworkSetting(),
	}
	if len(c.Argv) > 0 {
		if at, err := Lookup(c.Argv[0], c.Env, plan.Dir); err == nil {
			plan.Path = at
			if !filepath.IsAbs(at) {
				plan.Path = filepath.Join(plan.Dir, at)
			}
		}
	}
	return plan
}
