//go:build unix

package helper

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/none"
)

const modeVar = "SBX_TEST_HELPER"

// The test binary is a helper too: one around the backend none, or one that
// refuses.
func TestMain(m *testing.M) {
	switch os.Getenv(modeVar) {
	case "none":
		os.Exit(Serve(none.New(), os.Args[1:]))
	case "refuses":
		os.Exit(Serve(refuses{none.New()}, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// refuses is a backend that lacks what is required.
type refuses struct{ *none.Backend }

func (refuses) Open(_ context.Context, p sandbox.Profile) (sandbox.Session, error) {
	if p.Tier == "down" {
		return nil, fmt.Errorf("no engine: %w", sandbox.ErrUnavailable)
	}
	_, err := p.Judge("refuses", []sandbox.Gap{{Control: sandbox.SyscallFilter, Why: "it has none"}})
	return nil, err
}

func open(t *testing.T, b *Backend, p sandbox.Profile) sandbox.Session {
	t.Helper()
	s, err := b.Open(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func self(t *testing.T, mode string) *Backend {
	t.Helper()
	t.Setenv(modeVar, mode)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return At(mode, exe)
}

func TestRun(t *testing.T) {
	b := self(t, "none")
	s := open(t, b, sandbox.Profile{Workspace: t.TempDir()})
	t.Setenv("FROM_HOST", "a\xffb")
	var out, diag bytes.Buffer
	result, err := s.Run(t.Context(), sandbox.Command{
		Argv: []string{"sh", "-c", `cat; printf '%s|%s|%s' "$FROM_HOST" "$OWN" "$1" >&2; exit 3`, "sh", "arg\xfe"},
		Env:  []string{"PATH=" + os.Getenv("PATH"), "FROM_HOST=a\xffb", "OWN=x\xfdy"}, Stdin: strings.NewReader("in\x00"), Stdout: &out, Stderr: &diag,
	})
	if err != nil || result.ExitCode != 3 || result.Ending != sandbox.Exited || out.String() != "in\x00" || diag.String() != "a\xffb|x\xfdy|arg\xfe" {
		t.Errorf("%+v, %v, %q, %q", result, err, out.String(), diag.String())
	}
	if result.BytesOut == nil || *result.BytesOut != int64(out.Len()+diag.Len()) {
		t.Errorf("bytes %v", result.BytesOut)
	}
	for _, code := range []int{0, 1, 125, 126, 255} {
		result, err = s.Run(t.Context(), sandbox.Command{Argv: []string{"sh", "-c", fmt.Sprint("exit ", code)}, Env: os.Environ()})
		if err != nil || result.ExitCode != code || result.Ending != sandbox.Exited {
			t.Errorf("exit %d: %+v, %v", code, result, err)
		}
	}
	result, err = s.Run(t.Context(), sandbox.Command{Argv: []string{"sh", "-c", "kill -9 $$"}, Env: os.Environ()})
	if err != nil || result.Signal != 9 || result.ExitCode != 137 {
		t.Errorf("signal: %+v, %v", result, err)
	}
}

// A long command line does not fit into a pipe at once.
func TestLongOrder(t *testing.T) {
	s := open(t, self(t, "none"), sandbox.Profile{Workspace: t.TempDir()})
	long := strings.Repeat("x", 100_000)
	var out bytes.Buffer
	argv := []string{"sh", "-c", `echo $#`, "sh"}
	for range 10 {
		argv = append(argv, long)
	}
	result, err := s.Run(t.Context(), sandbox.Command{Argv: argv, Env: os.Environ(), Stdout: &out})
	if err != nil || result.ExitCode != 0 || out.String() != "10\n" {
		t.Errorf("%+v, %v, %q", result, err, out.String())
	}
}

func TestEndsAndSignals(t *testing.T) {
	s := open(t, self(t, "none"), sandbox.Profile{Workspace: t.TempDir()})
	wait := func(file string) {
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
			if _, err := os.Stat(file); err == nil {
				return
			}
		}
		t.Error("the command did not start")
	}
	dir := t.TempDir()
	gone := make(chan struct{})
	go func() { wait(dir + "/a"); close(gone) }()
	result, err := s.Run(t.Context(), sandbox.Command{Argv: []string{"sh", "-c", "touch " + dir + "/a; exec sleep 600"}, Env: os.Environ(), Orphaned: gone})
	if err != nil || result.Ending != sandbox.Abandoned {
		t.Errorf("caller gone: %+v, %v", result, err)
	}
	signals := make(chan os.Signal, 1)
	go func() { wait(dir + "/b"); signals <- syscall.SIGUSR1 }()
	result, err = s.Run(t.Context(), sandbox.Command{
		Argv: []string{"sh", "-c", "trap 'exit 4' USR1; touch " + dir + "/b; while :; do sleep 0.02; done"}, Env: os.Environ(), Signals: signals,
	})
	if err != nil || result.ExitCode != 4 {
		t.Errorf("signal: %+v, %v", result, err)
	}
	result, err = s.Run(t.Context(), sandbox.Command{Argv: []string{"sleep", "600"}, Env: os.Environ(), Timeout: 100 * time.Millisecond})
	if err != nil || result.Ending != sandbox.TimedOut {
		t.Errorf("time limit: %+v, %v", result, err)
	}
}

func TestPlanAndProbe(t *testing.T) {
	b := self(t, "none")
	c, err := b.Probe(t.Context())
	if err != nil || c.Backend != "none" || len(c.Gaps) == 0 {
		t.Errorf("%+v, %v", c, err)
	}
	plan, err := open(t, b, sandbox.Profile{Workspace: "/nowhere"}).Plan(sandbox.Command{Argv: []string{"true"}, Env: []string{"A=b"}})
	if err != nil || plan.Backend != "none" || !reflect.DeepEqual(plan.Argv, []string{"true"}) || !reflect.DeepEqual(plan.Env, []string{"A"}) {
		t.Errorf("%+v, %v", plan, err)
	}
}

func TestErrors(t *testing.T) {
	b := self(t, "refuses")
	command := sandbox.Command{Argv: []string{"true"}, Env: os.Environ()}
	result, err := open(t, b, sandbox.Profile{}).Run(t.Context(), command)
	var gaps *sandbox.GapError
	if !errors.As(err, &gaps) || gaps.Gaps[0].Control != sandbox.SyscallFilter || result.Ending != sandbox.NotStarted {
		t.Errorf("%+v, %v", result, err)
	}
	_, err = open(t, b, sandbox.Profile{Tier: "down"}).Run(t.Context(), command)
	if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "no engine") {
		t.Error(err)
	}
	if _, err := b.Open(t.Context(), sandbox.Profile{Workspace: "/a\xff"}); err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("a path that is no text: %v", err)
	}
}

// script writes a helper in the language of the shell, as somebody else would.
func script(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, Prefix+"mine")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestForeignHelper(t *testing.T) {
	for _, c := range []struct {
		name, text string
		code       int
		kind       error
		words      string
	}{
		{"answers", `read -r order <&3; echo '{"result":{"ending":"exit","exit_code":5,"backend":"mine","enforced":[]}}' >&4; exit 5`, 5, nil, ""},
		{"says nothing", `exit 0`, 125, sandbox.ErrLost, "without an answer"},
		{"is killed", `kill -9 $$`, 125, sandbox.ErrLost, "without an answer"},
		{"is cut off", `printf '{"result":{"end' >&4`, 125, sandbox.ErrLost, "read the helper's answer"},
		{"answers with something else", `echo no >&4`, 125, sandbox.ErrLost, "read the helper's answer"},
		{"reports", `echo '{"error":{"kind":"start","text":"no room"}}' >&4; exit 125`, 125, sandbox.ErrStart, "no room"},
		{"reports in its own words", `echo '{"error":{"kind":"odd","text":"no room"}}' >&4; exit 125`, 125, sandbox.ErrLost, "no room"},
	} {
		s := open(t, At("mine", script(t, c.text)), sandbox.Profile{Workspace: "/nowhere"})
		result, err := s.Run(t.Context(), sandbox.Command{Argv: []string{"true"}})
		if result.ExitCode != c.code || !errors.Is(err, c.kind) || c.words != "" && (err == nil || !strings.Contains(err.Error(), c.words)) {
			t.Errorf("%s: %+v, %v", c.name, result, err)
		}
	}
	// A helper that others can change, or that the command can, is not started.
	path := script(t, "exit 0")
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := At("mine", path).Open(t.Context(), sandbox.Profile{}); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("writable by others: %v", err)
	}
	path = script(t, "exit 0")
	if _, err := At("mine", path).Open(t.Context(), sandbox.Profile{Workspace: filepath.Dir(path)}); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("in the workspace: %v", err)
	}
	if _, err := At("mine", "relative").Open(t.Context(), sandbox.Profile{}); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("relative: %v", err)
	}
}

// A helper refuses what it does not know: it may have been meant to confine.
func TestServeRefusesTheUnknown(t *testing.T) {
	for _, text := range []string{
		`{"version":1,"profile":{"Workspace":"/","NewLimit":1},"command":{"argv":["true"]}}`,
		`{"version":2,"profile":{},"command":{"argv":["true"]}}`,
		`not json`, ``,
	} {
		in := json.NewDecoder(strings.NewReader(text))
		in.DisallowUnknownFields()
		out, code := handle(none.New(), verbRun, in)
		if out.Error == nil || code != 125 || out.Result != nil {
			t.Errorf("%s: %+v, %d", text, out, code)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{"docker": true, "my-own2": true, "": false, "../x": false, "A": false, "-x": false, "a b": false} {
		if Names(name) != want {
			t.Errorf("%q", name)
		}
	}
}
