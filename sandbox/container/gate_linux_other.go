//go:build linux && !amd64

package container

import (
	"context"
	"fmt"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/pid1"
)

// holdsRules: it was tried on amd64 only.
const holdsRules = false

func runRuled(context.Context, *pid1.Conn, *sandbox.Egress, sandbox.Command, pid1.Setting) (sandbox.Result, error) {
	return notStarted(), fmt.Errorf("hold the command to a list of hosts: %w", sandbox.ErrUnsupported)
}
