//go:build unix

package helper

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox/proc"
)

func closeOnExec(fd int) { syscall.CloseOnExec(fd) }

// fromTerminal hears what the terminal sends to every process of its job, us
// included, and passes it to the command, which is in no job of this terminal.
// Other signals come from sbx, which got them too: here they are only caught.
func fromTerminal(to chan<- os.Signal) (stop func()) {
	in := make(chan os.Signal, 16)
	signal.Notify(in, unix.SIGINT, unix.SIGQUIT, unix.SIGHUP, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2)
	go func() {
		for sig := range in {
			if (sig == unix.SIGINT || sig == unix.SIGQUIT || sig == unix.SIGHUP) && proc.InForeground() {
				to <- sig
			}
		}
	}()
	return func() { signal.Stop(in) }
}
