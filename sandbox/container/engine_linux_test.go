package container

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
)

// fakeEngine fails as a real one cannot be made to without filling its disk.
type fakeEngine struct {
	Engine
	create, start error
	removed       []string
}

func (f *fakeEngine) Create(context.Context, Spec) (string, []sandbox.Gap, error) {
	return "box", nil, f.create
}

func (f *fakeEngine) Start(context.Context, string) error { return f.start }
func (f *fakeEngine) Remove(_ context.Context, id string) error {
	f.removed = append(f.removed, id)
	return nil
}

// An engine whose disk is full, when the container is made or when it is
// started: one sentence, and what was made is removed. The engine is a fake one.
func TestDiskFull(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	full := errors.New("failed to mkdir /var/lib/engine/x: no space left on device")
	for _, c := range []struct {
		engine  fakeEngine
		removed string
	}{
		{fakeEngine{create: full}, ""},
		{fakeEngine{start: full}, "box"},
	} {
		s := &session{options: Options{Name: "fake"}, engine: &c.engine}
		_, err := s.box(t.Context(), nil, Run)
		s.work.Wait()
		if !errors.Is(err, sandbox.ErrStart) || !strings.Contains(err.Error(), "the engine's disk is full") || strings.Join(c.engine.removed, " ") != c.removed {
			t.Errorf("%v; removed %q", err, c.engine.removed)
		}
	}
}
