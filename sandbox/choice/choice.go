// Package choice chooses the backend of a command that names none: the strongest
// that works on this host for the profile asked, or the first of a given order.
//
// It is a backend itself. What it has chosen runs the command, and nothing else
// does: a failure of the chosen one is a failure.
package choice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sbx-run/sbx/sandbox"
)

// Name is the word for --backend and the configuration.
const Name = "auto"

// The strongest backend of this host, and its tier that leaves nothing to choose:
// no other is looked at where it works. TestFullIsTheStrongest holds that against
// what is measured.
const (
	strongest     = "direct"
	strongestTier = "full"
)

// Backend chooses. It is safe for concurrent use.
type Backend struct {
	known *sandbox.Registry
	order []string // nil: the strongest
	store *Store   // nil: measured each time
}

// New returns a backend that chooses among those of a registry. With an order it
// takes the first of these names that can hold the profile, and no other; the
// order may name backends that are used by name only. A name that is not known is
// an error. What was measured is kept in the store, which may be nil.
func New(known *sandbox.Registry, order []string, store *Store) (*Backend, error) {
	for i, name := range order {
		if _, err := known.Lookup(name); err != nil {
			return nil, err
		}
		if slices.Contains(order[:i], name) {
			return nil, fmt.Errorf("order of backends: %s stands twice: %w", name, sandbox.ErrUnavailable)
		}
	}
	return &Backend{known: known, order: slices.Clone(order), store: store}, nil
}

// Name returns "auto".
func (*Backend) Name() string { return Name }

// Probe gives what the first of the order, or the strongest, can enforce here.
func (b *Backend) Probe(ctx context.Context) (sandbox.Capabilities, error) {
	list := b.measured(ctx)
	for _, m := range list {
		if m.Err == nil {
			return m.Capabilities, nil
		}
	}
	return sandbox.Capabilities{}, &sandbox.ChoiceError{Asked: b.asked(), Passed: passed(list)}
}

// CanPreview says that one of those that may be chosen can; the others are passed
// over when a preview is asked for.
func (b *Backend) CanPreview() bool {
	for _, c := range b.candidates() {
		if canPreview(c) {
			return true
		}
	}
	return false
}

func canPreview(b sandbox.Backend) bool {
	p, ok := b.(sandbox.Previewer)
	return ok && p.CanPreview()
}

// candidates are the backends that may be chosen, in the order of the caller or
// of the registry.
func (b *Backend) candidates() []sandbox.Backend {
	names := b.order
	if names == nil {
		names = b.known.Names()
	}
	var list []sandbox.Backend
	for _, name := range names {
		c, err := b.known.Lookup(name)
		if err != nil {
			continue // New looked for each of an order
		}
		if only, ok := c.(sandbox.OnlyNamed); ok && only.OnlyNamed() && b.order == nil {
			continue
		}
		list = append(list, c)
	}
	return list
}

// asked is the order in words.
func (b *Backend) asked() string {
	if b.order == nil {
		return Name
	}
	return strings.Join(b.order, ", ")
}

// Open chooses for a profile. Where the strongest seems to work, only the first
// command shows whether it does, and the session chooses again if not.
func (b *Backend) Open(ctx context.Context, p sandbox.Profile) (sandbox.Session, error) {
	s := &session{backend: b, profile: p, choice: sandbox.Choice{Asked: b.asked()}}
	if first := b.first(); first != nil && (p.Preview == nil || canPreview(first)) {
		narrowed := p
		if b.order == nil && p.Tier+p.MinTier == "" {
			narrowed.MinTier = strongestTier
		}
		opened, err := first.Open(ctx, narrowed)
		if err == nil {
			s.Session, s.choice.Why = opened, b.whyFirst(p)
			return s, nil
		}
		if !passable(err) {
			return nil, err
		}
	}
	s.settled = true
	if err := s.choose(ctx, sandbox.Command{Argv: []string{"true"}}); err != nil {
		return nil, err
	}
	return s, nil
}

// first is the backend that is tried before anything is measured.
func (b *Backend) first() sandbox.Backend {
	list := b.candidates()
	if len(list) > 0 && list[0].Name() == strongest {
		return list[0]
	}
	return nil
}

func (b *Backend) whyFirst(p sandbox.Profile) string {
	switch {
	case b.order != nil:
		return "the first of the order"
	case p.Tier+p.MinTier != "":
		return "the one that has tiers, and one was asked for"
	}
	return "the strongest of this host, in its strongest tier"
}

// passable says that an error speaks of what a backend can give here, so that
// another one may do. Nothing ran.
func passable(err error) bool {
	if errors.Is(err, sandbox.ErrStart) || errors.Is(err, sandbox.ErrLost) {
		return false // it is the command or the profile
	}
	return errors.Is(err, sandbox.ErrUnavailable) || errors.Is(err, sandbox.ErrUnsupported)
}

// session is what was chosen, or is about to be.
type session struct {
	backend *Backend
	profile sandbox.Profile

	mu sync.Mutex
	sandbox.Session
	choice  sandbox.Choice
	settled bool // no other will be chosen
}

