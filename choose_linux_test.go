package sbx

import (
	"context"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/choice"
)

// No backend that runs commands among this host's own files enforces more than
// the one that is taken without looking at the others.
func TestFullIsTheStrongest(t *testing.T) {
	list := choice.MeasureAll(context.Background(), Backends(), nil)
	var direct sandbox.Capabilities
	for _, m := range list {
		if m.Capabilities.Backend == "direct" && m.Err == nil {
			direct = m.Capabilities
		}
	}
	if direct.Tier != "full" {
		t.Skip("the tier full does not work here")
	}
	choice.Rank(list)
	if first := list[0].Capabilities; first.Backend != "direct" {
		t.Errorf("%s enforces %v, direct %v", first.Backend, first.Enforced, direct.Enforced)
	}
}
