package sbx

import (
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/direct"
	"github.com/sbx-run/sbx/sandbox/none"
)

// Backends lists every backend of this build. None of them is chosen by
// itself: Options.Backend names one, and an empty name means direct.
func Backends() *sandbox.Registry {
	r := sandbox.NewRegistry()
	r.Add(direct.New())
	r.Add(none.New())
	return r
}
