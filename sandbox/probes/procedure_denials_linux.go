//go:build amd64 || arm64

package probes

import (
	"fmt"
	"slices"

	"github.com/sbx-run/sbx/sandbox"
)

// denialTold lets a command be refused to make a file outside, and looks for it
// in the result: PROCEDURE FILE.
func (r *runner) denialTold(row Row, at place) (observation, []sandbox.Gap) {
	file := r.expanded(row.Procedure[1:])[0]
	d := r.startAs(r.act("create", file), at, row.Setup, way{change: func(o *order) {
		o.Profile.Explain = sandbox.ExplainWrites
	}}).wait()
	if d.err != "" {
		return failure(d)
	}
	told := slices.ContainsFunc(d.denials, func(have sandbox.Denial) bool {
		return have.Operation == sandbox.DeniedCreate && have.Path == file && have.Layer != "" && have.Rule != ""
	})
	return observation{ran: true, open: told, detail: fmt.Sprintf("%d denials told", len(d.denials))}, d.plan.Gaps
}
