//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package ssh

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/ssh/tree"
	"github.com/sbx-run/sbx/sandbox/ssh/wire"
)

// session runs commands under one profile.
type session struct {
	options Options
	profile sandbox.Profile
	link    *link
	where   os.FileInfo // the workspace when the session was opened
}

// stands refuses a workspace that was replaced since: its name may lead anywhere.
func (s *session) stands(now os.FileInfo, err error) error {
	if err == nil && !os.SameFile(now, s.where) {
		err = errors.New("another directory is in its place")
	}
	if err != nil {
		return fmt.Errorf("workspace %q: %w: %w", s.profile.Workspace, err, sandbox.ErrStart)
	}
	return nil
}

// Close leaves the connection to the commands that come later.
func (s *session) Close() error { return nil }

// wrap says whose error it is.
func (s *session) wrap(err error) error {
	var gaps *sandbox.GapError
	if err == nil || errors.As(err, &gaps) {
		return err
	}
	return fmt.Errorf("backend ssh: %w", err)
}

// order is what the other side is asked for.
func (s *session) order(verb wire.Verb, c sandbox.Command) (wire.Order, error) {
	p := s.profile
	p.Container = sandbox.Container{} // another backend's
	o := wire.Order{
		Version: wire.Version, Verb: verb, Profile: p, Shared: s.options.Workspace == Shared,
		Argv: wire.Words(c.Argv), Env: wire.Words(c.Env), Dir: []byte(c.Dir), Timeout: c.Timeout, Grace: c.Grace,
	}
	if !o.Shared {
		o.Sync, o.Workspace = true, s.dir()
	}
	return o, s.script(&o, c)
}

// maxScript bounds the script of a runtime.
const maxScript = 8 << 20

// script sends the script file of a runtime along: the argument after an
// interpreter, which the engine made readable and which lies outside of the
// workspace.
func (s *session) script(o *wire.Order, c sandbox.Command) error {
	if len(c.Argv) < 2 || !slices.Contains(s.profile.Read, c.Argv[1]) {
		return nil
	}
	if _, ok := inside(s.profile.Workspace, c.Argv[1]); ok {
		return nil
	}
	info, err := os.Lstat(c.Argv[1])
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if info.Size() > maxScript {
		return fmt.Errorf("send %q: a script of %d bytes: %w", c.Argv[1], info.Size(), sandbox.ErrStart)
	}
	if o.Script, err = os.ReadFile(c.Argv[1]); err != nil {
		return fmt.Errorf("send the script: %w: %w", err, sandbox.ErrStart)
	}
	o.ScriptAt = 1
	return nil
}

// steps say what a run does before and after the command, without the other
// machine. unheld: there is no sbx on it.
func (s *session) steps(unheld bool) []string {
	steps := []string{"connect to " + s.options.Host + " by ssh, or use the connection that stands"}
	if unheld {
		return append(steps, "run the command there by sh, which confines nothing, in the same directory")
	}
	steps = append(steps, "start sbx there")
	if s.options.Workspace == Shared {
		return append(steps, "run the command there, confined, in the same directory")
	}
	return append(steps, "carry what has changed in "+s.profile.Workspace+" to ~/"+s.dir()+" there, and back",
		"run the command there, confined", "carry what has changed there back")
}

// Plan asks the other machine what it would do.
func (s *session) Plan(c sandbox.Command) (sandbox.Plan, error) {
	o, err := s.order(wire.Plan, c)
	if err != nil {
		return sandbox.Plan{}, s.wrap(err)
	}
	answer, err := s.ask(context.Background(), o, sandbox.Command{})
	if err == nil {
		err = answer.Err()
	}
	if err == nil && answer.Plan == nil {
		err = fmt.Errorf("the other machine has made no plan: %w", sandbox.ErrStart)
	}
	if err != nil {
		return sandbox.Plan{}, s.wrap(err)
	}
	plan := *answer.Plan
	unheld := plan.Backend == plainName
	plan.Tier = strings.Trim(plan.Backend+" "+plan.Tier, " ")
	plan.Backend, plan.Steps = Name, append(s.steps(unheld), plan.Steps...)
	return plan, nil
}

