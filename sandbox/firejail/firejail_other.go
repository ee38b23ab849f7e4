//go:build !linux || !amd64

package firejail

import (
	"context"
	"fmt"

	"github.com/sbx-run/sbx/sandbox"
)

// Probe says sandbox.ErrUnsupported.
func (*Backend) Probe(context.Context) (sandbox.Capabilities, error) {
	return sandbox.Capabilities{}, errElsewhere()
}

// Open says sandbox.ErrUnsupported.
func (*Backend) Open(context.Context, sandbox.Profile) (sandbox.Session, error) {
	return nil, errElsewhere()
}

// errElsewhere: process 1 of the command is written in assembly, for one
// architecture so far.
func errElsewhere() error {
	return fmt.Errorf("the backend %s is for Linux on amd64: %w", Name, sandbox.ErrUnsupported)
}
