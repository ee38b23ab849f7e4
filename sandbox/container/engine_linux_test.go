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

// What an engine means that does not see the files of this machine.
func TestExplain(t *testing.T) {
	for text, want := range map[string]string{
		`invalid mount config for type "bind": bind source path does not exist: /w`:                                    "does not see the files",
		`statfs /w: no such file or directory`:                                                                         "does not see the files",
		`runc create failed: error mounting "/w" to rootfs at "/w": stat /w: no such file or directory: unknown`:       "does not see the files",
		`runc create failed: unable to start container process: exec: "x": stat x: no such file or directory: unknown`: "runc create failed",
		`write /x: no space left on device`:                                                                            "the engine's disk is full",
	} {
		if got := Explain(errors.New(text)).Error(); !strings.Contains(got, want) || !strings.Contains(got, text) || strings.Contains(got, "does not see") != strings.Contains(want, "does not see") {
			t.Errorf("%s: %s", text, got)
		}
	}
}
