// Package seatbelt confines a command by sandbox-exec, the sandbox of macOS. It
// writes a profile in the language of that program (SBPL) and starts it with the
// command; how the command lives and ends is the business of package proc.
package seatbelt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/egress"
	"github.com/sbx-run/sbx/sandbox/proc"
)

// Name is the word for --backend and the configuration.
const Name = "seatbelt"

// program is a part of the system, which the system protects: it is never looked
// for anywhere else.
const program = "/usr/bin/sandbox-exec"

// Options say how sandbox-exec is found. The zero value is right on macOS.
type Options struct {
	// Program is the absolute path of sandbox-exec. With it the backend can be
	// tried on other systems.
	Program string
}

// Backend is safe for concurrent use.
type Backend struct{ options Options }

// New returns the backend.
func New(o Options) *Backend { return &Backend{o} }

// Name returns "seatbelt".
func (*Backend) Name() string { return Name }

// check finds the program and sees that it can be trusted under a profile.
func (b *Backend) check(p sandbox.Profile) (string, error) {
	at := b.options.Program
	if at == "" {
		if at = program; runtime.GOOS != "darwin" {
			return "", fmt.Errorf("seatbelt: sandbox-exec is a program of macOS, and this is %s: %w", runtime.GOOS, sandbox.ErrUnsupported)
		}
	}
	if err := proc.Trusted(at, p); err != nil {
		return "", fmt.Errorf("seatbelt: use %s: %w: %w", at, err, sandbox.ErrUnavailable)
	}
	return at, nil
}

// Probe runs a program under a profile that lets it write to one directory, and
// sees that it can, and that it cannot write beside it.
func (b *Backend) Probe(ctx context.Context) (sandbox.Capabilities, error) {
	at, err := b.check(sandbox.Profile{})
	if err != nil {
		return sandbox.Capabilities{}, err
	}
	if err := tryOut(ctx, at); err != nil {
		return sandbox.Capabilities{}, fmt.Errorf("seatbelt: %w: %w", err, sandbox.ErrUnavailable)
	}
	return sandbox.Capabilities{Backend: Name, Enforced: held(sandbox.Profile{}), Gaps: gaps(sandbox.Profile{})}, nil
}

func tryOut(ctx context.Context, program string) error {
	dir, err := os.MkdirTemp("", "sbx-try-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	workspace := filepath.Join(realPath(dir), "ws")
	if err := os.Mkdir(workspace, 0o700); err != nil {
		return err
	}
	c := exec.CommandContext(ctx, program, "-p", text(sandbox.Profile{Workspace: workspace}, realPath, ""), "--",
		"/bin/sh", "-c", `: >in; : >../out`)
	c.Dir, c.Env = workspace, []string{"PATH=/usr/bin:/bin"}
	said, _ := c.CombinedOutput() // the second one fails
	if _, err := os.Stat(filepath.Join(workspace, "in")); err != nil {
		words, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
		return fmt.Errorf("a program could not write to its workspace: %s", words)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(workspace), "out")); err == nil {
		return errors.New("a program could write outside of its workspace")
	}
	return nil
}

// realPath resolves what exists of a path and keeps the rest.
func realPath(at string) string {
	rest := ""
	for p := filepath.Clean(at); ; p = filepath.Dir(p) {
		if resolved, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(resolved, rest)
		}
		if p == filepath.Dir(p) {
			return filepath.Clean(at)
		}
		rest = filepath.Join(filepath.Base(p), rest)
	}
}

// Open judges the profile against what the language can say.
func (b *Backend) Open(_ context.Context, p sandbox.Profile) (sandbox.Session, error) {
	at, err := b.check(p)
	if err != nil {
		return nil, err
	}
	if p.Tier+p.MinTier != "" {
		return nil, fmt.Errorf("tier %q: the backend seatbelt has no tiers: %w", p.MinTier+p.Tier, sandbox.ErrUnavailable)
	}
	judged, err := p.Judge(Name, gaps(p))
	if err != nil {
		return nil, err
	}
	return &session{at, p, judged, held(p)}, nil
}

