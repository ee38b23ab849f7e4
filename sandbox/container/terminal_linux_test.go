package container_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// openTerminal makes a terminal of the host: our end, and the caller's.
func openTerminal(r *room) (ours, callers *os.File) {
	r.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	check(r, err)
	check(r, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	check(r, err)
	check(r, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 33, Col: 77}))
	ours = os.NewFile(uintptr(fd), "ptmx")
	callers, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	check(r, err)
	r.Cleanup(func() { _ = ours.Close(); _ = callers.Close() })
	return ours, callers
}

// A command of a caller with a terminal gets one of the container's own: it has
// a name there, the caller's size, takes what is typed, and an interrupt.
func TestTerminal(t *testing.T) {
	eachEngine(t, func(r *room) {
		ours, callers := openTerminal(r)
		said := make(chan string)
		go func() {
			var all strings.Builder
			buffer := make([]byte, 4096)
			typed := 0
			for {
				n, err := ours.Read(buffer)
				all.Write(buffer[:n])
				switch text := all.String(); {
				case typed == 0 && strings.Contains(text, "name?"):
					typed++
					_, _ = ours.WriteString("somebody\r")
				case typed == 1 && strings.Contains(text, "waiting"):
					typed++
					// Only a terminal that leads the session makes a signal of it.
					_, _ = ours.WriteString("\x03")
				}
				if err != nil || strings.Contains(all.String(), "the end") {
					said <- all.String()
					return
				}
			}
		}()
		text := `tty; stty size; printf 'name? '; read -r name; echo "hello $name"; trap 'echo interrupted; echo the end; exit 5' INT; echo waiting; while :; do sleep 0.1; done`
		result, err := r.open().Run(r.Context(), sandbox.Command{
			Argv: []string{"sh", "-c", text}, Env: r.env(), Stdin: callers, Stdout: callers, Stderr: callers, Timeout: longest,
		})
		check(r, err)
		_, _ = callers.WriteString("the end") // whatever came of it, the reader ends
		out := <-said
		for _, want := range []string{"/dev/pts/0", "33 77", "hello somebody", "interrupted"} {
			if !strings.Contains(out, want) {
				r.Errorf("no %q in %q", want, out)
			}
		}
		if result.ExitCode != 5 {
			r.Errorf("%+v", result)
		}
		r.leavesNothing()
	})
}

// A terminal on one stream alone does not change the others.
func TestTerminalOnOneStream(t *testing.T) {
	eachEngine(t, func(r *room) {
		_, callers := openTerminal(r)
		var out strings.Builder
		result, err := r.open().Run(r.Context(), sandbox.Command{
			Argv: []string{"sh", "-c", "test -t 2 && test ! -t 1 && test ! -t 0 && printf 'a\nb' && wc -c"}, Env: r.env(),
			Stdin: strings.NewReader("12345"), Stdout: &out, Stderr: callers, Timeout: longest,
		})
		check(r, err)
		if strings.TrimSpace(out.String()) != "a\nb5" || result.ExitCode != 0 {
			r.Errorf("%q, %+v", out.String(), result)
		}
	})
}

// What a command has printed last is shown, also on a terminal that is slower than the
// end of the command.
func TestTerminalTail(t *testing.T) {
	eachEngine(t, func(r *room) {
		ours, callers := openTerminal(r)
		said := make(chan string)
		go func() {
			var all strings.Builder
			buffer := make([]byte, 1024)
			for {
				time.Sleep(2 * time.Millisecond) // the kernel's buffers fill
				n, err := ours.Read(buffer)
				all.Write(buffer[:n])
				if text := all.String(); err != nil || strings.Contains(text[max(0, len(text)-2*len(buffer)):], "no more") {
					said <- text
					return
				}
			}
		}()
		result, err := r.open().Run(r.Context(), sandbox.Command{
			Argv: []string{"sh", "-c", "seq 20000; exit 4"}, Env: r.env(), Stdin: callers, Stdout: callers, Stderr: callers, Timeout: longest,
		})
		check(r, err)
		_, _ = callers.WriteString("no more")
		if out := <-said; !strings.Contains(out, "\n19999\r\n20000\r\n") || result.ExitCode != 4 {
			r.Errorf("%q, %+v", out[max(0, len(out)-60):], result)
		}
	})
}
