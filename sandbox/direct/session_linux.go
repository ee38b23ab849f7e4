package direct

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/bound"
	"github.com/sbx-run/sbx/sandbox/filter"
	"github.com/sbx-run/sbx/sandbox/layout"
	"github.com/sbx-run/sbx/sandbox/proc"
)

// The tiers by name.
const (
	tierFull       = "full"
	tierFullNoProc = "full-noproc"
	tierLandlock   = "landlock"
)

// tier is one strength of confinement.
type tier struct {
	name string
	// try finds out whether this host can give it; nil: open does.
	try  func() error
	open func(b *Backend, p sandbox.Profile) (sandbox.Session, error)
}

// tiers are tried in order; the first that this host can give is used. When
// none can, the run is refused.
func tiers() []tier {
	return append(namespaceTiers(), tier{tierLandlock, nil, openLandlock})
}

// Open prepares a session. Nothing of it is weaker than the plan says: what
// this host cannot give is a gap, and a required gap refuses here.
func (b *Backend) Open(_ context.Context, p sandbox.Profile) (sandbox.Session, error) {
	if i := p.Identity; i != nil && os.Geteuid() != 0 && i.UID != uint32(os.Geteuid()) {
		return nil, fmt.Errorf("run as user %d: only root can: %w", i.UID, sandbox.ErrUnavailable)
	}
	steps, err := b.ladder(p)
	if err != nil {
		return nil, err
	}
	// Trying costs as much as a run. A process that exists for one run finds out
	// by running: see descent.
	if p.Supervisor && steps[0].try != nil && !tried(steps[0].name) {
		s, err := steps[0].open(b, p)
		if err == nil {
			return &descent{backend: b, profile: p, steps: steps, Session: s}, nil
		}
	}
	return b.openFirst(p, steps)
}

// ladder lists the tiers that will do for a profile.
func (b *Backend) ladder(p sandbox.Profile) ([]tier, error) {
	var steps []tier
	known := p.MinTier == ""
	exact := p.Tier
	if b.only.tier != "" {
		exact = b.only.tier
	}
	for _, t := range tiers() {
		if p.Preview != nil && t.try == nil {
			continue // a layer needs a mount namespace
		}
		if exact == "" || t.name == exact {
			steps = append(steps, t)
		}
		if t.name == p.MinTier {
			known = true
			break
		}
	}
	if !known {
		return nil, fmt.Errorf("no tier %q of the backend %s here: %w", p.MinTier, Name, sandbox.ErrUnavailable)
	}
	if len(steps) == 0 && p.Preview != nil {
		return nil, fmt.Errorf("preview: it needs the tier %s, with user and mount namespaces: %w", tierFull, sandbox.ErrUnavailable)
	}
	if len(steps) == 0 && p.MinTier == "" {
		return nil, fmt.Errorf("no tier %q of the backend %s here: %w", exact, Name, sandbox.ErrUnavailable)
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("no tier %q of the backend %s here that is %q or stronger: %w", exact, Name, p.MinTier, sandbox.ErrUnavailable)
	}
	return steps, nil
}

// openFirst opens the first tier that works here.
func (b *Backend) openFirst(p sandbox.Profile, steps []tier) (sandbox.Session, error) {
	var failed error
	for _, t := range steps {
		err := error(nil)
		if t.try != nil {
			err = trial(t)
		}
		if err == nil {
			var s sandbox.Session
			if s, err = t.open(b, p); err == nil {
				return s, nil
			}
		}
		failed = errors.Join(failed, fmt.Errorf("tier %s: %w", t.name, err))
		if errors.Is(err, sandbox.ErrStart) { // it is the profile, not the host
			break
		}
	}
	return nil, failed
}

// trials holds what was found out about this host; it belongs to the process,
// as namespaces do.
var trials struct {
	sync.Mutex
	found map[string]trialResult
}

type trialResult struct {
	err  error
	when time.Time
}

// trialAge is how long a failure is believed: limits on namespaces come and go.
const trialAge = time.Minute

