//go:build linux && !amd64 && !arm64

package direct

import "github.com/sbx-run/sbx/sandbox"

// explainer does not exist where commands are started from a restricted thread:
// see explainGap.
type explainer struct{}

func newExplainer(sandbox.Profile, decision, bool) *explainer { return nil }

func (*explainer) finish(*sandbox.Result) {}

func explainGap(p sandbox.Profile, _ string, _ bool) *sandbox.Gap {
	if p.Explain == sandbox.ExplainNone {
		return unasked(p)
	}
	return &sandbox.Gap{Control: sandbox.DenialsExplained, Why: whyNoChild, Fix: fixNoChild}
}

// carryGap is none: rules cannot be held here, which is a gap of its own.
func carryGap(p sandbox.Profile, _ bool) *sandbox.Gap {
	if p.Network != sandbox.NetworkRules {
		return nil
	}
	return &sandbox.Gap{Control: sandbox.AllCarried, Why: whyNoChild, Fix: fixNoChild}
}
