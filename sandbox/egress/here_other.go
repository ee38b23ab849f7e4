//go:build !unix

package egress

import "github.com/sbx-run/sbx/sandbox"

// Gate is a running sbx-proxy. On this system there is none.
type Gate struct{}

// StartHere says sandbox.ErrUnsupported.
func StartHere(*sandbox.Egress) (*Gate, string, error) { return nil, "", sandbox.ErrUnsupported }

// Close does nothing.
func (*Gate) Close(*sandbox.Result) {}

// Kill does nothing.
func (*Gate) Kill() {}
