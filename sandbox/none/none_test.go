package none

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
)

// Nothing is promised, so every control is named as a gap.
func TestEveryControlIsAGap(t *testing.T) {
	s, err := New().Open(context.Background(), sandbox.Profile{Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := s.Plan(sandbox.Command{Argv: []string{"go", "version"}, Env: []string{"A=secret"}})
	if err != nil {
		t.Fatal(err)
	}
	var named []sandbox.Control
	for _, g := range plan.Gaps {
		named = append(named, g.Control)
	}
	if !slices.Equal(named, unlimited()) || len(plan.Enforced) != 0 || !slices.Equal(plan.Env, []string{"A"}) {
		t.Errorf("%+v", plan)
	}
}

// unlimited are the controls that are not about limits.
func unlimited() []sandbox.Control {
	return slices.DeleteFunc(sandbox.Controls(), func(c sandbox.Control) bool { return !sandbox.Limits{}.Speaks(c) })
}

func TestRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	dir := t.TempDir()
	s, err := New().Open(context.Background(), sandbox.Profile{Workspace: dir})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	got, err := s.Run(context.Background(), sandbox.Command{Argv: []string{"sh", "-c", "pwd -P; exit 3"}, Stdout: &out})
	if err != nil || got.ExitCode != 3 || got.Backend != Name || len(got.Gaps) != len(unlimited()) || out.Len() == 0 {
		t.Errorf("%+v, %v, %q", got, err, out.String())
	}
}

// A tier that was asked for is never left out.
func TestHasNoTier(t *testing.T) {
	if _, err := New().Open(context.Background(), sandbox.Profile{MinTier: "full"}); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("a tier was asked for: %v", err)
	}
}
