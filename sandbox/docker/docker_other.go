//go:build !linux

package docker

import (
	"context"
	"fmt"
	"time"

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

func (b *Backend) start(context.Context, sandbox.Profile, string, time.Duration) (sandbox.Warm, error) {
	return sandbox.Warm{}, fmt.Errorf("%s: %w", b.engine, sandbox.ErrUnsupported)
}

func (b *Backend) stop(context.Context, sandbox.Profile, sandbox.Warm) error {
	return fmt.Errorf("%s: %w", b.engine, sandbox.ErrUnsupported)
}
