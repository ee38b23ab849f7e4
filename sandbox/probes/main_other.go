//go:build !linux || !(amd64 || arm64)

package probes

import (
	"context"

	"github.com/sbx-run/sbx/sandbox"
)

// Run needs the probe program, which exists for Linux on two architectures.
func Run(context.Context, sandbox.Backend, Options) (Report, error) {
	return Report{}, sandbox.ErrUnsupported
}

// Main is the probe program.
func Main([]string, Open) int { return exitSetup }
