package choice

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// fake is a backend that counts how often it is asked, and runs nothing.
type fake struct {
	name     string
	enforces []sandbox.Control
	tier     string
	apart    bool
	named    bool  // used by its name only
	previews bool  // can preview
	absent   error // of Probe and Open
	opening  error // of Open
	full     error // of Open and Run when the tier full is asked for
	running  error // of Run

	mu     sync.Mutex
	probed int
	opened int
	ran    int
}

func (f *fake) Name() string     { return f.name }
func (f *fake) OnlyNamed() bool  { return f.named }
func (f *fake) CanPreview() bool { return f.previews }

func (f *fake) Probe(context.Context) (sandbox.Capabilities, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.probed++
	return sandbox.Capabilities{Enforced: f.enforces, Tier: f.tier, Apart: f.apart}, f.absent
}

func (f *fake) Open(_ context.Context, p sandbox.Profile) (sandbox.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened++
	if err := errors.Join(f.absent, f.opening); err != nil {
		return nil, err
	}
	if p.MinTier == strongestTier && f.full != nil && !p.Supervisor {
		return nil, f.full
	}
	var missing []sandbox.Gap
	for _, c := range p.Required {
		if !slices.Contains(f.enforces, c) {
			missing = append(missing, sandbox.Gap{Control: c, Why: "it cannot"})
		}
	}
	if _, err := p.Judge(f.name, missing); err != nil {
		return nil, err
	}
	return &fakeSession{f, p}, nil
}

type fakeSession struct {
	*fake
	p sandbox.Profile
}

func (s *fakeSession) fails() error {
	if s.p.MinTier == strongestTier && s.full != nil {
		return s.full
	}
	return nil
}

func (s *fakeSession) Plan(sandbox.Command) (sandbox.Plan, error) {
	return sandbox.Plan{Backend: s.name}, s.fails()
}

