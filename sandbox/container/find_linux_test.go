package container

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
)

// The first process of the next container is not one that a command of this one
// could have put there.
func TestFindInit(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "sbx-init")
	if err := os.WriteFile(at, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := findInit("docker", at, sandbox.Profile{Workspace: "/nowhere"}); err != nil || got != at {
		t.Fatalf("control: %s, %v", got, err)
	}
	for _, c := range []struct {
		name, given string
		p           sandbox.Profile
		want        string
	}{
		{"in the workspace", at, sandbox.Profile{Workspace: dir}, "which the command may write to"},
		{"in a writable directory", at, sandbox.Profile{Write: []string{dir}}, "which the command may write to"},
		{"relative", "sbx-init", sandbox.Profile{}, "absolute"},
		{"missing", at + "-not", sandbox.Profile{}, "no such file"},
		{"not beside this test", "", sandbox.Profile{}, "install it beside sbx"},
	} {
		if got, err := findInit("docker", c.given, c.p); !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s, %v", c.name, got, err)
		}
	}
}
