//go:build !unix

package netproxy

import (
	"fmt"
	"io"
)

// Main is the program sbx-proxy, which this system has no sandboxes for.
func Main(_ []string, _, errs io.Writer) int {
	fmt.Fprintln(errs, "sbx: error: sbx-proxy serves no sandbox of this system")
	return 2
}
