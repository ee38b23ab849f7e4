package direct_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// A session may ask for the environment while the child gets ready. What the child
// executes is what it was told then, once, and nothing runs when it is told nothing.
func TestEnvironmentComesLate(t *testing.T) {
	for _, tier := range []string{landlock, thread} {
		t.Run(tier, func(t *testing.T) { testEnvironmentComesLate(newRoom(t, tier)) })
	}
}

func testEnvironmentComesLate(r *room) {
	s, ok := r.confined().(sandbox.Eager)
	if !ok {
		r.Fatal("the session is not eager")
	}
	asked := 0
	run := func(environ func() ([]string, error), argv ...string) (string, sandbox.Result, error) {
		asked = 0
		var out bytes.Buffer
		result, err := s.RunEager(context.Background(), sandbox.Command{Argv: argv, Env: []string{"A=early"}, Stdout: &out, Stderr: &out, Timeout: time.Minute}, func() ([]string, error) {
			asked++
			return environ()
		})
		return out.String(), result, err
	}
	late := func() ([]string, error) { return append(r.env(), "A=late"), nil }
	want := func(answer, out string, result sandbox.Result, err error) {
		r.Helper()
		if out != answer || result.Ending != sandbox.Exited || err != nil || asked != 1 {
			r.Errorf("%q, %+v, %v, asked %d times; want %q", out, result, err, asked, answer)
		}
	}

	out, result, err := run(late, "sh", "-c", "echo $A; touch ran")
	want("late\n", out, result, err)
	check(r, os.Remove(r.workspace+"/ran")) // the control of what follows

	no := errors.New("no")
	out, result, err = run(func() ([]string, error) { time.Sleep(50 * time.Millisecond); return nil, no }, "touch", "ran")
	if !errors.Is(err, no) || result.Ending != sandbox.NotStarted || result.ExitCode != 125 || out != "" {
		r.Errorf("%q, %+v, %v", out, result, err)
	}
	if _, err := os.Stat(r.workspace + "/ran"); err == nil {
		r.Error("the command ran without its environment")
	}

	// The program is looked for in the PATH that came late.
	check(r, os.WriteFile(r.workspace+"/a/tool", []byte("#!/bin/sh\necho found\n"), 0o755))
	out, result, err = run(func() ([]string, error) { return []string{"PATH=" + r.workspace + "/a"}, nil }, "tool")
	want("found\n", out, result, err)
	if _, result, err = run(late, "tool"); err != nil || result.Ending != sandbox.NotFound || result.ExitCode != 127 {
		r.Errorf("a missing program: %+v, %v", result, err)
	}

	// Rules that are stale by now are made again, for a second child.
	check(r, os.WriteFile(r.home+"/new", []byte("new"), 0o644))
	out, result, err = run(late, "cat", r.home+"/new")
	want("new", out, result, err)
	if out, result, _ = run(late, "cat", r.home+"/.ssh/id"); result.ExitCode == 0 || bytes.Contains([]byte(out), []byte("secret")) {
		r.Errorf("a hidden file is read: %q", out)
	}
}
