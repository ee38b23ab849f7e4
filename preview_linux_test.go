package sbx

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sbx-run/sbx/changes"
	"github.com/sbx-run/sbx/sandbox"
)

// previewRoom is an engine of an embedding program, and a workspace.
func previewRoom(t *testing.T) (*Engine, string) {
	t.Helper()
	base := "/var/lib"
	if os.Geteuid() != 0 {
		base = os.Getenv("HOME")
	}
	dir, err := os.MkdirTemp(base, "sbx-preview-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	workspace := filepath.Join(dir, "ws")
	must(t, os.Mkdir(workspace, 0o755))
	must(t, os.WriteFile(filepath.Join(workspace, "file"), []byte("old\n"), 0o644))
	e, err := New(Options{Workspace: workspace, Environ: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}})
	must(t, err)
	t.Cleanup(func() { e.Close() })
	if c, err := e.backend.Probe(context.Background()); err != nil || c.Tier != "full" {
		if strings.Contains(os.Getenv("SBX_REQUIRE"), "full") {
			t.Fatalf("the tier full is required, and here is %q: %v", c.Tier, err)
		}
		t.Skipf("needs the tier full, here is %q: %v", c.Tier, err)
	}
	return e, workspace
}

func TestRunWithPreview(t *testing.T) {
	e, workspace := previewRoom(t)
	file := filepath.Join(workspace, "file")
	result, err := e.Run(context.Background(), Request{Text: "echo new >>file; echo x >made; exit 4", Preview: &Preview{}})
	must(t, err)
	c := result.Changes
	if c == nil || result.ExitCode != 4 || c.State != changes.Pending || c.Totals.Created != 1 || c.Totals.Changed != 1 {
		t.Fatalf("%+v, changes %+v", result.Result, c)
	}
	defer c.Close()
	if text, _ := os.ReadFile(file); string(text) != "old\n" {
		t.Fatalf("the file is %q before anything was applied", text)
	}
	if _, err := e.Apply(c); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(file); string(text) != "old\nnew\n" || c.State != changes.Applied {
		t.Errorf("the file is %q, the state %s", text, c.State)
	}
	if result, err = e.Run(context.Background(), Request{Text: "true"}); err != nil || result.Changes != nil {
		t.Errorf("without a preview: %v %+v", err, result.Changes)
	}
}

// Many at once see the same workspace; the first that is applied wins, and the
// others are told.
func TestPreviewsAtOnce(t *testing.T) {
	e, workspace := previewRoom(t)
	const many = 8
	got := make([]*Changes, many)
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			result, err := e.Run(context.Background(), Request{Text: fmt.Sprintf("echo %d >>file; echo x >made%d", i, i), Preview: &Preview{OnDisk: i%2 == 0}})
			if err != nil {
				t.Error(err)
			}
			got[i] = result.Changes
		})
	}
	wg.Wait()
	applied := 0
	for i, c := range got {
		if c == nil {
			t.Fatalf("run %d has no changes", i)
		}
		var conflict *changes.ConflictError
		if _, err := e.Apply(c); err == nil {
			applied++
		} else if !errors.As(err, &conflict) {
			t.Errorf("run %d: %v", i, err)
		}
		if c.State != changes.Applied {
			must(t, c.Discard())
		}
		must(t, c.Close())
	}
	text, _ := os.ReadFile(filepath.Join(workspace, "file"))
	made, _ := filepath.Glob(filepath.Join(workspace, "made*"))
	if applied != 1 || strings.Count(string(text), "\n") != 2 || len(made) != 1 {
		t.Errorf("%d applied, the file is %q, and %q", applied, text, made)
	}
	if left, err := e.Previews(); err != nil || len(left) > 0 {
		t.Errorf("left: %+v %v", left, err)
	}
}

// A backend that writes to the real files is never asked for a preview.
func TestPreviewNeedsABackendThatCan(t *testing.T) {
	_, backend, err := runFake(t, Options{}, Request{Text: "ls", Preview: &Preview{}})
	var refused *PreviewError
	if !errors.As(err, &refused) || !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	_ = backend
}
