package command

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/proc"
)

type session struct {
	backend *Backend
	place   os.FileInfo // the workspace as it was opened
	profile sandbox.Profile
	gaps    []sandbox.Gap
	held    []sandbox.Control
}

func (s *session) Close() error { return nil }

// changeDir starts a program in another directory than the workspace, which is
// where the contract starts it.
const changeDir = `cd -- "$1" && shift && exec "$@"`

// argv is what is executed.
func (s *session) argv(c sandbox.Command) []string {
	argv := []string{s.backend.path}
	if c.Dir != "" && c.Dir != s.profile.Workspace {
		argv = append(argv, "sh", "-c", changeDir, "sh", c.Dir)
	}
	return append(argv, c.Argv...)
}

// Plan says what Run would do.
func (s *session) Plan(c sandbox.Command) (sandbox.Plan, error) {
	p := s.profile
	plan := sandbox.Plan{
		Backend: s.backend.Name(), Argv: s.argv(c), Path: s.backend.path, Dir: p.Workspace, Network: p.NetworkSetting(),
		Write: append([]string{p.Workspace}, p.Write...), Hide: p.Hide, Steps: []string{"execute the wrapper"},
		Enforced: slices.Clone(s.held), Gaps: slices.Clone(s.gaps),
	}
	plan.Env = sandbox.VariableNames(wrapperEnv(c.Env, s.backend, p))
	return plan, nil
}

// Run starts the wrapper and waits.
func (s *session) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	if len(c.Argv) == 0 {
		return s.notStarted("no arguments", sandbox.ErrStart)
	}
	// The wrapper is trusted as it was checked, not as it was when the session
	// was opened.
	if err := s.backend.check(s.profile); err != nil {
		return sandbox.Result{Ending: sandbox.NotStarted, ExitCode: 125, Backend: s.backend.Name()}, err
	}
	p := s.profile
	// A link in its place would be followed by the wrapper.
	if now, err := os.Lstat(p.Workspace); err != nil || !os.SameFile(now, s.place) {
		return s.notStarted("the workspace "+p.Workspace+" has been replaced", sandbox.ErrStart)
	}
	// Limits are measured from outside whether they are claimed or not: that finds
	// processes of this host alone.
	job := proc.Job{Dir: p.Workspace, Supervisor: p.Supervisor, Limits: p.Limits}
	if !s.backend.options.User {
		job.Identity = p.Identity
	}
	job.Command = c
	job.Command.Argv, job.Command.Env = s.argv(c), wrapperEnv(c.Env, s.backend, p)
	result, err := proc.Run(ctx, job)
	if err == nil && (result.Ending == sandbox.NotFound || result.Ending == sandbox.NotExec) {
		return s.notStarted("the wrapper cannot be executed", sandbox.ErrUnavailable)
	}
	// The contract has no other word for a signal than a status of 128+n.
	if n := result.ExitCode - 128; result.Ending == sandbox.Exited && n > 0 && n < 32 {
		result.Ending, result.Signal = sandbox.Signaled, n
	}
	result.Identity, result.Backend = p.Identity, s.backend.Name()
	result.Enforced, result.Gaps = slices.Clone(s.held), slices.Clone(s.gaps)
	return result, err
}

func (s *session) notStarted(why string, kind error) (sandbox.Result, error) {
	return sandbox.Result{Ending: sandbox.NotStarted, ExitCode: 125, Backend: s.backend.Name()},
		fmt.Errorf("backend %s: %s: %w", s.backend.Name(), why, kind)
}
