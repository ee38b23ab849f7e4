//go:build linux && !amd64 && !arm64

package bound

import "github.com/sbx-run/sbx/sandbox"

// userTasks is not asked for: a thread's commands get no limit in time.
func userTasks() (int, error) { return 0, sandbox.ErrUnsupported }
