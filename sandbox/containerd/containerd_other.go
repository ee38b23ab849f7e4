//go:build !linux

package containerd

import (
	"context"
	"fmt"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// Elsewhere containerd runs in a virtual machine, and no descriptor crosses into
// that.
var errElsewhere = fmt.Errorf("%s: %w", Name, sandbox.ErrUnsupported)

func (b *Backend) probe(context.Context) (sandbox.Capabilities, error) {
	return sandbox.Capabilities{}, errElsewhere
}

func (b *Backend) open(context.Context, sandbox.Profile) (sandbox.Session, error) {
	return nil, errElsewhere
}

func (b *Backend) start(context.Context, sandbox.Profile, string, time.Duration) (sandbox.Warm, error) {
	return sandbox.Warm{}, errElsewhere
}

func (b *Backend) stop(context.Context, sandbox.Profile, sandbox.Warm) error { return errElsewhere }
