package under

import (
	"fmt"
	"runtime"

	"github.com/sbx-run/sbx/sandbox"
)

// Elsewhere is the error of a backend where this package does not work: process 1
// of the command is written in assembly, for two architectures so far.
func Elsewhere(backend string) error {
	text := fmt.Sprintf("the backend %s is for Linux on amd64 and arm64, and this is %s on %s", backend, runtime.GOOS, runtime.GOARCH)
	if runtime.GOOS == "linux" {
		text += ": use docker, podman or containerd"
	}
	return fmt.Errorf("%s: %w", text, sandbox.ErrUnsupported)
}
