//go:build unix

package far

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/ssh/tree"
	"github.com/sbx-run/sbx/sandbox/ssh/wire"
)

// afterEnd is how long a run may take to end once the other side is gone. What
// then still waits is the copying of output that nobody takes; the tree is gone.
const afterEnd = 500 * time.Millisecond

// Serve carries out the order that comes over in, and returns the exit status of
// this process.
func Serve(in, out *os.File, r Runner) int {
	catchSignals()
	if _, err := out.WriteString(wire.Magic); err != nil {
		return 1
	}
	c := newConn(in, out)
	go c.beat()
	order, err := c.order()
	if err != nil {
		c.answer(wire.Answer{Kind: wire.Other, Text: err.Error()})
		return 1
	}
	answers := make(chan wire.Answer, 1)
	go func() { answers <- c.serve(order, r) }()
	select {
	case a := <-answers:
		return c.answer(a)
	case <-c.gone:
	}
	select {
	case a := <-answers:
		return c.answer(a)
	case <-time.After(afterEnd):
	}
	// Ending this process ends what it confines: it is the supervisor. A tree
	// that takes longer to end is ended by the kernel with it.
	return 1
}

// serve does what an order says.
func (c *conn) serve(o wire.Order, r Runner) (a wire.Answer) {
	var err error
	switch o.Verb {
	case wire.Probe:
		var found sandbox.Capabilities
		if found, err = r.Probe(context.Background()); err == nil {
			a.Capabilities = &found
		}
	case wire.Plan, wire.Run:
		err = c.command(o, r, &a)
	default:
		err = fmt.Errorf("order %q: there is no such verb", o.Verb)
	}
	if err != nil {
		a.Fail(err)
	}
	return a
}

// command plans or runs the command of an order.
func (c *conn) command(o wire.Order, r Runner, a *wire.Answer) error {
	t := Task{Order: o, Argv: wire.Strings(o.Argv), Env: wire.Strings(o.Env), Orphaned: c.gone, Signals: c.signals}
	if err := t.place(); err != nil {
		return err
	}
	files, err := c.files(t)
	if err != nil {
		return err
	}
	defer files.Close()
	if o.Verb == wire.Plan {
		plan, err := r.Plan(context.Background(), t)
		if err == nil {
			a.Plan = &plan
		}
		return err
	}
	if err := mayHold(t, r); err != nil {
		return err
	}
	if err := files.Before(); err != nil {
		return fmt.Errorf("take the workspace: %w: %w", err, sandbox.ErrStart)
	}
	remove, err := t.putScript()
	if err != nil {
		return err
	}
	defer remove()
	s, err := c.open(&t)
	if err != nil {
		return fmt.Errorf("open the streams of the command: %w: %w", err, sandbox.ErrStart)
	}
	result, err := r.Run(context.Background(), t)
	s.close()
	a.Result = &result
	if err != nil && !errors.Is(err, sandbox.ErrLost) {
		return err // nothing ran
	}
	if ferr := files.After(); ferr != nil {
		err = errors.Join(err, fmt.Errorf("give the workspace back: %w: %w", ferr, sandbox.ErrLost))
	}
	return err
}

// mayHold asks whether a directory that somebody named may be a workspace, before
// files are carried into it or out of it. The command and what its profile names
// may not be there yet.
func mayHold(t Task, r Runner) error {
	if !t.Order.Sync || strings.HasPrefix(t.Order.Workspace, wire.SyncDir+"/") {
		return nil
	}
	t.Argv, t.Dir = []string{"true"}, t.Workspace
	p := &t.Order.Profile
	p.Read, p.Write, p.Hide, p.Protect = nil, nil, nil, nil
	_, err := r.Plan(context.Background(), t)
	return err
}

// files is the exchange of the workspace. Where it is shared there is none.
func (c *conn) files(t Task) (exchange, error) {
	if !t.Order.Sync {
		return none{}, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("find the home directory: %w: %w", err, sandbox.ErrStart)
	}
	sum := sha256.Sum256([]byte(t.Workspace))
	f, err := tree.OpenFar(c, t.Workspace, filepath.Join(home, wire.SyncDir, hex.EncodeToString(sum[:8])+".index"))
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w: %w", err, sandbox.ErrStart)
	}
	return f, nil
}

// exchange stands before and after a command.
type exchange interface {
	Before() error
	After() error
	Close()
}

type none struct{}

func (none) Before() error { return nil }
func (none) After() error  { return nil }
func (none) Close()        {}

// Send and Receive carry messages of an exchange.
func (c *conn) Send(message []byte) error { return c.out.Send(wire.Tree, message) }

func (c *conn) Receive() ([]byte, error) {
	select {
	case m := <-c.trees:
		return m, nil
	case <-c.gone:
		return nil, errGone
	}
}

var errGone = errors.New("the other side is gone")

// place says where the workspace is here.
func (t *Task) place() error {
	o := t.Order
	near := o.Profile.Workspace
	t.Workspace = near
	if o.Shared { // the near side has resolved it: a link is one that was put there since
		if real, err := filepath.EvalSymlinks(near); err != nil || real != near {
			return fmt.Errorf("workspace %q: there is no such directory there that is reached by no link: %w", near, sandbox.ErrStart)
		}
	} else {
		if !filepath.IsLocal(o.Workspace) {
			return fmt.Errorf("workspace %q: want a path below the home directory: %w", o.Workspace, sandbox.ErrStart)
		}
		home, err := os.UserHomeDir()
		if err != nil {
			return fmt.Errorf("find the home directory: %w: %w", err, sandbox.ErrStart)
		}
		t.Workspace = filepath.Join(home, o.Workspace)
	}
	t.Dir = t.Workspace
	if dir := string(o.Dir); dir != "" {
		rest, err := filepath.Rel(near, dir)
		if err != nil || !filepath.IsLocal(rest) {
			return fmt.Errorf("directory %q: it is not in the workspace %q: %w", dir, near, sandbox.ErrStart)
		}
		t.Dir = filepath.Join(t.Workspace, rest)
	}
	return nil
}

// putScript puts the script of a runtime where the command can read it.
func (t *Task) putScript() (remove func(), err error) {
	at := t.Order.ScriptAt
	if at == 0 {
		return func() {}, nil
	}
	if at >= len(t.Argv) {
		return nil, fmt.Errorf("the script is argument %d of %d: %w", at, len(t.Argv), sandbox.ErrStart)
	}
	dir, err := os.MkdirTemp("", "sbx-script-")
	if err != nil {
		return nil, fmt.Errorf("store the script: %w: %w", err, sandbox.ErrStart)
	}
	remove = func() { _ = os.RemoveAll(dir) }
	file := filepath.Join(dir, filepath.Base(t.Argv[at]))
	if err := os.WriteFile(file, t.Order.Script, 0o600); err != nil {
		remove()
		return nil, fmt.Errorf("store the script: %w: %w", err, sandbox.ErrStart)
	}
	// Root runs a command as the owner of the workspace, who has to read it.
	if info, err := os.Stat(t.Workspace); err == nil && os.Geteuid() == 0 {
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			_ = os.Lchown(file, int(st.Uid), int(st.Gid))
			_ = os.Lchown(dir, int(st.Uid), int(st.Gid))
		}
	}
	t.Argv[at] = file
	t.Order.Profile.Read = append(t.Order.Profile.Read, file)
	return remove, nil
}
