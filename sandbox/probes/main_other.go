//go:build unix && (!linux || !(amd64 || arm64))

package probes

import (
	"context"

	"github.com/sbx-run/sbx/sandbox"
)

// Run tries the rows that a shell can do: the probe program exists for Linux on
// two architectures. The others it cannot try, and says so.
func Run(ctx context.Context, b sandbox.Backend, o Options) (Report, error) {
	return runPortable(ctx, b, o)
}

// Main is the probe program, which there is not.
func Main([]string, Open) int { return exitSetup }
