package helper

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/proc"
)

// patience is how long a helper may take to end a command whose caller is gone.
const patience = 20 * time.Second

// Backend leaves everything to a helper. It is safe for concurrent use.
type Backend struct {
	name string
	path string // empty: see proc.Beside
}

// New returns a backend whose helper is looked for when it is needed.
func New(name string) *Backend { return &Backend{name: name} }

// At returns a backend whose helper is at an absolute path.
func At(name, path string) *Backend { return &Backend{name: name, path: path} }

// Name is the word for --backend and the configuration.
func (b *Backend) Name() string { return b.name }

// program finds the helper and checks that it can be trusted under a profile.
func (b *Backend) program(p sandbox.Profile) (string, error) {
	path := b.path
	if path == "" {
		var err error
		if path, err = proc.Beside(Prefix + b.name); err != nil {
			return "", fmt.Errorf("backend %s: %w: install it beside sbx, or name it in sbx.helpers: %w", b.name, err, sandbox.ErrUnavailable)
		}
	}
	if err := proc.Trusted(path, p); err != nil {
		return "", fmt.Errorf("backend %s: use helper %q: %w: %w", b.name, path, err, sandbox.ErrUnavailable)
	}
	return path, nil
}

// Probe asks the helper what it can enforce here.
func (b *Backend) Probe(ctx context.Context) (sandbox.Capabilities, error) {
	var c sandbox.Capabilities
	err := b.ask(ctx, verbProbe, &c)
	if err == nil && c.Backend == "" {
		err = &remoteError{"its answer names no backend", sandbox.ErrUnavailable}
	}
	if err != nil {
		return sandbox.Capabilities{}, err
	}
	return c, nil
}

// Sweep lets the helper list, or remove, what killed runs left: see sandbox.Sweeper.
func (b *Backend) Sweep(ctx context.Context, remove bool) (left []string, err error) {
	verb := verbLeft
	if remove {
		verb = verbSweep
	}
	err = b.ask(ctx, verb, &left)
	return left, err
}

// ask runs the helper for an answer on its standard output.
func (b *Backend) ask(ctx context.Context, verb string, answer any) error {
	path, err := b.program(sandbox.Profile{})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, verb)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, answer)
	} else if words := strings.TrimSpace(said.String()); words != "" {
		err = errors.New(words)
	}
	if err != nil {
		return &remoteError{err.Error(), sandbox.ErrUnavailable}
	}
	return nil
}

// Open finds the helper. Whether the profile can be held the helper says when a
// command is planned or run: it is a process for each.
func (b *Backend) Open(_ context.Context, p sandbox.Profile) (sandbox.Session, error) {
	path, err := b.program(p)
	if err != nil {
		return nil, err
	}
	if err := p.Portable(); err != nil {
		return nil, fmt.Errorf("backend %s: %w: %w", b.name, err, sandbox.ErrUnavailable)
	}
	return &session{b.name, path, p}, nil
}

type session struct {
	name, path string
	profile    sandbox.Profile
}

func (s *session) Close() error { return nil }

// order is what the helper reads.
func (s *session) order(c sandbox.Command) order {
	o := order{Version: Version, Profile: s.profile, Command: command{Dir: c.Dir, Timeout: c.Timeout, Grace: c.Grace}}
	if way := s.profile.Egress; way != nil {
		o.Upstream = &way.Upstream
	}
	for _, word := range c.Argv {
		o.Command.Argv = append(o.Command.Argv, text(word))
	}
	for _, entry := range c.Env {
		name, value, _ := strings.Cut(entry, "=")
		v := variable{Name: text(name)}
		if have, ok := os.LookupEnv(name); ok && have == value {
			v.From = fromHost
		} else {
			own := text(value)
			v.Value = &own
		}
		o.Command.Env = append(o.Command.Env, v)
	}
	return o
}

// Plan asks the helper what it would do.
func (s *session) Plan(c sandbox.Command) (sandbox.Plan, error) {
	null := sandbox.Command{Argv: c.Argv, Env: c.Env, Dir: c.Dir, Timeout: c.Timeout, Grace: c.Grace, Stderr: os.Stderr}
	out, err := s.call(context.Background(), verbPlan, s.order(null), null)
	switch {
	case err != nil:
		return sandbox.Plan{}, err
	case out.Error != nil:
		return sandbox.Plan{}, out.Error.err(s.name)
	case out.Plan == nil:
		return sandbox.Plan{}, s.silent(sandbox.ErrStart)
	}
	return *out.Plan, nil
}

// Run lets the helper run the command: its streams are the helper's.
func (s *session) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	out, err := s.call(ctx, verbRun, s.order(c), c)
	result := sandbox.Result{Backend: s.name, Ending: sandbox.Lost, ExitCode: 125}
	if out.Result != nil {
		result = *out.Result
	}
	if err != nil {
		if errors.Is(err, sandbox.ErrStart) {
			result.Ending = sandbox.NotStarted
		}
		return result, err
	}
	if out.Error != nil {
		err = out.Error.err(s.name)
	} else if out.Result == nil {
		err = s.silent(sandbox.ErrLost)
	}
	if err != nil && !errors.Is(err, sandbox.ErrLost) {
		result.Ending, result.ExitCode = sandbox.NotStarted, 125
	}
	return result, err
}

