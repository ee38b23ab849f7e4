//go:build !unix

package probes

import (
	"context"

	"github.com/sbx-run/sbx/sandbox"
)

// Run needs a shell.
func Run(context.Context, sandbox.Backend, Options) (Report, error) {
	return Report{}, sandbox.ErrUnsupported
}

// Main is the probe program, which there is not.
func Main([]string, Open) int { return exitSetup }
