package proc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

func run(ctx context.Context, j Job, path string) (sandbox.Result, error) {
	std, err := openStreams(j.Command, j.Limits)
	if err != nil {
		return notStarted(), startError(j, err)
	}
	// Only the command itself can end the run: there is nothing to watch.
	j.watched = ctx.Done() != nil || j.Command.Timeout > 0 || j.Command.Orphaned != nil || j.Command.Signals != nil ||
		j.watches() || j.Limits.OutputKill
	var before map[int]bool
	if j.Supervisor && !j.Init {
		before = children()
	}
	began := time.Now()
	c, err := start(j, path, std.child)
	if err != nil {
		_ = std.close()
		return startFailed(j, err)
	}
	defer c.release()
	std.started()

	var t tree = group{c.pid}
	switch {
	case j.Init:
		t = namespace{c.pid, cmp.Or(c.inner, c.pid), c.ended}
	case j.Supervisor:
		t = &reaper{pid: c.pid, ours: before, was: childrenTime()}
	}
	var ending sandbox.Ending
	var lost error
	w := watch(j, t, c.temp)
	if j.watched {
		ending, lost = supervise(ctx, j.Command, t, w.reached(), std.over)
	} else {
		lost = t.wait()
	}
	late := w.stop()
	used, err := t.end()
	result := sandbox.Result{Ending: ending, Wall: time.Since(began), User: used.user, System: used.syst, PeakBytes: used.peak}
	bytes, copyErr := std.finish()
	result.BytesOut, result.BytesCut = bytes, std.cut()
	if lost != nil || err != nil {
		return result, fmt.Errorf("wait for %q: %w: %w", j.Command.Argv[0], errors.Join(lost, err), sandbox.ErrLost)
	}
	record(&result, used.status)
	judgeLimits(&result, j.Limits, cmp.Or(late, std.flooded()), w.filled())
	return result, copyErr
}

func startFailed(j Job, err error) (sandbox.Result, error) {
	var missing *missingError
	if errors.As(err, &missing) {
		return Missing(missing.error), nil
	}
	var step *StepError
	if errors.As(err, &step) && step.Step == "execute" && !executable(step.Err) {
		return sandbox.Result{Ending: sandbox.NotExec, ExitCode: 126}, nil
	}
	return notStarted(), startError(j, err)
}

// supervise waits for the command to end and enforces what ends it earlier.
// The ending is empty when the command ended by itself.
func supervise(ctx context.Context, c sandbox.Command, t tree, reached, flooded <-chan sandbox.Ending) (ending sandbox.Ending, err error) {
	ended := make(chan error, 1)
	go func() { ended <- t.wait() }()

	var timeout, kill <-chan time.Time
	if c.Timeout > 0 {
		timer := time.NewTimer(c.Timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	gone, orphaned := ctx.Done(), c.Orphaned
	for {
		select {
		case err := <-ended:
			return ending, err
		case <-timeout:
			timeout, ending = nil, sandbox.TimedOut
			t.signal(unix.SIGTERM)
			t.signal(unix.SIGCONT) // a stopped process takes TERM only when it goes on
			kill = time.After(grace(c))
		case <-kill:
			t.signal(unix.SIGKILL)
			kill = time.After(10 * time.Millisecond) // what was started meanwhile
		case over := <-reached:
			ending, timeout, kill = cmp.Or(ending, over), nil, time.After(0)
		case over := <-flooded:
			ending, timeout, kill = cmp.Or(ending, over), nil, time.After(0)
		case <-gone:
			gone, orphaned, timeout = nil, nil, nil
			ending, kill = sandbox.Abandoned, time.After(0)
		case <-orphaned:
			gone, orphaned, timeout = nil, nil, nil
			ending, kill = sandbox.Abandoned, time.After(0)
		case sig, ok := <-c.Signals:
			if s, is := sig.(unix.Signal); ok && is {
				t.pass(s)
			} else if !ok {
				c.Signals = nil
			}
		}
	}
}

func grace(c sandbox.Command) time.Duration {
	if c.Grace > 0 {
		return c.Grace
	}
	return DefaultGrace
}

// record fills in how the command ended.
func record(r *sandbox.Result, status unix.WaitStatus) {
	ending := sandbox.Exited
	if status.Signaled() {
		ending, r.Signal = sandbox.Signaled, int(status.Signal())
		r.ExitCode = 128 + r.Signal
	} else {
		r.ExitCode = status.ExitStatus()
	}
	if r.Ending == "" {
		r.Ending = ending
	}
}

// TerminalSends says whether a signal that reached this process is one that
// the terminal sends to its whole foreground job, so that the command of a
// supervisor has it already.
func TerminalSends(sig os.Signal) bool {
	switch sig {
	case unix.SIGINT, unix.SIGQUIT, unix.SIGWINCH, unix.SIGTSTP:
	default:
		return false
	}
	return InForeground()
}