func (s *session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Session == nil {
		return nil
	}
	return s.Session.Close()
}

func (s *session) current() (sandbox.Session, *sandbox.Choice, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.choice
	c.Passed = slices.Clone(c.Passed)
	return s.Session, &c, s.settled
}

// settle marks what runs as chosen, or chooses again after it said that it cannot
// work here.
func (s *session) settle(ctx context.Context, c sandbox.Command, failed sandbox.Session, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.settled = true
		return nil
	case s.Session != failed: // another command has chosen meanwhile
		return nil
	case s.settled || !passable(err):
		return err
	}
	s.settled = true
	_ = s.Session.Close()
	s.Session = nil
	return s.choose(ctx, c)
}

// Plan says what Run would do, and why this backend would.
func (s *session) Plan(c sandbox.Command) (sandbox.Plan, error) {
	have, why, settled := s.current()
	if have == nil {
		return sandbox.Plan{}, fmt.Errorf("use backend %s: none could be chosen: %w", Name, sandbox.ErrUnavailable)
	}
	plan, err := have.Plan(c)
	if !settled {
		if err := s.settle(context.Background(), c, have, err); err != nil {
			return sandbox.Plan{}, err
		}
		if err != nil {
			return s.Plan(c)
		}
	}
	plan.Choice = why
	return plan, err
}

// RunEager is Run where the choice is made and can be eager; else the environment
// comes first.
func (s *session) RunEager(ctx context.Context, c sandbox.Command, environ func() ([]string, error)) (sandbox.Result, error) {
	have, why, settled := s.current()
	eager, can := have.(sandbox.Eager)
	if settled && can {
		result, err := eager.RunEager(ctx, c, environ)
		result.Choice = why
		return result, err
	}
	var err error
	if c.Env, err = environ(); err != nil {
		return sandbox.Result{Ending: sandbox.NotStarted, ExitCode: 125}, err
	}
	return s.Run(ctx, c)
}

// Run starts the command and waits.
func (s *session) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	have, why, settled := s.current()
	refused := sandbox.Result{Ending: sandbox.NotStarted, ExitCode: 125}
	if have == nil {
		return refused, fmt.Errorf("use backend %s: none could be chosen: %w", Name, sandbox.ErrUnavailable)
	}
	result, err := have.Run(ctx, c)
	if !settled {
		if err := s.settle(ctx, c, have, err); err != nil {
			return result, err
		}
		if err != nil {
			return s.Run(ctx, c)
		}
	}
	result.Choice = why
	return result, err
}

// choose measures and takes the first that can hold the profile. The mutex is
// held, or nobody else has the session yet.
func (s *session) choose(ctx context.Context, c sandbox.Command) error {
	failed := &sandbox.ChoiceError{Asked: s.backend.asked()}
	for _, m := range s.backend.measured(ctx) {
		err := m.Err
		if err == nil && s.profile.Preview != nil && !canPreview(m.backend) {
			err = fmt.Errorf("it writes to the real files: %w", sandbox.ErrUnavailable)
		}
		if err == nil && s.Session == nil {
			if s.Session, err = open(ctx, m.backend, s.profile, c); err == nil {
				s.choice.Why, s.choice.Apart = why(m, s.backend.order != nil, len(failed.Passed) > 0), m.Capabilities.Apart
				continue // those that do not work here belong to the answer, too
			}
			s.Session = nil
			if !passable(err) {
				return err
			}
		}
		if err == nil {
			continue
		}
		over := sandbox.PassedFor(m.backend.Name(), err)
		if failed.First == nil && m.Err == nil {
			failed.First = err
			failed.Passed = slices.Insert(failed.Passed, 0, over)
		} else {
			failed.Passed = append(failed.Passed, over)
		}
	}
	if s.Session == nil {
		return failed
	}
	s.choice.Passed = failed.Passed
	return nil
}

// open opens a session and makes sure that it can hold the profile: a helper says
// so only when a command is planned.
func open(ctx context.Context, b sandbox.Backend, p sandbox.Profile, c sandbox.Command) (sandbox.Session, error) {
	opened, err := b.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	if _, err := opened.Plan(sandbox.Command{Argv: c.Argv, Env: c.Env, Dir: c.Dir, Timeout: c.Timeout, Grace: c.Grace}); err != nil {
		_ = opened.Close()
		return nil, err
	}
	return opened, nil
}

// why is the sentence about a choice.
func why(m Measured, ordered, over bool) string {
	tier := ""
	if m.Capabilities.Tier != "" {
		tier = " in its tier " + m.Capabilities.Tier
	}
	switch {
	case ordered && !over:
		return "the first of the order"
	case ordered:
		return "the first of the order that can hold what was asked for"
	case m.Capabilities.Apart:
		return "nothing that runs commands on this host's own files can hold what was asked for"
	}
	return "the strongest that works here" + tier
}

func passed(list []Measured) []sandbox.Passed {
	var over []sandbox.Passed
	for _, m := range list {
		if m.Err != nil {
			over = append(over, sandbox.PassedFor(m.backend.Name(), m.Err))
		}
	}
	return over
}
