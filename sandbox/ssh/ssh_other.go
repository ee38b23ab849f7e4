//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package ssh

import (
	"context"
	"os"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/ssh/wire"
)

// link: OpenSSH shares connections on other systems only.
type link struct{}

func newLink(Options, sandbox.Profile) (*link, error) { return nil, sandbox.ErrUnsupported }

type session struct {
	options Options
	profile sandbox.Profile
	link    *link
	where   os.FileInfo
}

func (s *session) Close() error         { return nil }
func (s *session) wrap(err error) error { return err }

func (s *session) ask(context.Context, wire.Order, sandbox.Command) (wire.Answer, error) {
	return wire.Answer{}, sandbox.ErrUnsupported
}

// Plan does not exist on this system.
func (s *session) Plan(sandbox.Command) (sandbox.Plan, error) {
	return sandbox.Plan{}, sandbox.ErrUnsupported
}

// Run does not exist on this system.
func (s *session) Run(context.Context, sandbox.Command) (sandbox.Result, error) {
	return sandbox.Result{Backend: Name, Ending: sandbox.NotStarted, ExitCode: 125}, sandbox.ErrUnsupported
}
