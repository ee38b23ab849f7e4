//go:build unix

package command

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// passes runs its arguments as they are, in the workspace.
const passes = `cd "$PEPE_SANDBOX_CWD" || exit 125
exec "$@"
`

// wrapper writes an executable as somebody else would, in a directory that only
// its owner can write to.
func wrapper(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "w.sh")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func profile(t *testing.T) sandbox.Profile {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return sandbox.Profile{Workspace: dir, Accept: sandbox.Controls()}
}

// run runs a command under a wrapper and returns its two streams.
func run(t *testing.T, b *Backend, p sandbox.Profile, c sandbox.Command) (out, errs string, r sandbox.Result) {
	t.Helper()
	s, err := b.Open(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if c.Env == nil {
		c.Env = []string{"PATH=" + os.Getenv("PATH")}
	}
	r, err = s.Run(context.Background(), c)
	if err != nil {
		t.Fatalf("%q: %v", c.Argv, err)
	}
	return stdout.String(), stderr.String(), r
}

func TestPassesOn(t *testing.T) {
	b, p := New(wrapper(t, passes), Options{}), profile(t)
	odd := []string{"printf", "%s\\n", "", " ", "a b", "a\nb", "$HOME", "`id`", "'", `"`, `\`, "*", "-rf", "--", "\xff"}
	out, _, r := run(t, b, p, sandbox.Command{Argv: odd})
	if want := strings.Join(odd[2:], "\n") + "\n"; out != want || r.ExitCode != 0 || r.Backend != "command:"+b.path {
		t.Errorf("%q, %+v", out, r)
	}
	out, errs, r := run(t, b, p, sandbox.Command{Argv: []string{"sh", "-c", "cat; echo e >&2; pwd -P; exit 42"}, Stdin: strings.NewReader("in\x00\n")})
	if out != "in\x00\n"+p.Workspace+"\n" || errs != "e\n" || r.ExitCode != 42 || r.Ending != sandbox.Exited {
		t.Errorf("%q, %q, %+v", out, errs, r)
	}
	if _, _, r = run(t, b, p, sandbox.Command{Argv: []string{"sh", "-c", "kill -9 $$"}}); r.Ending != sandbox.Signaled || r.Signal != 9 || r.ExitCode != 137 {
		t.Errorf("a signal: %+v", r)
	}
	if _, _, r = run(t, b, p, sandbox.Command{Argv: []string{"sleep", "60"}, Timeout: 50 * time.Millisecond, Grace: time.Second}); r.Ending != sandbox.TimedOut {
		t.Errorf("a time limit: %+v", r)
	}
}

// A command that starts below the workspace is confined to all of it.
func TestStartsInADirectory(t *testing.T) {
	b, p := New(wrapper(t, passes), Options{}), profile(t)
	dir := p.Workspace + "/-a 'b"
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	out, _, _ := run(t, b, p, sandbox.Command{Argv: []string{"sh", "-c", `echo "$PEPE_SANDBOX_CWD"; pwd -P; echo "$0" "$1"`, "zero", "a  b"}, Dir: dir})
	if out != p.Workspace+"\n"+dir+"\nzero a  b\n" {
		t.Errorf("%q", out)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("PEPE_SANDBOX_IMAGE", "image:1")
	t.Setenv("PEPE_SANDBOX_NET", "bridge") // what the caller says is in the profile already
	t.Setenv("PEPE_SANDBOX_WRITE", "/etc")
	t.Setenv("DOCKER_HOST", "unix:///d.sock")
	t.Setenv("PRIVATE_THING", "1")
	p := profile(t)
	p.Private = sandbox.Private{Temp: "/p/tmp", Cache: "/p/cache"}
	p.Write = []string{"/w1", "/w\n2", "/w3"}
	p.Hide = []string{"/h1", "/h2"}
	p.Limits.MemoryBytes = 5 << 20
	p.Identity = &sandbox.Identity{UID: 7, GID: 8}
	given := []string{"PATH=/bin", "TMPDIR=/p/tmp", "GOCACHE=/p/cache/go", "A=1", "PEPE_SANDBOX_NET=bridge", "PEPE_SANDBOX_CWD=/"}
	have := wrapperEnv(given, New("/w.sh", Options{User: true}), p)
	want := []string{
		"PEPE_SANDBOX_CWD=" + p.Workspace, "PEPE_SANDBOX_NET=none", "PEPE_SANDBOX_MEM=5242880", "PEPE_SANDBOX_WRITE=/w1\n/w3", "PEPE_SANDBOX_HIDE=/h1\n/h2", "PEPE_SANDBOX_TMP=/p/tmp",
		"PEPE_SANDBOX_USER=7:8", "SBX_WITHIN_WRAPPER=/w.sh", "PEPE_SANDBOX_IMAGE=image:1", "DOCKER_HOST=unix:///d.sock", "PATH=/bin", "TMPDIR=/tmp", "A=1",
	}
	for _, entry := range want {
		if !slices.Contains(have, entry) {
			t.Errorf("%q is missing in %q", entry, have)
		}
	}
	for _, entry := range have {
		name, _, _ := strings.Cut(entry, "=")
		if name == "GOCACHE" || name == "PRIVATE_THING" {
			t.Errorf("%q is there", entry)
		}
		if n := len(slices.DeleteFunc(slices.Clone(have), func(e string) bool { return !strings.HasPrefix(e, name+"=") })); n != 1 {
			t.Errorf("%s is there %d times", name, n)
		}
	}
	rules := sandbox.Profile{Network: sandbox.NetworkRules, Egress: &sandbox.Egress{Rules: []string{"a", "b"}}}
	if got := network(New("/w", Options{}), rules); got != "bridge" {
		t.Errorf("rules that nobody claims: %q", got)
	}
	if got := network(New("/w", Options{Claims: []sandbox.Control{sandbox.RulesHeld}}), rules); got != "allow:a,b" {
		t.Errorf("rules: %q", got)
	}
}

// Nothing is held that nobody claims, and a claim is taken at its word.
func TestClaims(t *testing.T) {
	path := wrapper(t, passes)
	p := profile(t)
	p.Accept = nil
	_, err := New(path, Options{}).Open(context.Background(), p)
	var gaps *sandbox.GapError
	if !errors.As(err, &gaps) || len(gaps.Gaps) != len(sandbox.DefaultRequired()) {
		t.Errorf("no claims: %v", err)
	}
	b := New(path, Options{Claims: append(sandbox.DefaultRequired(), sandbox.NetworkOff)})
	_, _, r := run(t, b, p, sandbox.Command{Argv: []string{"true"}})
	if !slices.Equal(r.Enforced, append(sandbox.DefaultRequired(), sandbox.NetworkOff)) {
		t.Errorf("enforced %v", r.Enforced)
	}
	for _, g := range r.Gaps {
		if slices.Contains(r.Enforced, g.Control) {
			t.Errorf("%s is both", g.Control)
		}
	}
	if n := len(r.Gaps) + len(r.Enforced); n != len(slices.DeleteFunc(sandbox.Controls(), func(c sandbox.Control) bool { return !p.Limits.Speaks(c) })) {
		t.Errorf("%d controls are spoken of", n)
	}
	p.Hide = []string{p.Workspace + "/x"} // nobody tells the wrapper
	if _, err := b.Open(context.Background(), p); !errors.As(err, &gaps) || gaps.Gaps[0].Control != sandbox.CredentialsHidden {
		t.Errorf("a hidden path in the workspace: %v", err)
	}
}

func TestRefuses(t *testing.T) {
	p := profile(t)
	good := wrapper(t, passes)
	refused := func(name, words string, b *Backend, p sandbox.Profile) {
		t.Helper()
		if _, err := b.Open(context.Background(), p); !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(good, Options{}).Open(context.Background(), p); err != nil {
		t.Fatalf("control: %v", err)
	}
	refused("relative", "absolute", New("w.sh", Options{}), p)
	refused("missing", "no such file", New(good+".not", Options{}), p)
	refused("a directory", "executable", New(filepath.Dir(good), Options{}), p)
	with := p
	with.ReadOnly = true
	refused("read-only", "read-only", New(good, Options{}), with)
	with = p
	with.MinTier = "full"
	refused("a tier", "tiers", New(good, Options{}), with)
	with = p
	with.Workspace = filepath.Dir(good)
	refused("in the workspace", "may write", New(good, Options{}), with)
	refused("a claim without words", "denials-explained", New(good, Options{Claims: []sandbox.Control{sandbox.DenialsExplained}}), p)

	open := wrapper(t, passes)
	for _, mode := range []os.FileMode{0o775, 0o757} {
		check(t, os.Chmod(open, mode))
		refused("mode "+mode.String(), "changed by others", New(open, Options{}), p)
	}
	check(t, os.Chmod(open, 0o644))
	refused("not executable", "executable", New(open, Options{}), p)
	check(t, os.Chmod(open, 0o755))
	check(t, os.Chmod(filepath.Dir(open), 0o777))
	refused("in a directory of all", "changed by others", New(open, Options{}), p)
	// A link in a directory of all could lead elsewhere tomorrow.
	link := filepath.Join(filepath.Dir(open), "link")
	check(t, os.Symlink(good, link))
	refused("a link in a directory of all", "changed by others", New(link, Options{}), p)
	if os.Geteuid() == 0 {
		other := wrapper(t, passes)
		check(t, os.Lchown(other, 65534, 65534))
		refused("of another user", "changed by others", New(other, Options{}), p)
	}

	refused("sbx's own wrapper", "calls sbx", New(wrapper(t, `sbx=/opt/sbx`+"\n"+`exec "$sbx" exec --backend direct -- "$@"`), Options{}), p)
	self, err := os.Executable()
	check(t, err)
	link = filepath.Join(filepath.Dir(good), "sbx-exec")
	check(t, os.Symlink(self, link))
	if !Ours(link) || Ours(good) {
		t.Error("this program is not known by a link")
	}
	t.Setenv(withinVar, good)
	refused("called by a wrapper", "would be called again", New(good, Options{}), p)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What was fine when the session was opened is looked at again.
func TestChangedSince(t *testing.T) {
	b, p := New(wrapper(t, passes), Options{}), profile(t)
	s, err := b.Open(context.Background(), p)
	check(t, err)
	check(t, os.Chmod(b.path, 0o777))
	r, err := s.Run(context.Background(), sandbox.Command{Argv: []string{"touch", "ran"}, Env: []string{"PATH=" + os.Getenv("PATH")}})
	if !errors.Is(err, sandbox.ErrUnavailable) || r.Ending != sandbox.NotStarted {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(p.Workspace + "/ran"); err == nil {
		t.Error("it ran")
	}
}

// What a link in the workspace's place leads to must not become writable.
func TestReplacedWorkspace(t *testing.T) {
	b, p := New(wrapper(t, passes), Options{}), profile(t)
	p.Workspace += "/ws"
	check(t, os.Mkdir(p.Workspace, 0o755))
	s, err := b.Open(context.Background(), p)
	check(t, err)
	c := sandbox.Command{Argv: []string{"touch", "made"}, Env: []string{"PATH=" + os.Getenv("PATH")}}
	if r, err := s.Run(context.Background(), c); err != nil || r.ExitCode != 0 {
		t.Fatalf("control: %+v, %v", r, err)
	}
	outside := t.TempDir()
	check(t, os.Rename(p.Workspace, p.Workspace+".moved"))
	check(t, os.Symlink(outside, p.Workspace))
	if r, err := s.Run(context.Background(), c); !errors.Is(err, sandbox.ErrStart) || r.Ending != sandbox.NotStarted {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(outside + "/made"); err == nil {
		t.Error("it ran outside")
	}
}

// A wrapper without its interpreter is an error of the backend's, not a status
// of the command.
func TestBroken(t *testing.T) {
	path := wrapper(t, "")
	check(t, os.WriteFile(path, []byte("#!/no/such\n"), 0o755))
	s, err := New(path, Options{}).Open(context.Background(), profile(t))
	check(t, err)
	r, err := s.Run(context.Background(), sandbox.Command{Argv: []string{"true"}})
	if !errors.Is(err, sandbox.ErrUnavailable) || r.Ending != sandbox.NotStarted || r.ExitCode != 125 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := New(path, Options{}).Probe(context.Background()); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Error(err)
	}
}

func TestProbe(t *testing.T) {
	claims := []sandbox.Control{sandbox.NetworkOff}
	c, err := New(wrapper(t, passes), Options{Claims: claims, Apart: true}).Probe(context.Background())
	if err != nil || !slices.Equal(c.Enforced, claims) || !c.Apart || len(c.Gaps) == 0 {
		t.Errorf("%+v, %v", c, err)
	}
	for _, text := range []string{"exit 0\n", "echo no engine >&2; exit 125\n", "kill -9 $$\n"} {
		if _, err := New(wrapper(t, text), Options{}).Probe(context.Background()); !errors.Is(err, sandbox.ErrUnavailable) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The wrapper runs as the user that the profile names, or is told.
func TestIdentity(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can change the user")
	}
	p := profile(t)
	for dir := p.Workspace; dir != "/" && dir != "/tmp"; dir = filepath.Dir(dir) {
		check(t, os.Chmod(dir, 0o755))
	}
	check(t, os.Chown(p.Workspace, 65534, 65534))
	p.Identity = &sandbox.Identity{UID: 65534, GID: 65534, Groups: []uint32{65534}}
	path := wrapper(t, passes)
	for dir := filepath.Dir(path); dir != "/" && dir != "/tmp"; dir = filepath.Dir(dir) {
		check(t, os.Chmod(dir, 0o755))
	}
	if out, _, _ := run(t, New(path, Options{}), p, sandbox.Command{Argv: []string{"sh", "-c", "id -u; echo ${PEPE_SANDBOX_USER-unset}"}}); out != "65534\nunset\n" {
		t.Errorf("%q", out)
	}
	if out, _, _ := run(t, New(path, Options{User: true}), p, sandbox.Command{Argv: []string{"sh", "-c", "id -u; echo $PEPE_SANDBOX_USER"}}); out != "0\n65534:65534\n" {
		t.Errorf("%q", out)
	}
}

// What a wrapper leaves behind ends with it where sbx owns the tree; in a library
// its process group does.
func TestNothingIsLeft(t *testing.T) {
	b, p := New(wrapper(t, `"$@" & sleep 61 & exit 0`+"\n"), Options{}), profile(t)
	mark := p.Workspace + "/pid"
	_, _, _ = run(t, b, p, sandbox.Command{Argv: []string{"sh", "-c", "echo $$ >pid; exec sleep 60"}})
	text, err := os.ReadFile(mark)
	if err != nil {
		return // it was ended before it wrote
	}
	pid := 0
	for _, c := range strings.TrimSpace(string(text)) {
		pid = pid*10 + int(c-'0')
	}
	for deadline := time.Now().Add(5 * time.Second); pid > 0 && syscall.Kill(pid, 0) == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it goes on")
		}
	}
}
