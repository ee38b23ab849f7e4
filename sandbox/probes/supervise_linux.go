//go:build amd64 || arm64

package probes

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/protect"
)

// supervise runs one order: it stands for `sbx exec`, or for an embedding
// program, and can be killed without harm to the runner.
func supervise(open Open) int {
	orders, answers := os.NewFile(3, "orders"), os.NewFile(4, "answers")
	unix.CloseOnExec(3)
	unix.CloseOnExec(4)
	in := bufio.NewReader(orders)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return exitSetup
	}
	var o order
	if err := json.Unmarshal(line, &o); err != nil {
		return exitSetup
	}
	if o.Workspace != nil {
		o.Profile.Workspace = string(o.Workspace)
	}
	out := json.NewEncoder(answers)
	got := countSignals()
	end := func(a answer) {
		if o.Listen {
			awaitFor(lateChange, func() bool { return got.Load() > 0 })
		}
		a.Signals = got.Load()
		_ = out.Encode(a)
	}
	for _, name := range o.Leak {
		if _, err := leak(name); err != nil {
			_ = out.Encode(answer{Err: err.Error(), Nothing: true})
			return 1
		}
	}
	if o.Backend == plainly {
		_ = out.Encode(answer{})
		if o.Hold {
			_, _ = in.ReadBytes('\n')
		}
		end(runPlainly(o))
		return 0
	}
	end(runConfined(o, open, func(a answer) {
		_ = out.Encode(a)
		if o.Hold {
			_, _ = in.ReadBytes('\n')
		}
	}))
	return 0
}

// countSignals counts those that acts send to who started them.
func countSignals() *atomic.Int64 {
	var n atomic.Int64
	caught := make(chan os.Signal, 64)
	signal.Notify(caught, unix.SIGUSR1)
	go func() {
		for range caught {
			n.Add(1)
		}
	}()
	return &n
}

// leak opens a path as a careless program would: the descriptor is inherited.
func leak(name string) (int, error) {
	fd, err := unix.Open(name, unix.O_RDWR, 0)
	if errors.Is(err, unix.EISDIR) {
		fd, err = unix.Open(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	}
	return fd, err
}

func runConfined(o order, open Open, opened func(answer)) answer {
	backend, err := open(o.Backend, o.Without)
	if err != nil {
		return failed(err)
	}
	// As the engine does: for each run, and looked at again after it.
	watch, err := protect.Find(o.Profile, o.Protection)
	if err != nil {
		return failed(err)
	}
	o.Profile.Protect = watch.Paths()
	session, err := backend.Open(context.Background(), o.Profile)
	if err != nil {
		return failed(err)
	}
	defer session.Close()
	c := sandbox.Command{
		Argv: o.Argv, Env: o.Env, Timeout: o.Limit, Grace: o.Grace,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
	var a answer
	if a.Plan, err = session.Plan(c); err != nil {
		return failed(err)
	}
	opened(a)
	if a.Result, err = session.Run(context.Background(), c); err != nil {
		a.Err, a.Nothing = err.Error(), !errors.Is(err, sandbox.ErrLost)
	}
	a.Result.Trust = watch.Report(longest) // a slow machine is not what is tried
	return a
}

func failed(err error) answer { return answer{Err: err.Error(), Nothing: true} }

// runPlainly starts the command as it is, with whatever it inherits.
func runPlainly(o order) answer {
	return answer{Result: Plainly(o.Profile.Workspace, sandbox.Command{
		Argv: o.Argv, Env: o.Env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	})}
}

// Plainly runs a command as a careless program would: nothing is confined,
// every descriptor is inherited, and nobody looks after what it leaves behind.
// It is the control of the suite, and a backend that the suite has to find out.
// The streams must be files.
func Plainly(dir string, c sandbox.Command) sandbox.Result {
	path, err := lookPath(c.Argv[0], c.Env)
	if errors.Is(err, unix.EACCES) {
		return sandbox.Result{Ending: sandbox.NotExec, ExitCode: 126}
	}
	if err != nil {
		return sandbox.Result{Ending: sandbox.NotFound, ExitCode: 127}
	}
	p, err := os.StartProcess(path, c.Argv, &os.ProcAttr{Dir: dir, Env: c.Env, Files: []*os.File{asFile(c.Stdin), asFile(c.Stdout), asFile(c.Stderr)}})
	if err != nil {
		return sandbox.Result{Ending: sandbox.NotExec, ExitCode: 126}
	}
	state, err := p.Wait()
	if err != nil {
		return sandbox.Result{Ending: sandbox.Lost}
	}
	r := sandbox.Result{Ending: sandbox.Exited, ExitCode: state.ExitCode()}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		r.Ending, r.Signal = sandbox.Signaled, int(ws.Signal())
		r.ExitCode = 128 + r.Signal
	}
	return r
}

func asFile(stream any) *os.File {
	f, _ := stream.(*os.File)
	return f
}

// lookPath finds a program on the PATH of an environment.
func lookPath(name string, env []string) (string, error) {
	cause := unix.ENOENT
	for _, at := range candidates(name, env) {
		if info, err := os.Stat(at); err == nil && !info.IsDir() {
			if unix.Access(at, unix.X_OK) == nil {
				return at, nil
			}
			cause = unix.EACCES
		}
	}
	return "", fmt.Errorf("find %q: %w", name, cause)
}
