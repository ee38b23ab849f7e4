//go:build amd64 || arm64

package direct

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/layout"
	"github.com/sbx-run/sbx/sandbox/proc"
	"github.com/sbx-run/sbx/sandbox/spawn"
)

// namespaceTiers are those with a mount namespace and a process 1.
func namespaceTiers() []tier {
	return []tier{
		{tierFull, func() error { return tryNamespaces(tierFull) }, openFull},
		{tierFullNoProc, func() error { return tryNamespaces(tierFullNoProc) }, openFullNoProc},
	}
}

// tryNamespaces goes through all steps of a run without a workspace, tries what
// must not work, and starts pid 1 with a command that cannot be executed: its
// answer is the proof that it ran.
func tryNamespaces(tier string) error {
	session, err := openNamespaces(&Backend{}, sandbox.Profile{Supervisor: true}, tier)
	if err != nil {
		return err
	}
	s := session.(*full)
	defer s.Close()
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open /dev/null: %w: %w", err, sandbox.ErrUnavailable)
	}
	defer unix.Close(null)
	pipes, err := spawn.NewPipes(spawn.WithInit)
	if err != nil {
		return err
	}
	defer pipes.Close()
	fd := uintptr(null)
	c := sandbox.Command{Dir: "/", Argv: []string{"/"}}
	p := s.plan(start{c, pipes, [3]uintptr{fd, fd, fd}, nil, nil, -1, nil, nil}, layout.Of(s.profile, layout.Terrain{IsDir: layout.IsRealDir}), nil)
	p.Call("make a directory outside, confined", unix.SYS_MKDIRAT, []uintptr{spawn.Cwd, p.Str("/sbx-probe"), 0o700}, spawn.Want(unix.EROFS))
	p.Call("mount, confined", unix.SYS_MOUNT, make([]uintptr, 5), spawn.Want(unix.EPERM))
	p.Call("io_uring_setup, confined", unix.SYS_IO_URING_SETUP, []uintptr{0, 0}, spawn.Want(unix.ENOSYS))
	p.ExecInit(s.init, pipes, "/", c.Argv, nil)
	err = onThread(func() error {
		_, err := p.Start(cloneFlags, pipes)
		return err
	})
	var step *spawn.StepError
	switch {
	case errors.As(err, &step) && step.Step == spawn.StepExec && step.Errno == unix.EACCES:
		return nil
	case err == nil:
		err = errors.New("pid 1 gave no answer")
	case errors.As(err, &step):
		err = &proc.StepError{Step: step.Step, Err: step.Errno}
	}
	return fmt.Errorf("%w: %w", err, sandbox.ErrUnavailable)
}
