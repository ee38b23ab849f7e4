//go:build !linux || (!amd64 && !arm64)

package pid1

import (
	"fmt"
	"os"
)

// Main is for containers of Linux on amd64 and arm64 only.
func Main([]string) int {
	fmt.Fprintln(os.Stderr, "sbx-init: error: it is built for another system")
	return 125
}