// Run runs the command there.
func (s *session) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	began := time.Now()
	failed := func(err error) (sandbox.Result, error) {
		result := sandbox.Result{Backend: Name, Ending: sandbox.NotStarted, ExitCode: 125}
		if errors.Is(err, sandbox.ErrLost) {
			result.Ending = sandbox.Lost
		} else if ctx.Err() != nil && !errors.Is(err, sandbox.ErrStart) {
			err = fmt.Errorf("%w: %w", err, sandbox.ErrStart)
		}
		return result, s.wrap(err)
	}
	if len(c.Argv) == 0 {
		return failed(fmt.Errorf("start command: no arguments: %w", sandbox.ErrStart))
	}
	if err := s.stands(os.Lstat(s.profile.Workspace)); err != nil {
		return failed(err)
	}
	o, err := s.order(wire.Run, c)
	if err != nil {
		return failed(err)
	}
	answer, err := s.ask(ctx, o, c)
	if err != nil && answer.Result == nil {
		return failed(err)
	}
	if answer.Result == nil {
		return failed(answer.Err())
	}
	result := *answer.Result
	result.BackendVersion = s.options.version(result.Backend, result.BackendVersion)
	result.Backend, result.Wall = Name, time.Since(began)
	if err == nil {
		err = answer.Err()
	}
	return result, s.wrap(err)
}

// maxLinks bounds the connections to one machine: a server takes ten sessions on
// each, if its owner has not decided otherwise.
const maxLinks = 8

// ask sends an order and attends to it. A connection that turns out to be broken
// before the other side has taken the order is made anew, once; one that takes no
// more sessions is left to those that it has.
func (s *session) ask(ctx context.Context, o wire.Order, c sandbox.Command) (wire.Answer, error) {
	l, last, again := s.link, error(nil), 1
	for n := 1; n < maxLinks && again >= 0; {
		answer, err := s.askOnce(ctx, l, o, c)
		last = err
		var broken *brokenError
		var missing *missingError
		switch {
		case errors.As(err, &broken) && ctx.Err() == nil && l.answers(): // it stands, and refuses
			l = s.link.further(n)
			n++
			continue
		case errors.As(err, &broken) && ctx.Err() == nil:
			if ferr := l.forget(ctx); ferr != nil {
				return answer, fmt.Errorf("%w: %w", ferr, sandbox.ErrStart)
			}
		case errors.As(err, &missing):
			_ = os.Remove(l.base + ".far")
		default:
			return answer, err
		}
		again--
	}
	return wire.Answer{}, fmt.Errorf("%w: %w", last, sandbox.ErrUnavailable)
}

// missingError says that sbx could not be started there.
type missingError struct{ words string }

func (e *missingError) Error() string { return "start sbx there: " + e.words }

func (s *session) askOnce(ctx context.Context, l *link, o wire.Order, c sandbox.Command) (wire.Answer, error) {
	command, err := l.program(ctx)
	if err != nil {
		if none := (*noSbxError)(nil); errors.As(err, &none) {
			return s.plain(ctx, l, o, c, none)
		}
		if broken := (*brokenError)(nil); errors.As(err, &broken) {
			return wire.Answer{}, err
		}
		return wire.Answer{}, fmt.Errorf("%w: %w", err, sandbox.ErrUnavailable)
	}
	n, err := s.start(l, command, c)
	var broken *brokenError
	if errors.As(err, &broken) {
		return wire.Answer{}, err
	}
	if err != nil {
		return wire.Answer{}, fmt.Errorf("start ssh: %w: %w", err, sandbox.ErrStart)
	}
	defer n.close()
	return n.attend(ctx, o)
}

// dir is the workspace there, below the home directory. Its name holds a number of
// this machine: two may have a workspace of the same name and one home there.
func (s *session) dir() string {
	if s.options.Dir != "" {
		return filepath.Clean(s.options.Dir)
	}
	return filepath.Join(wire.SyncDir, hashOf(s.link.machine()+"\x00"+s.profile.Workspace), filepath.Base(s.profile.Workspace))
}

// files opens the exchange of the workspace.
func (s *session) files(c tree.Conn) (*tree.Near, error) {
	var owner *tree.Owner
	if i := s.profile.Identity; i != nil {
		owner = &tree.Owner{UID: int(i.UID), GID: int(i.GID)}
	}
	state := filepath.Join(filepath.Dir(s.link.base), "sync-"+hashOf(strings.Join([]string{s.options.Host, s.options.Options, s.dir(), s.profile.Workspace}, "\x00")))
	near, err := tree.OpenNear(c, s.profile.Workspace, state, s.options.Host, owner)
	if err != nil {
		return nil, err
	}
	if err := s.stands(near.Stat()); err != nil {
		near.Close()
		return nil, err
	}
	return near, nil
}
