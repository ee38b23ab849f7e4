//go:build unix

package seatbelt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// fake stands for sandbox-exec: it checks how it is called, keeps the profile,
// and runs the command unconfined. Beside a file "holds" it does in its place what
// a confined one of the probe would.
const fake = `#!/bin/sh
[ "$1" = -p ] && [ "$3" = -- ] || { echo "usage" >&2; exit 64; }
printf '%s' "$2" >"${0%/*}/profile"
shift 3
case $1 in /*) ;; *) echo "execvp() of '$1' failed: No such file or directory" >&2; exit 71 ;; esac
if [ -e "${0%/*}/holds" ]; then set -- /bin/sh -c ': >in'; fi
exec "$@"
`

func fakeProgram(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	check(t, os.Chmod(dir, 0o755))
	at := filepath.Join(dir, "sandbox-exec")
	check(t, os.WriteFile(at, []byte(fake), 0o755))
	return at
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func opened(t *testing.T, at string, p sandbox.Profile) sandbox.Session {
	t.Helper()
	p.Accept = sandbox.Controls()
	s, err := New(Options{Program: at}).Open(context.Background(), p)
	check(t, err)
	return s
}

func workspace(t *testing.T, name string) sandbox.Profile {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	p := sandbox.Profile{Workspace: filepath.Join(dir, name), Home: dir}
	check(t, os.Mkdir(p.Workspace, 0o755))
	return p
}

var environment = []string{"PATH=/usr/bin:/bin"}

func TestRun(t *testing.T) {
	at := fakeProgram(t)
	for _, name := range []string{"ws", `a"b)(c`, "a\nb", "-rf"} {
		p := workspace(t, name)
		s := opened(t, at, p)
		var out bytes.Buffer
		r, err := s.Run(context.Background(), sandbox.Command{
			Argv: []string{"sh", "-c", `pwd -P; printf '%s|' "$@"; exit 7`, "sh", "", "a b", "$x", "a\nb"}, Env: environment, Stdout: &out,
		})
		if want := p.Workspace + "\n|a b|$x|a\nb|"; err != nil || r.ExitCode != 7 || r.Ending != sandbox.Exited || out.String() != want || r.Backend != Name {
			t.Errorf("%q: %+v, %v, %q", name, r, err, out.String())
		}
		profile, err := os.ReadFile(filepath.Dir(at) + "/profile")
		check(t, err)
		if string(profile) != text(p, realPath, "") {
			t.Errorf("%q: another profile was used: %s", name, profile)
		}
	}
}

func TestEndings(t *testing.T) {
	at, p := fakeProgram(t), workspace(t, "ws")
	s := opened(t, at, p)
	check(t, os.WriteFile(p.Workspace+"/plain", nil, 0o644))
	for _, c := range []struct {
		argv []string
		want sandbox.Ending
		code int
	}{
		{[]string{"sh", "-c", "exit 71"}, sandbox.Exited, 71},
		{[]string{"sh", "-c", "kill -9 $$"}, sandbox.Signaled, 137},
		{[]string{"sbx-no-such-program"}, sandbox.NotFound, 127},
		{[]string{"./plain"}, sandbox.NotExec, 126},
		{[]string{"sleep", "60"}, sandbox.TimedOut, 143},
	} {
		r, err := s.Run(context.Background(), sandbox.Command{Argv: c.argv, Env: environment, Timeout: 2 * time.Second, Dir: p.Workspace})
		if err != nil || r.Ending != c.want || r.ExitCode != c.code {
			t.Errorf("%q: %+v, %v", c.argv, r, err)
		}
	}
	// A workspace that has been replaced would not be the one of the profile.
	check(t, os.Rename(p.Workspace, p.Workspace+".moved"))
	check(t, os.Symlink("/", p.Workspace))
	if r, err := s.Run(context.Background(), sandbox.Command{Argv: []string{"true"}, Env: environment}); !errors.Is(err, sandbox.ErrStart) || r.Ending != sandbox.NotStarted {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestRefuses(t *testing.T) {
	p := workspace(t, "ws")
	if runtime.GOOS != "darwin" {
		if _, err := New(Options{}).Open(context.Background(), p); !errors.Is(err, sandbox.ErrUnsupported) {
			t.Errorf("on %s: %v", runtime.GOOS, err)
		}
		if _, err := New(Options{}).Probe(context.Background()); !errors.Is(err, sandbox.ErrUnsupported) {
			t.Errorf("on %s: %v", runtime.GOOS, err)
		}
	}
	at := fakeProgram(t)
	b := New(Options{Program: at})
	var gap *sandbox.GapError
	p.Required = []sandbox.Control{sandbox.SyscallFilter}
	if _, err := b.Open(context.Background(), p); !errors.As(err, &gap) || gap.Gaps[0].Control != sandbox.SyscallFilter {
		t.Errorf("without a filter, which is required by name: %v", err)
	}
	p.Required = nil
	p.Accept = sandbox.Controls()
	p.MinTier = "full"
	if _, err := b.Open(context.Background(), p); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("a tier: %v", err)
	}
	check(t, os.Chmod(at, 0o777))
	if _, err := b.Open(context.Background(), workspace(t, "ws")); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("a program that others can change: %v", err)
	}
}

// The probe believes what it sees: a program that confines nothing is found out,
// and one that runs nothing.
func TestProbe(t *testing.T) {
	at := fakeProgram(t)
	b := New(Options{Program: at})
	if _, err := b.Probe(context.Background()); !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "outside") {
		t.Errorf("one that confines nothing: %v", err)
	}
	check(t, os.WriteFile(filepath.Dir(at)+"/holds", nil, 0o644))
	c, err := b.Probe(context.Background())
	if err != nil || !slices.Contains(c.Enforced, sandbox.WritesConfined) || c.Backend != Name {
		t.Errorf("%+v, %v", c, err)
	}
	check(t, os.WriteFile(at, []byte("#!/bin/sh\necho 'sandbox-exec: unbound variable' >&2\nexit 65\n"), 0o755))
	if _, err := b.Probe(context.Background()); !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "unbound variable") {
		t.Errorf("one that runs nothing: %v", err)
	}
}

