//go:build !linux

package direct

import (
	"context"
	"fmt"
	"runtime"

	"github.com/sbx-run/sbx/sandbox"
)

// Probe fails: the backend is for Linux.
func (*Backend) Probe(context.Context) (sandbox.Capabilities, error) {
	return sandbox.Capabilities{}, unsupported()
}

// Open fails: the backend is for Linux.
func (*Backend) Open(context.Context, sandbox.Profile) (sandbox.Session, error) {
	return nil, unsupported()
}

func unsupported() error { return fmt.Errorf("direct on %s: %w", runtime.GOOS, sandbox.ErrUnsupported) }
