//go:build !unix

package far

import "os"

// Serve does nothing on this system: no sbx runs commands here for another.
func Serve(_, _ *os.File, _ Runner) int { return 1 }
