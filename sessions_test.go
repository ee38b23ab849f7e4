package sbx

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
)

func TestSessionsAreShared(t *testing.T) {
	e, b := fakeEngine(t, Options{})
	ws, other := t.TempDir(), t.TempDir()
	var wait sync.WaitGroup
	for i := range 40 {
		wait.Go(func() {
			dir := ws
			if i%2 == 1 {
				dir = other
			}
			if r, err := e.Run(context.Background(), Request{Argv: []string{"true"}, Workspace: dir}); err != nil || r.ExitCode != 7 {
				t.Errorf("run: %v, %v", r, err)
			}
		})
	}
	wait.Wait()
	if len(b.opened) != 2 || len(b.ran) != 40 || b.closed != 0 {
		t.Errorf("%d sessions opened, %d runs, %d closed; want 2, 40, 0", len(b.opened), len(b.ran), b.closed)
	}
	must(t, e.Close())
	if b.closed != 2 {
		t.Errorf("%d sessions closed, want 2", b.closed)
	}
	if _, err := e.Run(context.Background(), Request{Argv: []string{"true"}, Workspace: ws}); !errors.Is(err, sandbox.ErrStart) {
		t.Errorf("run after Close: %v", err)
	}
}

// A directory of the same name that was made anew is another directory: what a
// backend holds open is not it.
func TestSessionOfReplacedWorkspace(t *testing.T) {
	e, b := fakeEngine(t, Options{})
	ws := filepath.Join(t.TempDir(), "ws")
	for range 2 {
		must(t, os.Mkdir(ws, 0o755))
		keep := filepath.Join(filepath.Dir(ws), fmt.Sprint("keep", len(b.opened)))
		_, err := e.Run(context.Background(), Request{Argv: []string{"true"}, Workspace: ws})
		must(t, err, os.Rename(ws, keep)) // kept, so that its inode is not used again
	}
	if len(b.opened) != 2 {
		t.Errorf("%d sessions opened, want 2", len(b.opened))
	}
}

// A workspace that turned into a link to elsewhere is judged again.
func TestWorkspaceSwappedForLink(t *testing.T) {
	e, b := fakeEngine(t, Options{})
	ws := filepath.Join(t.TempDir(), "ws")
	must(t, os.Mkdir(ws, 0o755))
	run := func() error {
		_, err := e.Run(context.Background(), Request{Argv: []string{"true"}, Workspace: ws})
		return err
	}
	must(t, run(), os.Remove(ws), os.Symlink("/", ws))
	var refused *WorkspaceError
	if err := run(); !errors.As(err, &refused) {
		t.Errorf("run in a link to /: %v", err)
	}
	if len(b.ran) != 1 {
		t.Errorf("%d runs, want 1", len(b.ran))
	}
}

func TestFailedOpenIsTriedAgain(t *testing.T) {
	e, b := fakeEngine(t, Options{})
	ws := t.TempDir()
	b.fail = sandbox.ErrUnavailable
	r, err := e.Run(context.Background(), Request{Argv: []string{"true"}, Workspace: ws})
	if !errors.Is(err, sandbox.ErrUnavailable) || r.Ending != sandbox.NotStarted || r.ExitCode != 125 {
		t.Errorf("%+v, %v", r, err)
	}
	b.fail = nil
	_, err = e.Run(context.Background(), Request{Argv: []string{"true"}, Workspace: ws})
	must(t, err)
}

func TestSessionsAreBounded(t *testing.T) {
	e, b := fakeEngine(t, Options{})
	base := t.TempDir()
	for i := range maxSessions + 5 {
		ws := filepath.Join(base, fmt.Sprint(i))
		must(t, os.Mkdir(ws, 0o755))
		_, err := e.Run(context.Background(), Request{Argv: []string{"true"}, Workspace: ws})
		must(t, err)
	}
	if b.closed != 5 {
		t.Errorf("%d idle sessions closed, want 5", b.closed)
	}
}
