//go:build amd64 || arm64

package probes

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Main is the probe program: it acts inside a sandbox, supervises one run, or
// is the victim outside. It returns the exit status.
func Main(args []string, open Open) int {
	switch args[0] {
	case modeAct:
		return runAct(args[1:])
	case modeSupervise:
		return supervise(open)
	case modeVictim:
		return victim()
	case modeLinger: // args hold the mark by which the runner finds this process
		signal.Ignore(unix.SIGTERM, unix.SIGHUP)
		if len(args) > 2 {
			_ = os.WriteFile(args[2], []byte("started\n"), 0o644)
		}
		time.Sleep(2 * time.Minute)
		return 0
	}
	return exitSetup
}

// setupError is a failure before the act in question.
type setupError struct{ err error }

func (e *setupError) Error() string { return e.err.Error() }

func setup(what string, err error) error {
	if err == nil {
		return nil
	}
	return &setupError{fmt.Errorf("%s: %w", what, err)}
}

// begun says that what follows is the act in question.
func begun() { fmt.Print(reached) }

func runAct(args []string) int {
	if len(args) == 0 {
		return exitSetup
	}
	runtime.LockOSThread() // ptrace belongs to a thread
	for _, a := range acts() {
		if a.name == args[0] {
			return report(a.do(arguments(args[1:])))
		}
	}
	fmt.Printf("no act %q\n", args[0])
	return exitSetup
}

func report(err error) int {
	var before *setupError
	var errno syscall.Errno
	switch {
	case err == nil:
		return exitOpen
	case errors.As(err, &before):
		fmt.Println(before.Error())
		return exitSetup
	case errors.As(err, &errno):
		name := unix.ErrnoName(errno)
		if name == "" {
			name = fmt.Sprint("errno ", int(errno))
		}
		fmt.Println(name)
	default:
		fmt.Println(strings.ReplaceAll(err.Error(), "\n", " "))
	}
	return exitRefused
}

// arguments of an act; a missing one is empty.
type arguments []string

func (a arguments) text(i int) string {
	if i < len(a) {
		return a[i]
	}
	return ""
}

func (a arguments) number(i int) int {
	n := 0
	_, _ = fmt.Sscanf(a.text(i), "%v", &n)
	return n
}

// open maps errors that show that the kernel got past every check of rights to
// success: the act would have worked with better arguments. This way no probe
// has to mount, reboot or set a clock.
func past(err error, errnos ...syscall.Errno) error {
	for _, e := range errnos {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}
