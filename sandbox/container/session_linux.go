package container

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/pid1"
)

// Options say how the containers of a backend are made.
type Options struct {
	Name string // of the backend
	Init string // the program of cmd/sbx-init; empty: where sbx looks for it
	Warm bool   // one container for all commands of a session
	// Check refuses, without asking the engine, what it would refuse later with
	// words of its own.
	Check func(Spec) error
	// Connect reaches the engine.
	Connect func(context.Context, sandbox.Profile) (Engine, error)
}

// removeTime bounds the removal of a container.
const removeTime = 20 * time.Second

// Capabilities are those of an engine of this version.
func Capabilities(name, version string) sandbox.Capabilities {
	d := decide(sandbox.Profile{}, Layout{})
	return sandbox.Capabilities{Backend: name, Apart: true, Version: version, Enforced: d.enforced, Gaps: d.gaps}
}

// session makes a container for each command.
type session struct {
	options Options
	engine  Engine
	spec    Spec         // without Kind and Socket
	places  []pid1.Place // what the layout shares, as it was when the session was opened

	warm warmth
	work sync.WaitGroup // what goes on after a command was answered for

	mu       sync.Mutex
	decision decision
}

// Open checks a profile, connects to the engine and returns a session.
func Open(ctx context.Context, o Options, p sandbox.Profile) (sandbox.Session, error) {
	return open(ctx, o, p)
}

func open(ctx context.Context, o Options, p sandbox.Profile) (*session, error) {
	if err := checkProfile(o.Name, p); err != nil {
		return nil, err
	}
	s := &session{options: o, spec: Spec{Profile: p, Layout: lay(p, host{}), User: userOf(p), Kind: Run}}
	s.decision = decide(p, s.spec.Layout)
	var err error
	if s.decision.gaps, err = p.Judge(o.Name, s.decision.gaps); err != nil {
		return nil, err
	}
	if s.spec.Init, err = findInit(o.Name, o.Init, p); err != nil {
		return nil, err
	}
	for _, bind := range s.spec.Layout.Binds {
		if bind.From != "" {
			continue
		}
		place, err := pid1.PlaceAt(bind.Path)
		if err != nil {
			return nil, s.unavailable("share with the container", err)
		}
		s.places = append(s.places, place)
	}
	if err := o.Check(s.spec); err != nil {
		return nil, s.unavailable("", err)
	}
	if s.engine, err = o.Connect(ctx, p); err != nil {
		return nil, err
	}
	if err := s.learn(s.engine.Gaps()); err != nil {
		s.engine.Close()
		return nil, err
	}
	return s, nil
}

func (s *session) unavailable(doing string, err error) error {
	return Unavailable(s.options.Name, doing, err)
}

func (s *session) notStarted(doing string, err error) error {
	return NotStarted(s.options.Name, doing, err)
}

// Close ends the connection to the engine.
func (s *session) Close() error {
	s.warm.end()
	s.work.Wait()
	s.engine.Close()
	return nil
}

// Plan says what Run would do.
func (s *session) Plan(c sandbox.Command) (sandbox.Plan, error) {
	p := s.spec.Profile
	first, err := s.engine.Describe(s.spec)
	if err != nil {
		return sandbox.Plan{}, err
	}
	plan := sandbox.Plan{
		Backend: s.options.Name, Argv: slices.Clone(c.Argv), Dir: c.DirIn(p), Env: sandbox.VariableNames(c.Env), Network: p.NetworkSetting(),
		Enforced: slices.Clone(s.decision.enforced), Gaps: slices.Clone(s.decision.gaps),
	}
	for _, b := range s.spec.Layout.Binds {
		if b.ReadOnly && slices.Contains(p.Protect, b.Path) {
			plan.Protect = append(plan.Protect, b.Path)
		}
		if !b.ReadOnly {
			plan.Write = append(plan.Write, b.Path)
		}
	}
	plan.Hide = slices.Clone(s.spec.Layout.Covered)
	plan.Steps = append([]string{first, "no capabilities, no new privileges, read-only root"}, s.spec.Layout.steps()...)
	plan.Steps = append(plan.Steps, "start sbx-init as its first process", "load system call filter "+strings.Join(s.decision.filters, "+"), "execute")
	return plan, nil
}

// Run makes a container, runs the command in it and leaves nothing.
func (s *session) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	result, err := s.run(ctx, c)
	result.Backend = s.options.Name
	result.Identity = s.spec.Profile.Identity
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		result.Enforced, result.Gaps = slices.Clone(s.decision.enforced), slices.Clone(s.decision.gaps)
	}
	return result, err
}

