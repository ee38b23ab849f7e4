package sbx

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
)

// eagerBackend is a fake whose sessions ask late. silent ones do not ask.
type eagerBackend struct {
	fakeBackend
	eager  int
	silent bool
}

func (b *eagerBackend) Open(ctx context.Context, p sandbox.Profile) (sandbox.Session, error) {
	s, err := b.fakeBackend.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	return &eagerSession{s.(*fakeSession), b}, nil
}

type eagerSession struct {
	*fakeSession
	backend *eagerBackend
}

var errSilent = errors.New("the session cannot start anything")

func (s *eagerSession) RunEager(ctx context.Context, c sandbox.Command, environ func() ([]string, error)) (sandbox.Result, error) {
	refused := sandbox.Result{Ending: sandbox.NotStarted, ExitCode: 125}
	if s.backend.silent {
		return refused, errSilent
	}
	var err error
	if c.Env, err = environ(); err != nil {
		return refused, err
	}
	s.backend.eager++
	return s.Run(ctx, c)
}

// A run that is likely to have the session of the one before begins in it. Whatever
// has changed between the two, it is as if it had not.
func TestEagerRuns(t *testing.T) {
	for _, c := range []struct {
		name         string
		change       func(b *eagerBackend, ws, extra string) error
		eager, opens int
		fails        string
	}{
		{"nothing changed", func(*eagerBackend, string, string) error { return nil }, 1, 1, ""},
		{"another workspace of that name", func(_ *eagerBackend, ws, _ string) error {
			return errors.Join(os.Rename(ws, ws+" kept"), os.Mkdir(ws, 0o755))
		}, 0, 2, ""},
		{"something to protect", func(_ *eagerBackend, ws, _ string) error { return os.MkdirAll(ws+"/.git/hooks", 0o755) }, 0, 2, ""},
		{"a writable directory that is gone", func(_ *eagerBackend, _, extra string) error { return os.Remove(extra) }, 0, 1, "allow-write"},
		{"a session that does not ask", func(b *eagerBackend, _, _ string) error { b.silent = true; return nil }, 0, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			top := t.TempDir()
			ws, extra := filepath.Join(top, "ws"), filepath.Join(top, "extra")
			must(t, os.Mkdir(ws, 0o755), os.Mkdir(extra, 0o755))
			b := &eagerBackend{}
			registry := sandbox.NewRegistry()
			registry.Add(b)
			e, err := New(Options{Registry: registry, Backend: "fake", Workspace: ws, Write: []string{extra}, Environ: []string{"HOME=" + t.TempDir(), "PATH=/usr/bin:/bin", "USER=ann", "A_TOKEN=x"}})
			must(t, err)
			defer e.Close()
			run := func() (Result, error) {
				return e.Run(context.Background(), Request{Argv: []string{"true"}, Env: []string{"GIVEN=1"}})
			}
			_, err = run()
			must(t, err)
			if len(b.ran) != 1 || b.eager != 0 {
				t.Fatalf("the first: %d runs, %d eager", len(b.ran), b.eager)
			}
			must(t, c.change(b, ws, extra))
			r, err := run()
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) || len(b.ran) != 1 || r.ExitCode != 125 {
					t.Errorf("%v, %d runs, exit code %d", err, len(b.ran), r.ExitCode)
				}
			} else if err != nil || r.ExitCode != 7 || len(b.ran) != 2 {
				t.Fatalf("%+v, %v, %d runs", r, err, len(b.ran))
			} else if first, second := b.ran[0].Env, b.ran[1].Env; !slices.Equal(first, second) || !slices.Contains(second, "GIVEN=1") || !slices.Contains(r.Removed, "A_TOKEN") {
				t.Errorf("environments:\n%q\n%q", first, second)
			}
			if b.eager != c.eager || len(b.opened) != c.opens {
				t.Errorf("%d eager runs, %d sessions opened; want %d, %d", b.eager, len(b.opened), c.eager, c.opens)
			}
			must(t, e.Close())
			if b.closed != len(b.opened) {
				t.Errorf("%d sessions closed of %d", b.closed, len(b.opened))
			}
		})
	}
}

// What a request needs for itself alone is made first.
func TestNotEager(t *testing.T) {
	ready := make(chan struct{})
	close(ready)
	for name, c := range map[string]struct {
		options Options
		request Request
		eager   int
	}{
		"control":    {eager: 1},
		"fresh temp": {options: Options{FreshTemp: true}},
		"ready":      {request: Request{Ready: ready}},
	} {
		b := &eagerBackend{}
		c.options.Registry = sandbox.NewRegistry()
		c.options.Registry.Add(b)
		c.options.Backend, c.options.Workspace = "fake", t.TempDir()
		c.options.Environ = []string{"HOME=" + t.TempDir(), "PATH=/usr/bin:/bin", "USER=ann"}
		e, err := New(c.options)
		must(t, err)
		c.request.Argv = []string{"true"}
		for range 2 {
			_, err := e.Run(context.Background(), c.request)
			must(t, err)
		}
		if b.eager != c.eager || len(b.ran) != 2 {
			t.Errorf("%s: %d eager of %d runs", name, b.eager, len(b.ran))
		}
		must(t, e.Close())
	}
}