func (s *fakeSession) Run(context.Context, sandbox.Command) (sandbox.Result, error) {
	if err := errors.Join(s.fails(), s.running); err != nil {
		return sandbox.Result{Backend: s.name, Ending: sandbox.NotStarted, ExitCode: 125}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran++
	return sandbox.Result{Backend: s.name, Ending: sandbox.Exited}, nil
}

func (s *fakeSession) Close() error { return nil }

var (
	some = []sandbox.Control{sandbox.WritesConfined, sandbox.TreeEnds}
	more = append(slices.Clone(some), sandbox.NetworkOff, sandbox.Signals)
	all  = append(slices.Clone(more), sandbox.StatHidden, sandbox.SharedMemory)

	errGone = fmt.Errorf("it is not installed: %w", sandbox.ErrUnavailable)
	errLow  = fmt.Errorf("tier full: no user namespaces: %w", sandbox.ErrUnavailable)
)

func known(list ...*fake) *sandbox.Registry {
	r := sandbox.NewRegistry()
	for _, f := range list {
		r.Add(f)
	}
	return r
}

// run runs a command on what is chosen, and says by whom and why.
func run(t *testing.T, r *sandbox.Registry, order []string, p sandbox.Profile) (string, *sandbox.Choice, error) {
	t.Helper()
	b, err := New(r, order, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.Required == nil {
		p.Required = some
	}
	s, err := b.Open(t.Context(), p)
	if err != nil {
		return "", nil, err
	}
	defer s.Close()
	result, err := s.Run(t.Context(), sandbox.Command{Argv: []string{"true"}})
	if err != nil {
		return "", nil, err
	}
	return result.Backend, result.Choice, nil
}

func TestChoice(t *testing.T) {
	type profile = sandbox.Profile
	for _, tt := range []struct {
		name  string
		known []*fake
		order []string
		p     profile
		want  string // the backend, or words of the error
		why   string
		over  string // backends passed over
	}{
		{"direct full works", []*fake{{name: "direct", enforces: all}, {name: "bwrap", enforces: all}}, nil, profile{Supervisor: true}, "direct", "strongest tier", ""},
		{
			"full fails when it runs, the stronger of the others",
			[]*fake{{name: "direct", enforces: some, tier: "landlock", full: errLow}, {name: "a", enforces: more}, {name: "b", enforces: all}},
			nil,
			profile{Supervisor: true},
			"b", "the strongest that works here", "",
		},
		{
			"the same in a library",
			[]*fake{{name: "direct", enforces: some, tier: "landlock", full: errLow}, {name: "a", enforces: more}, {name: "b", enforces: all}},
			nil,
			profile{},
			"b", "the strongest that works here", "",
		},
		{
			"the lower tier is the strongest",
			[]*fake{{name: "direct", enforces: more, tier: "landlock", full: errLow}, {name: "a", enforces: more}, {name: "b", absent: errGone}},
			nil,
			profile{Supervisor: true},
			"direct", "in its tier landlock", "",
		},
		{
			"what runs on this host first, whatever it enforces",
			[]*fake{{name: "direct", enforces: some, full: errLow}, {name: "docker", enforces: all, apart: true}},
			nil,
			profile{Supervisor: true},
			"direct", "", "",
		},
		{
			"in a container when nothing else holds",
			[]*fake{{name: "direct", enforces: more}, {name: "docker", enforces: all, apart: true}},
			nil,
			profile{Supervisor: true, Required: all},
			"docker", "on this host's own files", "",
		},
		{
			"unsupported",
			[]*fake{{name: "direct", absent: fmt.Errorf("not on this system: %w", sandbox.ErrUnsupported)}, {name: "seatbelt", enforces: some}},
			nil,
			profile{},
			"seatbelt", "", "",
		},
		{"never one that must be named", []*fake{{name: "direct", absent: errGone}, {name: "none", enforces: all, named: true}}, nil, profile{}, "no backend works here: direct: it is not installed", "", ""},
		{"never one that must be named, alone", []*fake{{name: "none", named: true}}, nil, profile{}, "those that there are must be named", "", ""},
		{
			"the nearest refusal is the message",
			[]*fake{{name: "direct", enforces: some}, {name: "docker", absent: errGone}},
			nil,
			profile{Required: all},
			"backend direct cannot give network-off: it cannot", "", "",
		},
		{"a mistake of the profile is none of the backend", []*fake{{name: "direct", opening: fmt.Errorf("/ws is gone: %w", sandbox.ErrStart)}, {name: "b", enforces: all}}, nil, profile{}, "/ws is gone", "", ""},
		{"nor is a failure of the chosen one", []*fake{{name: "a", enforces: all, running: fmt.Errorf("no image: %w", sandbox.ErrUnavailable)}, {name: "b", enforces: more}}, nil, profile{}, "no image", "", ""},
		{"a command that failed to start", []*fake{{name: "direct", enforces: all, running: fmt.Errorf("fork: %w", sandbox.ErrStart)}, {name: "b", enforces: all}}, nil, profile{Supervisor: true}, "fork", "", ""},
		{"an outcome that was lost", []*fake{{name: "direct", enforces: all, running: fmt.Errorf("gone: %w", sandbox.ErrLost)}, {name: "b", enforces: all}}, nil, profile{Supervisor: true}, "gone", "", ""},
		{"order", []*fake{{name: "direct", enforces: all}, {name: "docker", enforces: some, apart: true}}, []string{"docker", "direct"}, profile{}, "docker", "the first of the order", ""},
		{"order, the first is gone", []*fake{{name: "direct", enforces: all}, {name: "docker", absent: errGone}}, []string{"docker", "direct"}, profile{}, "direct", "that can hold", "docker"},
		{"order, no tier is wanted", []*fake{{name: "direct", enforces: some, full: errLow}, {name: "docker", enforces: all}}, []string{"direct", "docker"}, profile{Supervisor: true}, "direct", "the first of the order", ""},
		{"order, nothing but it", []*fake{{name: "direct", enforces: all}, {name: "docker", absent: errGone}, {name: "podman", absent: errGone}}, []string{"docker", "podman"}, profile{}, "docker: it is not installed", "", ""},
		{"order with one that must be named", []*fake{{name: "docker", absent: errGone}, {name: "none", named: true, enforces: some}}, []string{"docker", "none"}, profile{}, "none", "", "docker"},
		{"preview", []*fake{{name: "direct", absent: errGone}, {name: "a", enforces: all}, {name: "b", enforces: some, previews: true}}, nil, profile{Preview: &sandbox.Preview{}}, "b", "", "a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, choice, err := run(t, known(tt.known...), tt.order, tt.p)
			if err != nil {
				if !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v, want %s", err, tt.want)
				}
				for _, f := range tt.known {
					if f.ran > 0 {
						t.Errorf("%s ran", f.name)
					}
				}
				return
			}
			if got != tt.want || choice == nil || !strings.Contains(choice.Why, tt.why) || tt.over != "" && (len(choice.Passed) == 0 || choice.Passed[0].Backend != tt.over) {
				t.Errorf("%s, %+v", got, choice)
			}
			ran := 0
			for _, f := range tt.known {
				ran += f.ran
			}
			if ran != 1 {
				t.Errorf("%d runs", ran)
			}
		})
	}
}

// Where the strongest works nobody else is even asked.
func TestNobodyElseIsAsked(t *testing.T) {
	direct, docker := &fake{name: "direct", enforces: all}, &fake{name: "docker", apart: true, enforces: all}
	if got, _, err := run(t, known(docker, direct), []string{"direct", "docker"}, sandbox.Profile{Supervisor: true}); got != "direct" || err != nil {
		t.Fatal(got, err)
	}
	if got, _, err := run(t, known(direct, docker), nil, sandbox.Profile{Supervisor: true}); got != "direct" || err != nil {
		t.Fatal(got, err)
	}
	if direct.probed+docker.probed+docker.opened != 0 || direct.opened != 2 {
		t.Errorf("direct probed %d, opened %d; docker probed %d, opened %d", direct.probed, direct.opened, docker.probed, docker.opened)
	}
}