func (s *session) run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	if len(c.Argv) == 0 {
		return notStarted(), fmt.Errorf("start command: no arguments: %w", sandbox.ErrStart)
	}
	// The listener of a proxy is one for each container.
	if s.options.Warm && s.spec.Profile.Network != sandbox.NetworkRules {
		return s.runWarm(ctx, c)
	}
	making, made := sandbox.UntilSignaled(ctx, c.Signals)
	box, err := s.box(making, c.Orphaned, Run)
	made()
	if err != nil {
		return notStarted(), err
	}
	s.work.Go(s.reap)
	var result sandbox.Result
	if s.ruled() {
		result, err = runRuled(ctx, box.conn, s.spec.Profile.Egress, c, s.setting())
	} else {
		result, err = box.conn.Run(ctx, c, s.setting())
	}
	_ = box.conn.Close() // the first process ends
	if err != nil {
		s.remove(box.id)
	} else {
		s.work.Go(func() { s.engine.Ended(box.id) })
	}
	if result.Ending == sandbox.NotExec {
		if other := s.otherArchitecture(ctx); other != nil {
			return notStarted(), other
		}
	}
	return result, err
}

// ruled: the command is held to a list of hosts. Where that cannot be, the gap
// was accepted.
func (s *session) ruled() bool {
	return s.spec.Profile.Network == sandbox.NetworkRules && holdsRules
}

// setting is what holds for each command.
func (s *session) setting() pid1.Setting {
	p := s.spec.Profile
	return pid1.Setting{Dir: p.Workspace, Filters: s.decision.filters, Places: s.places, Limits: Effective(p.Limits)}
}

func notStarted() sandbox.Result { return sandbox.Result{Ending: sandbox.NotStarted, ExitCode: 125} }

// remove ends a container that did not do as it should.
func (s *session) remove(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), removeTime)
	defer cancel()
	_ = s.engine.Remove(ctx, id)
}

// reap removes what killed processes of the same user left.
func (s *session) reap() {
	ctx, cancel := context.WithTimeout(context.Background(), removeTime)
	defer cancel()
	_, _ = Sweep(ctx, s.engine, true) // what is left is the next one's
}

// Sweep lists the containers of this user that nobody can use any more, and removes
// them when told to. One that another reaper took is no error.
func Sweep(ctx context.Context, e Engine, remove bool) ([]string, error) {
	left, err := e.Abandoned(ctx)
	if err != nil || !remove {
		return left, err
	}
	var errs []error
	for _, id := range left {
		errs = append(errs, e.Remove(ctx, id))
	}
	return left, errors.Join(errs...)
}

// learn adds gaps that only the engine tells. One that was required refuses the
// run.
func (s *session) learn(gaps []sandbox.Gap) error {
	judged, err := s.spec.Profile.Judge(s.options.Name, gaps)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range judged {
		if !s.decision.open(g.Control) {
			s.decision.gaps = append(s.decision.gaps, g)
			s.decision.enforced = slices.DeleteFunc(s.decision.enforced, func(c sandbox.Control) bool { return c == g.Control })
		}
	}
	return nil
}

// Explain puts what an engine means into words that help.
func Explain(err error) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "bind source path does not exist"), // Docker's words, Podman's, runc's
		strings.Contains(text, "no such file or directory") && (strings.Contains(text, "statfs") || strings.Contains(text, "error mounting") && strings.Contains(text, ": stat ")):
		return fmt.Errorf("the engine does not see the files of this machine (%w): it runs elsewhere, or in a virtual machine that does not share them", err)
	case strings.Contains(text, "no space left"):
		return fmt.Errorf("the engine's disk is full: %w", err)
	}
	return err
}

// otherArchitecture says whether the image's programs cannot run here.
func (s *session) otherArchitecture(ctx context.Context) error {
	image := Image(s.spec.Profile)
	if arch := s.engine.Architecture(ctx, image); arch != "" && arch != goarch {
		return s.notStarted("", fmt.Errorf("the image %s is for %s, this machine is %s", image, arch, goarch))
	}
	return nil
}

// inOwnWords says that an error says already what it means and for what.
func inOwnWords(err error) bool {
	return errors.Is(err, sandbox.ErrStart) || errors.Is(err, sandbox.ErrUnavailable)
}
