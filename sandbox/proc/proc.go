// Package proc runs one child process of this host and answers for it: its
// streams, its time limit, the end of its process tree, and the result. The
// backends none and direct share it; what confines the child is not its
// business.
package proc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// DefaultGrace is the time between TERM and KILL when the command names none.
const DefaultGrace = 2 * time.Second

// Job is one command and how it is started.
type Job struct {
	Command sandbox.Command
	Dir     string // where the command starts; absolute
	// Supervisor says that this process exists for this run only, see
	// sandbox.Profile. The command then shares our process group, so that the
	// terminal treats both as one job.
	Supervisor bool
	// Identity is who the command runs as, where neither Prepare nor Spawn sees to
	// it; nil: the caller. Only root can change it.
	Identity *sandbox.Identity
	// Prepare restricts the thread that starts the command, and with it the
	// command. It runs on a thread of its own that nothing else will use. nil:
	// nothing to do.
	Prepare func(t Thread) error
	// Spawn starts the command in place of this package; Prepare and NoCore are
	// its business then. It runs on a thread that is kept until the command was
	// waited for. files are the command's descriptors 0, 1 and 2.
	Spawn func(path string, files [3]uintptr) (Spawned, error)
	// Late says that the environment of the command is not known before Spawn asks for
	// it: Spawn gets no path, and looks for the program with Find.
	Late bool
	// Init says that Spawn starts process 1 of a pid namespace.
	Init   bool
	NoCore bool // no core dumps: on many hosts they are piped to a program of root
	Limits sandbox.Limits
	Group  Group // nil: no limit is held by the kernel
	// watched says that something else than the command can end the run.
	watched bool
}

// Spawned is what Spawn started.
type Spawned struct {
	PID int // the command, or process 1 of its pid namespace
	// Inner is process 1, when PID is a program that waits for it; 0: PID is.
	Inner int
	// Ended tells how the command ended, once process 1 has; false when process
	// 1 was killed. nil without Init.
	Ended   func() (Ended, bool)
	Temp    Temp   // nil: nothing is measured
	Release func() // called once, when the command was waited for; may be nil
}

// Ended is how the command ended, for a Spawned of which PID is process 1.
type Ended struct {
	Status    syscall.WaitStatus
	PeakBytes int64
}

// Thread is the thread that starts the command.
type Thread struct{ ID int }

// StepError names the step at which starting failed.
type StepError struct {
	Step string
	Err  error
}

func (e *StepError) Error() string { return e.Step + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *StepError) Unwrap() error { return e.Err }

// Run starts the command and waits for it. Result holds what this package
// knows: how it ended, times, memory, bytes.
func Run(ctx context.Context, j Job) (sandbox.Result, error) {
	if err := ctx.Err(); err != nil {
		return notStarted(), startError(j, err)
	}
	if len(j.Command.Argv) == 0 {
		return notStarted(), fmt.Errorf("start command: no arguments: %w", sandbox.ErrStart)
	}
	if err := checkDir(j.Dir); err != nil {
		return notStarted(), startError(j, err)
	}
	path := ""
	if !j.Late {
		var err error
		if path, err = Lookup(j.Command.Argv[0], j.Command.Env, j.Dir); err != nil {
			return Missing(err), nil
		}
	}
	return run(ctx, j, path)
}

// Find is Lookup for the Spawn of a Job that is Late.
func Find(name string, env []string, dir string) (string, error) {
	path, err := Lookup(name, env, dir)
	if err != nil {
		return "", &missingError{err}
	}
	return path, nil
}

// missingError is what Run makes the result Missing of.
type missingError struct{ error }

func (e *missingError) Unwrap() error { return e.error }

func notStarted() sandbox.Result { return sandbox.Result{Ending: sandbox.NotStarted, ExitCode: 125} }

func startError(j Job, err error) error {
	name := ""
	if len(j.Command.Argv) > 0 {
		name = j.Command.Argv[0]
	}
	if errors.Is(err, sandbox.ErrStart) {
		return fmt.Errorf("start %q: %w", name, err)
	}
	return fmt.Errorf("start %q: %w: %w", name, err, sandbox.ErrStart)
}

// Missing is the result of a program that is not there or not executable.
// Shells use the same exit codes.
func Missing(err error) sandbox.Result {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return sandbox.Result{Ending: sandbox.NotFound, ExitCode: 127}
	}
	return sandbox.Result{Ending: sandbox.NotExec, ExitCode: 126}
}

// executable says whether an error of execve speaks of the program and not of
// us. The file was there a moment ago, so ENOENT means the interpreter that a
// script or a binary names.
func executable(err error) bool {
	for _, e := range []syscall.Errno{syscall.ENOENT, syscall.ENOTDIR, syscall.ENOEXEC, syscall.EACCES, syscall.EISDIR, syscall.ELOOP} {
		if errors.Is(err, e) {
			return false
		}
	}
	return true
}
