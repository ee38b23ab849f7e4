//go:build unix

package sbx_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/seatbelt"
)

// On a Mac a command runs without anything being accepted first, with a program in
// the place of sandbox-exec. What macOS gives to nobody is named, never held, and
// refuses where it is required by name.
func TestAMacRunsOutOfTheBox(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"bin", "home", "ws"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "bin", "sandbox-exec")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nshift 3\nexec \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(required []sandbox.Control) (sbx.Result, string, error) {
		registry := sandbox.NewRegistry()
		registry.Add(seatbelt.New(seatbelt.Options{Program: program}))
		o := sbx.Options{
			Registry: registry, Backend: seatbelt.Name, Required: required, Workspace: filepath.Join(dir, "ws"),
			Environ: []string{"HOME=" + filepath.Join(dir, "home"), "PATH=/usr/bin:/bin"},
		}
		if os.Geteuid() == 0 { // root keeps its rights there, and is told so
			o.AcceptGaps = []sandbox.Control{sandbox.NoCapabilities}
		}
		e, err := sbx.New(o)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		var out bytes.Buffer
		r, err := e.Run(context.Background(), sbx.Request{Argv: []string{"echo", "ran"}, Stdout: &out})
		return r, out.String(), err
	}
	onMac := sandbox.DefaultRequiredOn("darwin")
	r, out, err := run(onMac)
	if err != nil || out != "ran\n" {
		t.Fatalf("%v, %q", err, out)
	}
	at := slices.IndexFunc(r.Gaps, func(g sandbox.Gap) bool { return g.Control == sandbox.SyscallFilter })
	if at < 0 || r.Gaps[at].Accepted || r.Gaps[at].Required || slices.Contains(r.Enforced, sandbox.SyscallFilter) {
		t.Errorf("gaps %+v, enforced %v", r.Gaps, r.Enforced)
	}
	var gap *sandbox.GapError
	if _, out, err := run(append(onMac, sandbox.SyscallFilter)); !errors.As(err, &gap) || out != "" {
		t.Errorf("required by name: %v, %q", err, out)
	}
	if _, _, err := run(sandbox.DefaultRequiredOn("linux")); !errors.As(err, &gap) {
		t.Errorf("what Linux requires: %v", err)
	}
}
