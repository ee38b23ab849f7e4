//go:build !linux

package netproxy

import (
	"fmt"
	"io"
)

// Main is the program sbx-proxy, which serves sandboxes of Linux only.
func Main(_ []string, _, errs io.Writer) int {
	fmt.Fprintln(errs, "sbx: error: sbx-proxy serves the network namespaces of Linux, which this system does not have")
	return 2
}