// Many commands that find out at the same time that the strongest does not work
// come to the same other one, and each runs once.
func TestManyChooseAtOnce(t *testing.T) {
	direct, other := &fake{name: "direct", enforces: some, full: errLow}, &fake{name: "other", enforces: all}
	b, err := New(known(direct, other), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.Open(t.Context(), sandbox.Profile{Supervisor: true, Required: some})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var runs sync.WaitGroup
	for range 32 {
		runs.Go(func() {
			if r, err := s.Run(t.Context(), sandbox.Command{Argv: []string{"true"}}); err != nil || r.Backend != "other" {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	runs.Wait()
	if other.ran != 32 || direct.ran != 0 || other.probed != 1 {
		t.Errorf("other ran %d times, probed %d; direct ran %d", other.ran, other.probed, direct.ran)
	}
}

func TestPlanSaysWhy(t *testing.T) {
	b, err := New(known(&fake{name: "direct", enforces: some, full: errLow}, &fake{name: "other", enforces: all}), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.Open(t.Context(), sandbox.Profile{Supervisor: true, Required: some})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := s.Plan(sandbox.Command{Argv: []string{"true"}})
	if err != nil || plan.Backend != "other" || plan.Choice == nil || plan.Choice.Asked != Name || plan.Choice.Why == "" {
		t.Errorf("%+v, %v", plan, err)
	}
}

func TestNewRefuses(t *testing.T) {
	r := known(&fake{name: "direct"})
	for _, order := range [][]string{{"nope"}, {"direct", "direct"}} {
		if _, err := New(r, order, nil); !errors.Is(err, sandbox.ErrUnavailable) {
			t.Errorf("%q: %v", order, err)
		}
	}
}

func TestStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "measured")
	host := "one"
	store := NewStore(func() string { return dir }, nil)
	store.key = func() string { return host }
	f := &fake{name: "a:/x y", enforces: all, tier: "full"}
	if _, _, ok := store.Last(f); ok {
		t.Error("something is known of what was never measured")
	}
	Measure(t.Context(), f, store)
	m, ok := store.fresh(f)
	if !ok || m.Capabilities.Tier != "full" || !slices.Equal(m.Capabilities.Enforced, all) || m.Err != nil || time.Since(m.When) > time.Minute {
		t.Errorf("%+v, %v", m, ok)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	host = "another"
	if _, ok := store.fresh(f); ok {
		t.Error("believed on another host")
	}
	if _, same, ok := store.Last(f); same || !ok {
		t.Error("not told as the last one")
	}
	f.absent = errGone
	Measure(t.Context(), f, store)
	if m, ok := store.fresh(f); !ok || !errors.Is(m.Err, sandbox.ErrUnavailable) || !strings.Contains(m.Err.Error(), "not installed") {
		t.Errorf("%+v, %v", m, ok)
	}
	for _, tt := range []struct {
		m    Measured
		want bool
	}{
		{Measured{When: time.Now().Add(-believed / 2)}, true},
		{Measured{When: time.Now().Add(-2 * believed)}, false},
		{Measured{When: time.Now().Add(time.Hour)}, false}, // the clock was set back
		{Measured{When: time.Now().Add(-2 * believedFailed), Err: errGone}, false},
		{Measured{When: time.Now().Add(-2 * believedApart), Capabilities: sandbox.Capabilities{Apart: true}}, false},
	} {
		tt.m.backend, tt.m.Capabilities.Backend = f, f.name
		store.save(tt.m)
		if _, ok := store.fresh(f); ok != tt.want {
			t.Errorf("%+v: fresh %v", tt.m, ok)
		}
	}
	for _, text := range []string{"", "{", `{"capabilities":{"backend":"b"}}`} {
		if err := os.WriteFile(store.path(f.name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, ok := store.Last(f); ok {
			t.Errorf("%q was believed", text)
		}
	}
	var nothing *Store
	Measure(t.Context(), f, nothing)
	Measure(t.Context(), f, NewStore(func() string { return "" }, nil))
}

// What is known is not measured again, and what the host decides changes the key.
func TestMeasuredOnce(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{}
	getenv := func(name string) string { return env[name] }
	f := &fake{name: "a", enforces: all}
	open := func() {
		b, err := New(known(f), nil, NewStore(func() string { return dir }, getenv))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Open(t.Context(), sandbox.Profile{Required: some}); err != nil {
			t.Fatal(err)
		}
	}
	open()
	open()
	if f.probed != 1 {
		t.Errorf("measured %d times", f.probed)
	}
	env["DOCKER_HOST"] = "tcp://elsewhere"
	open()
	if f.probed != 2 {
		t.Errorf("measured %d times after the engine changed", f.probed)
	}
}
