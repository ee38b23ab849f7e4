//go:build !linux

package proc

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// run starts the command as a child and ends, with it, what can be found of its
// tree: see tree. A process that leaves that goes on, on these systems.
func run(ctx context.Context, j Job, path string) (sandbox.Result, error) {
	if j.Prepare != nil || j.Spawn != nil {
		return notStarted(), startError(j, sandbox.ErrUnsupported)
	}
	std, err := openStreams(j.Command, j.Limits)
	if err != nil {
		return notStarted(), startError(j, err)
	}
	cmd := exec.Cmd{
		Path: path, Args: j.Command.Argv, Env: append([]string{}, j.Command.Env...), Dir: j.Dir,
		Stdin: std.child[0], Stdout: std.child[1], Stderr: std.child[2],
	}
	t, err := treeOf(&cmd, j)
	if err != nil {
		_ = std.close()
		return notStarted(), startError(j, err)
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		_ = std.close()
		if !executable(err) {
			return sandbox.Result{Ending: sandbox.NotExec, ExitCode: 126}, nil
		}
		return notStarted(), startError(j, err)
	}
	std.started()
	ending := supervise(ctx, j.Command, t, std.over)
	t.signal(os.Kill) // what the command left behind
	state := cmd.ProcessState
	result := sandbox.Result{Ending: ending, Wall: time.Since(began), User: state.UserTime(), System: state.SystemTime()}
	record(&result, state)
	bytes, err := std.finish()
	result.BytesOut, result.BytesCut = bytes, std.cut()
	judgeLimits(&result, j.Limits, std.flooded(), false)
	return result, err
}

// supervise waits for the command to end and enforces what ends it earlier. The
// ending is empty when the command ended by itself.
func supervise(ctx context.Context, c sandbox.Command, t *tree, flooded <-chan sandbox.Ending) (ending sandbox.Ending) {
	ended := make(chan error, 1)
	go func() { ended <- t.cmd.Wait() }()
	var timeout, kill <-chan time.Time
	if c.Timeout > 0 {
		timer := time.NewTimer(c.Timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	gone, orphaned := ctx.Done(), c.Orphaned
	for {
		select {
		case <-ended:
			return ending
		case <-timeout:
			timeout, ending = nil, sandbox.TimedOut
			t.terminate()
			kill = time.After(cmp.Or(c.Grace, DefaultGrace))
		case <-kill:
			t.signal(os.Kill)
			kill = time.After(10 * time.Millisecond) // what was started meanwhile
		case over := <-flooded:
			flooded = nil
			ending, timeout, kill = cmp.Or(ending, over), nil, time.After(0)
		case <-gone:
			gone, orphaned, timeout = nil, nil, nil
			ending, kill = sandbox.Abandoned, time.After(0)
		case <-orphaned:
			gone, orphaned, timeout = nil, nil, nil
			ending, kill = sandbox.Abandoned, time.After(0)
		case sig, ok := <-c.Signals:
			if !ok {
				c.Signals = nil
			} else {
				t.signal(sig)
			}
		}
	}
}
