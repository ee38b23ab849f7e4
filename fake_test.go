package sbx

import (
	"context"
	"sync"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
)

// fakeBackend records what it is asked to do and runs nothing.
type fakeBackend struct {
	gaps []sandbox.Gap

	mu     sync.Mutex
	opened []sandbox.Profile
	closed int
	ran    []sandbox.Command
	fail   error // of Open
}

func (b *fakeBackend) Name() string { return "fake" }

func (b *fakeBackend) Probe(context.Context) (sandbox.Capabilities, error) {
	return sandbox.Capabilities{Backend: "fake"}, nil
}

func (b *fakeBackend) Open(_ context.Context, p sandbox.Profile) (sandbox.Session, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened = append(b.opened, p)
	if b.fail != nil {
		return nil, b.fail
	}
	gaps, err := p.Judge("fake", b.gaps)
	if err != nil {
		return nil, err
	}
	return &fakeSession{backend: b, gaps: gaps}, nil
}

type fakeSession struct {
	backend *fakeBackend
	gaps    []sandbox.Gap
}

func (s *fakeSession) Plan(c sandbox.Command) (sandbox.Plan, error) {
	return sandbox.Plan{Backend: "fake", Argv: c.Argv, Dir: c.Dir}, nil
}

func (s *fakeSession) Run(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
	s.backend.mu.Lock()
	defer s.backend.mu.Unlock()
	s.backend.ran = append(s.backend.ran, c)
	return sandbox.Result{Backend: "fake", Ending: sandbox.Exited, ExitCode: 7, Gaps: s.gaps}, nil
}

func (s *fakeSession) Close() error {
	s.backend.mu.Lock()
	defer s.backend.mu.Unlock()
	s.backend.closed++
	return nil
}

// testEngine makes an engine over a fake backend, whose caches are the test's own.
func testEngine(t *testing.T, o Options) *Engine {
	t.Helper()
	e, _ := fakeEngine(t, o)
	return e
}

func fakeEngine(t *testing.T, o Options) (*Engine, *fakeBackend) {
	t.Helper()
	b := &fakeBackend{}
	o.Registry = sandbox.NewRegistry()
	o.Registry.Add(b)
	o.Backend = "fake"
	if o.Environ == nil {
		o.Environ = []string{"HOME=" + t.TempDir(), "PATH=/usr/bin:/bin", "USER=ann"}
	}
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e, b
}