func (s *session) silent(kind error) error {
	return fmt.Errorf("backend %s: its helper ended without an answer: %w", s.name, kind)
}

// call starts the helper, gives it the order, passes on what the caller wants,
// and returns what it answered.
func (s *session) call(ctx context.Context, verb string, o order, c sandbox.Command) (outcome, error) {
	fail := func(err error) (outcome, error) {
		return outcome{}, fmt.Errorf("backend %s: start helper: %w: %w", s.name, err, sandbox.ErrStart)
	}
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	handed, err := proc.HandOver(c)
	if err != nil {
		return fail(err)
	}
	theirOrders, orders, err := os.Pipe()
	if err != nil {
		handed.Close()
		return fail(err)
	}
	answers, theirAnswers, err := os.Pipe()
	if err != nil {
		handed.Close()
		closeAll(theirOrders, orders)
		return fail(err)
	}
	defer closeAll(orders, answers)
	child, err := os.StartProcess(s.path, []string{s.path, verb}, &os.ProcAttr{
		Env:   append(os.Environ(), planVar+"=3", resultVar+"=4"),
		Files: append(handed.Files(), theirOrders, theirAnswers),
	})
	closeAll(theirOrders, theirAnswers)
	if err != nil {
		handed.Close()
		return fail(err)
	}
	handed.Sent()
	out, err := s.attend(ctx, o, c, child, orders, answers)
	bytes, copyErr := handed.Finish()
	if out.Result != nil && bytes != nil {
		out.Result.BytesOut = bytes
	}
	return out, errors.Join(err, copyErr)
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// attend is the time while the helper lives.
func (s *session) attend(ctx context.Context, o order, c sandbox.Command, child *os.Process, orders, answers *os.File) (outcome, error) {
	// The order may be longer than a pipe holds, and a helper may not read: what
	// cannot be said any more is dropped.
	messages := make(chan any, 64)
	defer close(messages)
	go func() {
		out := json.NewEncoder(orders)
		for m := range messages {
			_ = out.Encode(m) // a helper that is gone is noticed by its end
		}
	}()
	tell := func(message any) {
		select {
		case messages <- message:
		default:
		}
	}
	tell(o)
	var out outcome
	read := make(chan error, 1)
	go func() { read <- json.NewDecoder(answers).Decode(&out) }()
	ended := make(chan error, 1)
	go func() { _, err := child.Wait(); ended <- err }()
	gone, orphaned, signals := ctx.Done(), c.Orphaned, c.Signals
	var kill <-chan time.Time
	for {
		select {
		case err := <-ended:
			// What it started may hold the descriptor open; what it wrote itself
			// is there.
			_ = answers.SetReadDeadline(time.Now().Add(time.Second))
			if rerr := <-read; rerr != nil && !errors.Is(rerr, io.EOF) {
				return outcome{}, fmt.Errorf("backend %s: read the helper's answer: %w: %w", s.name, rerr, sandbox.ErrLost)
			}
			if err != nil {
				return out, fmt.Errorf("backend %s: wait for helper: %w: %w", s.name, err, sandbox.ErrLost)
			}
			return out, nil
		case <-gone:
			gone, orphaned, kill = nil, nil, time.After(patience)
			tell(control{End: true})
		case <-orphaned:
			gone, orphaned, kill = nil, nil, time.After(patience)
			tell(control{End: true})
		case sig, ok := <-signals:
			if n, is := sig.(syscall.Signal); ok && is {
				tell(control{Signal: int(n)})
			} else if !ok {
				signals = nil
			}
		case <-kill:
			_ = child.Kill()
		}
	}
}

// Start lets the helper make a sandbox that outlives it: see sandbox.Starter.
func (b *Backend) Start(ctx context.Context, p sandbox.Profile, dir string, idle time.Duration) (sandbox.Warm, error) {
	out, err := b.keep(ctx, verbStart, p, kept{Dir: dir, Idle: idle})
	switch {
	case err != nil:
		return sandbox.Warm{}, err
	case out.Warm == nil:
		return sandbox.Warm{}, fmt.Errorf("backend %s: its helper keeps no sessions: %w", b.name, sandbox.ErrUnavailable)
	}
	return *out.Warm, nil
}

// Stop lets the helper end one.
func (b *Backend) Stop(ctx context.Context, p sandbox.Profile, w sandbox.Warm) error {
	_, err := b.keep(ctx, verbStop, p, kept{Warm: &w})
	return err
}

func (b *Backend) keep(ctx context.Context, verb string, p sandbox.Profile, k kept) (outcome, error) {
	opened, err := b.Open(ctx, p)
	if err != nil {
		return outcome{}, err
	}
	s := opened.(*session)
	out, err := s.call(ctx, verb, order{Version: Version, Profile: p, Session: &k}, sandbox.Command{Stderr: os.Stderr})
	if err == nil {
		err = out.Error.err(b.name)
	}
	return out, err
}
