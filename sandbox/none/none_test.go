package none

import (
	"bytes"
	"context"
	"errors"
	"os"
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

// Root in somebody else's workspace runs as the owner here too: it is no
// confinement, but files of root would be left there.
func TestRunsAsTheIdentity(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can change the user")
	}
	dir := t.TempDir()
	s, err := New().Open(context.Background(), sandbox.Profile{Workspace: "/", Identity: &sandbox.Identity{UID: 65533, GID: 65532, Groups: []uint32{65531}}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	got, err := s.Run(context.Background(), sandbox.Command{Argv: []string{"sh", "-c", "id -u; id -g; id -G; echo x >" + dir + "/made"}, Stdout: &out})
	if err != nil || got.Identity == nil || out.String() != "65533\n65532\n65532 65531\n" {
		t.Errorf("%+v, %v, %q", got, err, out.String())
	}
	if _, err := os.Stat(dir + "/made"); err == nil || got.ExitCode == 0 {
		t.Error("it wrote where only root can")
	}
}

// A tier that was asked for is never left out.
func TestHasNoTier(t *testing.T) {
	if _, err := New().Open(context.Background(), sandbox.Profile{MinTier: "full"}); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("a tier was asked for: %v", err)
	}
}
