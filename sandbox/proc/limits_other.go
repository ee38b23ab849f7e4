//go:build !linux

package proc

import (
	"github.com/sbx-run/sbx/sandbox"
)

// Measured lists the limits that this package keeps by itself.
func Measured() []sandbox.Control { return []sandbox.Control{sandbox.LimitOutput} }
