//go:build !linux

package docker

import (
	"context"
	"fmt"

	"github.com/sbx-run/sbx/sandbox"
)

// Elsewhere the engine runs in a virtual machine, and no descriptor crosses into
// that.
func (b *Backend) probe(context.Context) (sandbox.Capabilities, error) {
	return sandbox.Capabilities{}, fmt.Errorf("%s: %w", b.engine, sandbox.ErrUnsupported)
}

func (b *Backend) open(context.Context, sandbox.Profile) (sandbox.Session, error) {
	return nil, fmt.Errorf("%s: %w", b.engine, sandbox.ErrUnsupported)
}