// Every control is either held or a gap, never both, and never neither.
func TestControls(t *testing.T) {
	for _, network := range []sandbox.Network{sandbox.NetworkNone, sandbox.NetworkHost, sandbox.NetworkRules} {
		for _, limits := range []sandbox.Limits{{}, {MemoryBytes: 1, OutputBytes: 1}} {
			p := sandbox.Profile{Network: network, Limits: limits}
			kept, missing := held(p), sandbox.GapControls(gaps(p))
			for _, c := range sandbox.Controls() {
				n := 0
				for _, list := range [][]sandbox.Control{kept, missing} {
					if slices.Contains(list, c) {
						n++
					}
				}
				want := 1
				rules := c == sandbox.RulesHeld || c == sandbox.AllCarried
				if !limits.Speaks(c) || c == sandbox.NetworkOff && network != sandbox.NetworkNone || rules && network != sandbox.NetworkRules {
					want = 0
				}
				if n != want {
					t.Errorf("%s, %+v: %s is named %d times", network, limits, c, n)
				}
			}
		}
	}
}

func TestPlan(t *testing.T) {
	at, p := fakeProgram(t), workspace(t, "ws")
	plan, err := opened(t, at, p).Plan(sandbox.Command{Argv: []string{"sh", "-c", "true"}, Env: append(environment, "TOKEN=s3cr3t-value")})
	check(t, err)
	data, err := json.Marshal(plan)
	check(t, err)
	if plan.Argv[0] != at || !slices.Equal(plan.Argv[len(plan.Argv)-2:], []string{"-c", "true"}) || bytes.Contains(data, []byte("s3cr3t-value")) || !slices.Contains(plan.Steps, "(deny default)") {
		t.Errorf("%.300s", data)
	}
	if _, err := os.Stat(filepath.Dir(at) + "/profile"); err == nil {
		t.Error("something was executed")
	}
}
