// Package command leaves a command to an executable that obeys the contract of
// wrapper scripts: it is called with the program and its arguments, runs them
// confined to $PEPE_SANDBOX_CWD and exits with their status. What it holds nobody
// can see from here. So its owner claims controls, and all others are gaps.
package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/proc"
)

// Prefix begins the name of every such backend; the path follows.
const Prefix = "command:"

// Path is the executable that the name of a backend holds.
func Path(name string) (path string, ok bool) { return strings.CutPrefix(name, Prefix) }

// Options are what the owner of an executable says of it. The zero value claims
// nothing.
type Options struct {
	// Claims lists the controls it holds. `sbx probe command:PATH` says which are
	// true here.
	Claims []sandbox.Control
	// Apart says that a command sees an image or another machine.
	Apart bool
	// User says that the command runs as $PEPE_SANDBOX_USER, "uid:gid". Otherwise
	// the executable itself is run as that user.
	User bool
}

// Backend is one executable. It is safe for concurrent use.
type Backend struct {
	path    string
	options Options
}

// New returns the backend of the executable at an absolute path.
func New(path string, o Options) *Backend { return &Backend{path: path, options: o} }

// Name returns the prefix and the path.
func (b *Backend) Name() string { return Prefix + b.path }

// check refuses an executable that cannot be relied on under a profile.
func (b *Backend) check(p sandbox.Profile) error {
	fail := func(why error) error {
		return fmt.Errorf("backend %s: %w: %w", b.Name(), why, sandbox.ErrUnavailable)
	}
	if err := proc.Trusted(b.path, p); err != nil {
		return fail(err)
	}
	for _, c := range b.options.Claims {
		if why := unclaimable(c); why != "" {
			return fail(fmt.Errorf("it claims %s, but %s: take the claim out", c, why))
		}
	}
	if Ours(b.path) {
		return fail(errors.New("it is a wrapper that calls sbx, which would call it again: name the backend that stands in it"))
	}
	if above := os.Getenv(withinVar); above != "" {
		return fail(fmt.Errorf("this process was started by the wrapper %s, which would be called again: name another backend in it (sbx exec --backend NAME)", above))
	}
	return nil
}

// unclaimable says why an executable cannot hold a control: the contract has no
// words for it.
func unclaimable(c sandbox.Control) string {
	switch c {
	case sandbox.DenialsExplained:
		return "it has no way to tell what was refused"
	case sandbox.HooksProtected:
		return "it is not told which files are protected"
	case sandbox.LimitTemp:
		return "it is not told of a size for temp directories"
	case sandbox.LimitOutput:
		return "sbx itself holds it"
	}
	return ""
}

// Claimable says whether an executable can hold a control at all.
func Claimable(c sandbox.Control) bool { return unclaimable(c) == "" }

// Probe runs the executable once, with a program that does nothing, and reports
// what is claimed.
func (b *Backend) Probe(ctx context.Context) (sandbox.Capabilities, error) {
	if err := b.check(sandbox.Profile{}); err != nil {
		return sandbox.Capabilities{}, err
	}
	if err := b.tryOut(ctx); err != nil {
		return sandbox.Capabilities{}, fmt.Errorf("backend %s: %w: %w", b.Name(), err, sandbox.ErrUnavailable)
	}
	return sandbox.Capabilities{
		Backend: b.Name(), Enforced: b.held(sandbox.Profile{}), Gaps: b.gaps(sandbox.Profile{}), Apart: b.options.Apart,
	}, nil
}

// tried is the exit status by which a run is known to have come through.
const tried = 87

func (b *Backend) tryOut(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "sbx-try-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	c := exec.CommandContext(ctx, b.path, "sh", "-c", fmt.Sprint("exit ", tried))
	c.Dir, c.Env = dir, wrapperEnv([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, b, sandbox.Profile{Workspace: dir})
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	var exit *exec.ExitError
	if err := c.Run(); errors.As(err, &exit) && exit.ExitCode() == tried {
		return nil
	} else if !errors.As(err, &exit) && err != nil {
		return err
	}
	words, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
	return fmt.Errorf("it was to run `exit %d` and ended with %s: %s", tried, c.ProcessState, words)
}

// Open judges the profile against what is claimed.
func (b *Backend) Open(_ context.Context, p sandbox.Profile) (sandbox.Session, error) {
	if err := b.check(p); err != nil {
		return nil, err
	}
	refuse := func(format string, args ...any) (sandbox.Session, error) {
		return nil, fmt.Errorf("backend %s: %s: %w", b.Name(), fmt.Sprintf(format, args...), sandbox.ErrUnavailable)
	}
	switch {
	case p.Tier+p.MinTier != "":
		return refuse("tier %q: a wrapper has no tiers", p.MinTier+p.Tier)
	case p.ReadOnly:
		return refuse("a wrapper has no way to keep the workspace read-only: leave out --read-only (sbx.read_only), or choose another backend")
	}
	gaps, err := p.Judge(b.Name(), b.gaps(p))
	if err != nil {
		return nil, err
	}
	place, err := os.Lstat(p.Workspace)
	if err != nil {
		return refuse("%v", err)
	}
	return &session{b, place, p, gaps, b.held(p)}, nil
}

// held lists what is promised under a profile: the claims, and what sbx does
// itself.
func (b *Backend) held(p sandbox.Profile) []sandbox.Control {
	list := []sandbox.Control{}
	for _, c := range sandbox.Controls() {
		if p.Limits.Speaks(c) && b.why(c, p) == "" {
			list = append(list, c)
		}
	}
	return list
}

func (b *Backend) gaps(p sandbox.Profile) []sandbox.Gap {
	var list []sandbox.Gap
	for _, c := range sandbox.Controls() {
		if !p.Limits.Speaks(c) {
			continue
		}
		if why := b.why(c, p); why != "" {
			g := sandbox.Gap{Control: c, Why: why}
			if unclaimable(c) == "" {
				g.Fix = fmt.Sprintf("if `sbx probe %s` shows that it holds, name it in the claims of sbx.wrappers", b.Name())
			}
			list = append(list, g)
		}
	}
	return list
}

// why says why a control is missing; "" when it is not.
func (b *Backend) why(c sandbox.Control, p sandbox.Profile) string {
	switch {
	case c == sandbox.LimitOutput:
		return ""
	case unclaimable(c) != "":
		return "of a wrapper: " + unclaimable(c)
	case !slices.Contains(b.options.Claims, c):
		return "nobody claims it for this wrapper"
	case c == sandbox.CredentialsHidden:
		for _, path := range p.Hide {
			if within(path, p.Workspace) {
				return fmt.Sprintf("the wrapper is not told that %s, in the workspace, is hidden", path)
			}
		}
	}
	return ""
}

func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
