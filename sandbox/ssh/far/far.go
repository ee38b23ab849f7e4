// Package far is what sbx does when the backend ssh of another machine has
// started it: it takes one order, runs the command by a Runner, and ends it when
// nobody at the other end is left. It knows no backend and no engine.
package far

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/ssh/wire"
)

// Task is a command for this machine.
type Task struct {
	Order     wire.Order
	Workspace string // absolute, here
	Dir       string // absolute, here
	Argv, Env []string

	Stdin          io.Reader // an *os.File, or nil: the null device
	Stdout, Stderr io.Writer // the same
	Orphaned       <-chan struct{}
	Signals        <-chan os.Signal
}

// Here gives the path that one of the near side's workspace has on this machine;
// any other path stays as it is.
func (t Task) Here(path string) string {
	rest, err := filepath.Rel(t.Order.Profile.Workspace, path)
	if err != nil || !filepath.IsLocal(rest) {
		return path
	}
	return filepath.Join(t.Workspace, rest)
}

// Runner confines and runs commands here.
type Runner interface {
	Probe(ctx context.Context) (sandbox.Capabilities, error)
	Plan(ctx context.Context, t Task) (sandbox.Plan, error)
	Run(ctx context.Context, t Task) (sandbox.Result, error)
}
