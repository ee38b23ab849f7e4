// Package firejail confines commands with firejail, for hosts that have it. It is
// told each thing by an option and never a profile, and what it made of that is
// looked at before the command starts: its configuration can weaken options, and
// it goes on after some that it does not carry out.
package firejail

import "github.com/sbx-run/sbx/sandbox"

// Name is the word for --backend and the configuration.
const Name = "firejail"

// Backend confines with firejail. It is safe for concurrent use.
type Backend struct{ program string }

// New returns the backend. Where it cannot run it exists and says
// sandbox.ErrUnsupported.
func New() *Backend { return &Backend{} }

// Name returns "firejail".
func (*Backend) Name() string { return Name }

var _ sandbox.Backend = (*Backend)(nil)