// trial tries a tier, or remembers.
func trial(t tier) error {
	trials.Lock()
	defer trials.Unlock()
	have, ok := trials.found[t.name]
	if ok && (have.err == nil || time.Since(have.when) < trialAge) {
		return have.err
	}
	if trials.found == nil {
		trials.found = map[string]trialResult{}
	}
	have = trialResult{t.try(), time.Now()}
	trials.found[t.name] = have
	return have.err
}

// tried says whether a tier is known to work or to fail.
func tried(name string) bool {
	trials.Lock()
	defer trials.Unlock()
	_, ok := trials.found[name]
	return ok
}

// whyNot is why a stronger tier than this one is not used, as far as known.
func whyNot(name string) string {
	trials.Lock()
	defer trials.Unlock()
	if err := trials.found[name].err; err != nil {
		return err.Error()
	}
	return ""
}

// sayWhy adds to the gaps that the full tier would close why it is not used.
func sayWhy(gaps []sandbox.Gap) {
	why := whyNot(tierFull)
	for i := range gaps {
		if gaps[i].Fix == fixFull && why != "" {
			gaps[i].Fix += "; not here: " + why
		}
	}
}

// descent is a session of a tier that was not tried yet. When its first run
// fails to start, the tier is tried without the profile: where that fails, too,
// the next tier takes over, and where it does not, the run has failed.
type descent struct {
	backend *Backend
	profile sandbox.Profile
	steps   []tier
	mu      sync.Mutex
	sandbox.Session
	known bool
}

func (d *descent) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Session.Close()
}

// settle makes sure that the tier works here, or goes down.
func (d *descent) settle() (sandbox.Session, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known {
		return d.Session, nil
	}
	err := trial(d.steps[0])
	if err == nil {
		d.known = true
		return d.Session, nil
	}
	if len(d.steps) == 1 {
		return nil, fmt.Errorf("tier %s: %w", d.steps[0].name, err)
	}
	next, err := d.backend.openFirst(d.profile, d.steps[1:])
	if err != nil {
		return nil, err
	}
	_ = d.Session.Close()
	d.Session, d.known = next, true
	return next, nil
}

// Plan says what Run would do.
func (d *descent) Plan(c sandbox.Command) (sandbox.Plan, error) {
	s, err := d.settle()
	if err != nil {
		return sandbox.Plan{}, err
	}
	return s.Plan(c)
}

// Run starts the command and waits.
func (d *descent) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	d.mu.Lock()
	s, known := d.Session, d.known
	d.mu.Unlock()
	result, err := s.Run(ctx, c)
	var step *proc.StepError
	if err == nil || known || !errors.Is(err, sandbox.ErrStart) || !errors.As(err, &step) {
		return result, err
	}
	lower, serr := d.settle()
	switch {
	case serr != nil:
		return sandbox.Result{Ending: sandbox.NotStarted, ExitCode: 125}, serr
	case lower == s:
		return result, err
	}
	return lower.Run(ctx, c)
}

// session is one profile under the tier landlock.
type session struct {
	profile     sandbox.Profile
	only        variant
	abi         int
	decision    decision
	bounds      bound.Bounds
	bpf         []byte               // the filter, and
	code        []syscall.SockFilter // as it is loaded
	write, read []layout.Place
	inside      []string // hidden paths below writable ones, judged when the session was opened

	mu     sync.Mutex
	rules  *ruleset
	closed bool
}

