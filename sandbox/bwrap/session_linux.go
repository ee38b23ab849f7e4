//go:build amd64 || arm64

package bwrap

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/bound"
	"github.com/sbx-run/sbx/sandbox/cgroup"
	"github.com/sbx-run/sbx/sandbox/egress"
	"github.com/sbx-run/sbx/sandbox/filter"
	"github.com/sbx-run/sbx/sandbox/layout"
	"github.com/sbx-run/sbx/sandbox/proc"
	"github.com/sbx-run/sbx/sandbox/spawn"
	"github.com/sbx-run/sbx/sandbox/under"
)

// session is one profile.
type session struct {
	profile sandbox.Profile
	only    variant
	program string // bwrap
	host    *layout.Host
	bounds  bound.Bounds
	filter  []byte

	mu     sync.RWMutex // runs read, Close and lower write
	init   *spawn.Init
	closed bool
	facts  facts
	decision
}

// Open prepares a session.
func (b *Backend) Open(_ context.Context, p sandbox.Profile) (sandbox.Session, error) {
	if i := p.Identity; i != nil && os.Geteuid() != 0 && i.UID != uint32(os.Geteuid()) {
		return nil, fmt.Errorf("run as user %d: only root can: %w", i.UID, sandbox.ErrUnavailable)
	}
	f := facts{noProc: b.only.noProc || p.Tier == tierNoProc, scoped: under.Scopes(), links: slices.ContainsFunc(p.Protect, isLink)}
	if err := offers(p); err != nil {
		return nil, err
	}
	s := &session{profile: p, only: b.only, facts: f}
	var err error
	if s.program, err = b.find(p); err != nil {
		return nil, err
	}
	if err = s.decide(f); err != nil {
		return nil, err
	}
	if s.filter, err = filter.Programs(s.filters); err != nil {
		return nil, fmt.Errorf("%w: %w", err, sandbox.ErrUnavailable)
	}
	if s.host, err = layout.OpenHost(p); err != nil {
		return nil, err
	}
	if s.init, err = under.NewInit(); err != nil {
		return nil, fmt.Errorf("%w: %w", err, sandbox.ErrUnavailable)
	}
	return s, nil
}

// offers refuses a tier that there is none of.
func offers(p sandbox.Profile) error {
	for _, name := range []string{p.Tier, p.MinTier} {
		if name != "" && name != tierFull && name != tierNoProc {
			return fmt.Errorf("no tier %q of the backend %s: %w", name, Name, sandbox.ErrUnavailable)
		}
	}
	return nil
}

func (b *Backend) find(p sandbox.Profile) (string, error) {
	if b.only.program != "" {
		return b.only.program, nil
	}
	at, err := proc.Tool("bwrap", os.Getenv("PATH"), p)
	if err != nil {
		return "", fmt.Errorf("find bwrap (Debian package bubblewrap): %w: %w", err, sandbox.ErrUnavailable)
	}
	return at, nil
}

// decide judges the profile under facts. With an error the session is as it was.
func (s *session) decide(f facts) error {
	d := decide(s.profile, f)
	b, gaps := bound.Of(s.profile.Limits, bound.Terms{
		Full: true, Root: layout.SubjectOf(s.profile).UID == 0, Able: func(w cgroup.Want) cgroup.Want { return cgroup.Host{}.Able(w) },
	})
	d.gaps = append(d.gaps, gaps...)
	d.enforced = append(d.enforced, s.profile.Limits.Kept(gaps)...)
	judged, err := s.profile.Judge(Name, d.gaps)
	if err != nil {
		return err
	}
	d.gaps = judged
	s.facts, s.decision, s.bounds = f, d, b
	return nil
}

// lower goes on without what bwrap could not do here. The error is of what the
// profile then lacks.
func (s *session) lower(without func(*facts)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.facts
	without(&f)
	if f.noProc && (s.profile.MinTier == tierFull || s.profile.Tier == tierFull) {
		return fmt.Errorf("tier %s: /proc cannot be mounted here: %w", tierFull, sandbox.ErrUnavailable)
	}
	return s.decide(f)
}

// Close lets go of pid 1's file. Runs that have started go on.
func (s *session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.init.Close()
}

func (s *session) tier() string {
	if s.facts.noProc {
		return tierNoProc
	}
	return tierFull
}

// Plan says what Run would do.
func (s *session) Plan(c sandbox.Command) (sandbox.Plan, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c = s.pointed(c)
	scene, hidden := s.look(c, "", files{texts: []int{-1}})
	plan := proc.PlanOf(Name, s.profile, c)
	plan.Tier, plan.Steps = s.tier(), steps(options(s.profile, s.facts, scene))
	plan.Write, plan.Hide, plan.Protect = layout.Writable(s.profile), hidden, slices.Clone(s.profile.Protect)
	plan.Enforced, plan.Gaps = slices.Clone(s.enforced), slices.Clone(s.gaps)
	return plan, nil
}

// pointed is the command with an environment that names its proxy.
func (s *session) pointed(c sandbox.Command) sandbox.Command {
	if s.profile.Network == sandbox.NetworkRules {
		c.Env = egress.Environment(c.Env)
	}
	return c
}

// look is the scene of a run.
func (s *session) look(c sandbox.Command, terminal string, with files) (scene, []string) {
	spots, hidden, links := s.host.Look(terminal)
	sc := scene{spots: spots, links: links, isLink: isLink, dir: c.DirIn(s.profile), files: with}
	if layout.SubjectOf(s.profile).UID == 0 {
		for _, name := range layout.HostProc() {
			if unix.Access(name, unix.F_OK) == nil {
				sc.private = append(sc.private, name)
			}
		}
	}
	return sc, hidden
}

func isLink(name string) bool {
	var st unix.Stat_t
	return unix.Lstat(name, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}

// Run starts the command and waits.
func (s *session) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	c = s.pointed(c)
	result, err := s.run(ctx, c)
	s.mu.RLock()
	defer s.mu.RUnlock()
	result.Backend, result.Tier, result.BackendVersion = Name, s.tier(), s.program
	result.Enforced, result.Gaps = slices.Clone(s.enforced), slices.Clone(s.gaps)
	result.Identity = s.profile.Identity
	return result, err
}

func (s *session) run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	s.mu.RLock()
	bounds := s.bounds
	s.mu.RUnlock()
	h, err := bounds.Open()
	if err != nil {
		return sandbox.Result{Ending: sandbox.NotStarted, ExitCode: 125}, err
	}
	defer h.Close()
	r := &run{session: s, command: c, hold: h, bounds: bounds}
	j := proc.Job{
		Command: c, Dir: c.DirIn(s.profile), Supervisor: s.profile.Supervisor, Init: true,
		Spawn: r.spawn,
	}
	bounds.Apply(&j, h)
	result, err := proc.Run(ctx, j)
	r.gate.Close(&result)
	return result, err
}
