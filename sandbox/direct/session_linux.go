package direct

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/filter"
	"github.com/sbx-run/sbx/sandbox/proc"
)

// tier is one strength of confinement.
type tier struct {
	name string
	open func(b *Backend, p sandbox.Profile) (sandbox.Session, error)
}

// tiers are tried in order; the first that this host can give is used. When
// none can, the run is refused.
func tiers() []tier {
	return []tier{
		{tierLandlock, openLandlock},
	}
}

// Open prepares a session. Nothing of it is weaker than the plan says: what
// this host cannot give is a gap, and a required gap refuses here.
func (b *Backend) Open(_ context.Context, p sandbox.Profile) (sandbox.Session, error) {
	if i := p.Identity; i != nil && os.Geteuid() != 0 && i.UID != uint32(os.Geteuid()) {
		return nil, fmt.Errorf("run as user %d: only root can: %w", i.UID, sandbox.ErrUnavailable)
	}
	var failed error
	for _, t := range tiers() {
		if b.only.tier != "" && t.name != b.only.tier {
			continue
		}
		s, err := t.open(b, p)
		if err == nil {
			return s, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// session is one profile under the tier landlock.
type session struct {
	profile     sandbox.Profile
	only        variant
	abi         int
	decision    decision
	programs    [][]byte // in the order of decision.filters
	write, read []place
	inside      []string // hidden paths below writable ones, judged when the session was opened

	mu     sync.Mutex
	rules  *ruleset
	closed bool
}

// tierLandlock is the name in plans and results.
const tierLandlock = "landlock"

func openLandlock(b *Backend, p sandbox.Profile) (sandbox.Session, error) {
	abi, err := landlockABI()
	if err != nil {
		return nil, err
	}
	found, stamps := survey(p)
	s := &session{profile: p, only: b.only, abi: abi, inside: insideWritable(p, found.hidden)}
	s.decision = decide(abi, p, s.inside)
	if s.decision.gaps, err = p.Judge(Name, s.decision.gaps); err != nil {
		return nil, err
	}
	if s.programs, err = programs(s.decision.filters); err != nil {
		return nil, err
	}
	if err := s.openPlaces(); err != nil {
		_ = s.Close()
		return nil, err
	}
	if s.rules, err = s.build(found, stamps); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("%w: %w", err, sandbox.ErrUnavailable)
	}
	return s, nil
}

func programs(names []string) ([][]byte, error) {
	var list [][]byte
	for _, name := range names {
		code, err := filter.Program(name)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", err, sandbox.ErrUnavailable)
		}
		list = append(list, code)
	}
	return list, nil
}

func (s *session) openPlaces() error {
	for _, name := range writable(s.profile) {
		p, err := openPlace(name)
		if err != nil {
			return fmt.Errorf("%w: %w", err, sandbox.ErrStart)
		}
		s.write = append(s.write, p)
	}
	for _, name := range s.profile.Read {
		p, err := openPlace(name)
		if err != nil {
			return fmt.Errorf("%w: %w", err, sandbox.ErrStart)
		}
		s.read = append(s.read, p)
	}
	return nil
}

// Close lets go of the session's descriptors. Runs that have started go on.
func (s *session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.retire()
	for _, p := range slices.Concat(s.write, s.read) {
		_ = unix.Close(p.fd)
	}
	return nil
}

// Plan says what Run would do.
func (s *session) Plan(c sandbox.Command) (sandbox.Plan, error) {
	r, err := s.acquire()
	if err != nil {
		return sandbox.Plan{}, err
	}
	defer s.release(r)
	plan := sandbox.Plan{
		Backend: Name, Tier: tierLandlock, Argv: slices.Clone(c.Argv), Dir: s.dir(c),
		Network: s.profile.Network.String(), Write: writable(s.profile), Hide: slices.Clone(r.hidden),
		Steps: s.describe(c), Enforced: slices.Clone(s.decision.enforced), Gaps: slices.Clone(s.decision.gaps),
	}
	for _, entry := range c.Env {
		name, _, _ := strings.Cut(entry, "=")
		plan.Env = append(plan.Env, name)
	}
	if len(c.Argv) > 0 {
		if at, err := proc.Lookup(c.Argv[0], c.Env, plan.Dir); err == nil {
			plan.Path = at
			if !filepath.IsAbs(at) {
				plan.Path = filepath.Join(plan.Dir, at)
			}
		}
	}
	return plan, nil
}

func (s *session) dir(c sandbox.Command) string {
	if c.Dir != "" {
		return c.Dir
	}
	return s.profile.Workspace
}

// Run starts the command and waits.
func (s *session) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	result, err := s.run(ctx, c)
	result.Backend, result.Tier = Name, tierLandlock
	result.Enforced, result.Gaps = slices.Clone(s.decision.enforced), slices.Clone(s.decision.gaps)
	result.Identity = s.profile.Identity
	return result, err
}

func (s *session) run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	refused := sandbox.Result{Ending: sandbox.NotStarted, ExitCode: 125}
	r, err := s.acquire()
	if err != nil {
		return refused, fmt.Errorf("prepare run: %w: %w", err, sandbox.ErrStart)
	}
	defer s.release(r)
	for _, p := range slices.Concat(s.write, s.read) {
		if err := p.same(); err != nil {
			return refused, fmt.Errorf("%w: %w", err, sandbox.ErrStart)
		}
	}
	return proc.Run(ctx, s.job(r.fd, c))
}

// threadJob confines a thread and starts the command from it.
func (s *session) threadJob(ruleset int, c sandbox.Command) proc.Job {
	return proc.Job{
		Command: c, Dir: s.dir(c), Supervisor: s.profile.Supervisor, NoCore: true,
		Prepare: func(t proc.Thread) error { return s.restrict(ruleset, t) },
	}
}

// describeThread lists what threadJob does.
func (s *session) describeThread() []string {
	var names []string
	if s.profile.Supervisor {
		names = append(names, "close descriptors above 2 on exec", "become subreaper", "limit core dumps to 0")
	} else {
		names = append(names, "copy descriptor table, close descriptors above 2 on exec")
	}
	names = append(names, "forbid access to own memory")
	for _, st := range s.steps(-1, proc.Thread{}) {
		names = append(names, st.name)
	}
	if s.profile.Supervisor {
		return append(names, "execute in own process group, killed with sbx")
	}
	return append(names, "execute in new process group", "limit core dumps to 0")
}