func openLandlock(b *Backend, p sandbox.Profile) (sandbox.Session, error) {
	abi, err := landlockABI()
	if err != nil {
		return nil, err
	}
	found, stamps := layout.Survey(p, "/dev")
	s := &session{profile: p, only: b.only, abi: abi, inside: layout.InsideWritable(p, found.Hidden)}
	s.decision = decide(abi, p, s.inside, layout.LateWritable(p, found.Hidden))
	s.bounds = s.decision.bound(p.Limits, bound.Terms{Root: layout.SubjectOf(p).UID == 0, Late: !s.spawns(), TempFix: fixFull, Able: b.only.able})
	s.decision.explained(p, explainGap(p, tierLandlock, b.only.thread), carryGap(p, false))
	sayWhy(s.decision.gaps)
	if s.decision.gaps, err = p.Judge(Name, s.decision.gaps); err != nil {
		return nil, err
	}
	if err = s.getFilter(); err != nil {
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

// getFilter gets the filter ready.
func (s *session) getFilter() (err error) {
	s.bpf, s.code, err = program(s.decision.filters)
	return err
}

// program gives a filter as it is shipped and as it is loaded.
func program(parts []string) (bpf []byte, code []syscall.SockFilter, err error) {
	if bpf, err = filter.Program(parts...); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", err, sandbox.ErrUnavailable)
	}
	return bpf, filter.Load(bpf), nil
}

func (s *session) openPlaces() error {
	for _, name := range layout.Writable(s.profile) {
		p, err := layout.OpenPlace(name)
		if err != nil {
			return fmt.Errorf("%w: %w", err, sandbox.ErrStart)
		}
		s.write = append(s.write, p)
	}
	for _, name := range layout.Readable(s.profile) {
		p, err := layout.OpenPlace(name)
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
		_ = unix.Close(p.FD)
	}
	return nil
}

// Plan says what Run would do.
func (s *session) Plan(c sandbox.Command) (sandbox.Plan, error) {
	r, err := s.hold(true)
	if err != nil {
		return sandbox.Plan{}, err
	}
	defer r.release()
	plan := planOf(s.profile, c)
	plan.Tier, plan.Hide, plan.Steps = tierLandlock, slices.Clone(r.hidden), s.describe(c)
	plan.Enforced, plan.Gaps = slices.Clone(s.decision.enforced), slices.Clone(s.decision.gaps)
	return plan, nil
}

// planOf fills in what does not depend on the tier.
func planOf(p sandbox.Profile, c sandbox.Command) sandbox.Plan {
	plan := proc.PlanOf(Name, p, c)
	plan.Write = layout.Writable(p)
	return plan
}

// Run starts the command and waits.
func (s *session) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	return s.answer(ctx, c, nil)
}

// RunEager asks for the environment while the child confines itself.
func (s *session) RunEager(ctx context.Context, c sandbox.Command, late func() ([]string, error)) (sandbox.Result, error) {
	if s.spawns() {
		return s.answer(ctx, c, late)
	}
	var err error
	if c.Env, err = late(); err != nil {
		return sandbox.Result{Ending: sandbox.NotStarted, ExitCode: 125}, err
	}
	return s.answer(ctx, c, nil)
}

// environ gives an environment that is asked for late; nil: it stands in the command.
type environ func() ([]string, error)

// answer runs the command and completes the result.
func (s *session) answer(ctx context.Context, c sandbox.Command, env environ) (sandbox.Result, error) {
	x := newExplainer(s.profile, s.decision, false)
	result, err := s.run(ctx, c, env, x)
	result.Backend, result.Tier, result.BackendVersion = Name, tierLandlock, versionOf(s.abi)
	result.Enforced, result.Gaps = slices.Clone(s.decision.enforced), slices.Clone(s.decision.gaps)
	result.Identity = s.profile.Identity
	x.finish(&result)
	return result, err
}

func (s *session) run(ctx context.Context, c sandbox.Command, env environ, x *explainer) (sandbox.Result, error) {
	refused := sandbox.Result{Ending: sandbox.NotStarted, ExitCode: 125}
	r, err := s.hold(!s.spawns()) // a child that is spawned waits until that is known
	if err != nil {
		return refused, fmt.Errorf("prepare run: %w: %w", err, sandbox.ErrStart)
	}
	defer r.release()
	for _, p := range slices.Concat(s.write, s.read) {
		if err := p.Same(); err != nil {
			return refused, fmt.Errorf("%w: %w", err, sandbox.ErrStart)
		}
	}
	h, err := s.bounds.Open()
	if err != nil {
		return refused, err
	}
	defer h.Close()
	j := s.job(r, c, env, h, x)
	s.bounds.Apply(&j, h)
	return proc.Run(ctx, j)
}

// threadJob confines a thread and starts the command from it.
func (s *session) threadJob(ruleset int, c sandbox.Command) proc.Job {
	return proc.Job{
		Command: c, Dir: c.DirIn(s.profile), Supervisor: s.profile.Supervisor, NoCore: true,
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