type session struct {
	program string
	profile sandbox.Profile
	gaps    []sandbox.Gap
	held    []sandbox.Control
}

func (s *session) Close() error { return nil }

// anyPort stands in a plan for the port of the proxy: each run has its own.
const (
	loopback = "127.0.0.1:"
	anyPort  = "PORT"
)

// env is the environment of the command. proxy is the address of its way out.
func (s *session) env(c sandbox.Command, proxy string) []string {
	if s.profile.Network == sandbox.NetworkRules {
		return egress.EnvironmentAt(c.Env, proxy)
	}
	return c.Env
}

// argv is the command line of sandbox-exec.
func (s *session) argv(at string, c sandbox.Command, port string) []string {
	return append([]string{s.program, "-p", text(s.profile, realPath, port), "--", at}, c.Argv[1:]...)
}

// Plan says what Run would do. Its steps are the rules of the profile.
func (s *session) Plan(c sandbox.Command) (sandbox.Plan, error) {
	p := s.profile
	plan := sandbox.Plan{
		Backend: Name, Dir: c.DirIn(s.profile), Network: p.NetworkSetting(), Write: writable(p, realPath), Hide: p.Hide, Protect: p.Protect,
		Enforced: slices.Clone(s.held), Gaps: slices.Clone(s.gaps), Argv: slices.Clone(c.Argv),
	}
	for _, r := range rules(p, realPath, anyPort) {
		plan.Steps = append(plan.Steps, r.String())
	}
	plan.Steps = append(plan.Steps, "execute")
	plan.Env = sandbox.VariableNames(s.env(c, loopback+anyPort))
	if len(c.Argv) > 0 {
		if at, err := proc.Lookup(c.Argv[0], c.Env, plan.Dir); err == nil {
			plan.Path = at
			plan.Argv = s.argv(at, c, anyPort)
		}
	}
	return plan, nil
}

// Run starts sandbox-exec with the command and waits. The command is looked up
// here: what sandbox-exec says of a missing one is a status that the command's own
// could be.
func (s *session) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	result := sandbox.Result{Ending: sandbox.NotStarted, ExitCode: 125, Backend: Name}
	if len(c.Argv) == 0 {
		return result, fmt.Errorf("seatbelt: no arguments: %w", sandbox.ErrStart)
	}
	// The profile names the workspace by its path: a link there would not be meant.
	if realPath(s.profile.Workspace) != s.profile.Workspace {
		return result, fmt.Errorf("seatbelt: the workspace %s has been replaced: %w", s.profile.Workspace, sandbox.ErrStart)
	}
	at, err := proc.Lookup(c.Argv[0], c.Env, c.DirIn(s.profile))
	if err != nil {
		return s.record(proc.Missing(err)), nil
	}
	// The proxy holds the rules, and the command reaches nothing beside it.
	var gate *egress.Gate
	proxy := ""
	if s.profile.Network == sandbox.NetworkRules {
		if gate, proxy, err = egress.StartHere(s.profile.Egress); err != nil {
			return result, fmt.Errorf("seatbelt: %w: %w", err, sandbox.ErrStart)
		}
	}
	job := proc.Job{Command: c, Dir: c.DirIn(s.profile), Supervisor: s.profile.Supervisor, Limits: s.profile.Limits, Identity: s.profile.Identity}
	job.Command.Argv, job.Command.Env = s.argv(at, c, strings.TrimPrefix(proxy, loopback)), s.env(c, proxy)
	ran, err := proc.Run(ctx, job)
	gate.Close(&ran)
	if err == nil && (ran.Ending == sandbox.NotFound || ran.Ending == sandbox.NotExec) {
		return result, fmt.Errorf("seatbelt: %s cannot be executed: %w", s.program, sandbox.ErrUnavailable)
	}
	return s.record(ran), err
}

func (s *session) record(r sandbox.Result) sandbox.Result {
	r.Backend, r.Identity = Name, s.profile.Identity
	r.Enforced, r.Gaps = slices.Clone(s.held), slices.Clone(s.gaps)
	return r
}
