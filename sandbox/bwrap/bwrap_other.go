//go:build !linux || (!amd64 && !arm64)

package bwrap

import (
	"context"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/under"
)

// Probe says sandbox.ErrUnsupported.
func (*Backend) Probe(context.Context) (sandbox.Capabilities, error) {
	return sandbox.Capabilities{}, under.Elsewhere(Name)
}

// Open says sandbox.ErrUnsupported.
func (*Backend) Open(context.Context, sandbox.Profile) (sandbox.Session, error) {
	return nil, under.Elsewhere(Name)
}
