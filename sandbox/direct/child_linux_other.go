//go:build linux && !amd64 && !arm64

package direct

import (
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/bound"
	"github.com/sbx-run/sbx/sandbox/proc"
)

// Package spawn has no assembly for this architecture yet: the landlock tier
// goes by way of a restricted thread.
func (s *session) job(r *held, c sandbox.Command, _ environ, _ *bound.Hold, _ *explainer) proc.Job {
	return s.threadJob(r.fd, c)
}
func (s *session) spawns() bool                      { return false }
func (s *session) describe(sandbox.Command) []string { return s.describeThread() }
func (s *session) tried(ruleset int) error           { return s.tryThread(ruleset) }
