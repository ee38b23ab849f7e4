//go:build !linux

package proc

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// run ends the command at the time limit with a kill of that one process:
// process trees are ended on Linux only.
func run(ctx context.Context, j Job, path string) (sandbox.Result, error) {
	if j.Prepare != nil || j.Identity != nil {
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
	began := time.Now()
	if err := cmd.Start(); err != nil {
		_ = std.close()
		if !executable(err) {
			return sandbox.Result{Ending: sandbox.NotExec, ExitCode: 126}, nil
		}
		return notStarted(), startError(j, err)
	}
	std.started()
	result := sandbox.Result{Ending: supervise(ctx, j.Command, &cmd, std.over), Wall: time.Since(began)}
	state := cmd.ProcessState
	result.ExitCode, result.User, result.System = state.ExitCode(), state.UserTime(), state.SystemTime()
	if result.ExitCode < 0 { // a signal
		result.ExitCode = 128 + 9
	}
	bytes, err := std.finish()
	result.BytesOut, result.BytesCut = bytes, std.cut()
	judgeLimits(&result, j.Limits, std.flooded(), false)
	return result, err
}

func supervise(ctx context.Context, c sandbox.Command, cmd *exec.Cmd, flooded <-chan sandbox.Ending) sandbox.Ending {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var timeout <-chan time.Time
	if c.Timeout > 0 {
		timeout = time.After(c.Timeout)
	}
	ending := sandbox.Exited
	gone, orphaned := ctx.Done(), c.Orphaned
	for {
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if ending == sandbox.Exited && errors.As(err, &exit) && exit.ExitCode() < 0 {
				ending = sandbox.Signaled
			}
			return ending
		case <-timeout:
			ending = sandbox.TimedOut
			_ = cmd.Process.Kill()
		case ending = <-flooded:
			flooded = nil
			_ = cmd.Process.Kill()
		case <-gone:
			gone, ending = nil, sandbox.Abandoned
			_ = cmd.Process.Kill()
		case <-orphaned:
			orphaned, ending = nil, sandbox.Abandoned
			_ = cmd.Process.Kill()
		case sig, ok := <-c.Signals:
			if !ok {
				c.Signals = nil
			} else {
				_ = cmd.Process.Signal(sig)
			}
		}
	}
}

// TerminalSends says whether the terminal delivered a signal to the command as
// well.
func TerminalSends(sig os.Signal) bool { return sig == os.Interrupt }
