//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package ssh

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/proc"
	"github.com/sbx-run/sbx/sandbox/ssh/wire"
)

// noSbxError says that there is no sbx on the other machine, and why this one cannot
// be copied to it. It is nothing that passes: a full disk is another error.
type noSbxError struct{ why, system string }

func (e *noSbxError) Error() string {
	return e.why + ": install sbx there, or name it in sbx.ssh.program"
}

// plain does what an order says on a machine without sbx, as far as its owner has
// accepted that nothing is held there.
func (s *session) plain(ctx context.Context, l *link, o wire.Order, c sandbox.Command, none *noSbxError) (wire.Answer, error) {
	version := "no sbx, " + none.system
	if o.Verb == wire.Probe {
		return wire.Answer{Capabilities: &sandbox.Capabilities{Backend: plainName, Version: version, Enforced: []sandbox.Control{}, Gaps: plainGaps(l.options.Host, s.profile.Limits)}}, nil
	}
	gaps, err := s.profile.Judge(Name, plainGaps(l.options.Host, s.profile.Limits))
	var missing *sandbox.GapError
	if errors.As(err, &missing) {
		return wire.Answer{}, &UnheldError{none.why, missing}
	}
	if err := s.checkPlain(); err != nil {
		return wire.Answer{}, fmt.Errorf("%s: %w: %w", none.why, err, sandbox.ErrUnavailable)
	}
	held := []sandbox.Control{}
	if s.profile.Limits.OutputBytes > 0 {
		held = append(held, sandbox.LimitOutput)
	}
	if o.Verb == wire.Plan {
		plan := proc.PlanOf(plainName, s.profile, sandbox.Command{Argv: wire.Strings(o.Argv), Env: wire.Strings(o.Env), Dir: string(o.Dir)})
		plan.Path, plan.Network, plan.Write = "", sandbox.NetworkHost.String(), []string{"/"}
		plan.Enforced, plan.Gaps = held, gaps
		return wire.Answer{Plan: &plan}, nil
	}
	result, err := s.runPlain(ctx, l, o, c)
	result.Backend, result.BackendVersion, result.Enforced, result.Gaps = plainName, version, held, gaps
	return wire.Answer{Result: &result}, err
}

// runPlain lets sh there run a command. It has two sessions: its own, whose streams
// are the command's, and one that takes the plan, hears that this side lives, and
// ends the tree.
func (s *session) runPlain(ctx context.Context, l *link, o wire.Order, c sandbox.Command) (sandbox.Result, error) {
	failed := sandbox.Result{Ending: sandbox.NotStarted, ExitCode: 125}
	text, err := plan(o)
	if err != nil {
		return failed, err
	}
	var random [16]byte
	_, _ = rand.Read(random[:])
	id := hex.EncodeToString(random[:])
	k, err := s.keeper(l, id, text)
	if err != nil {
		return failed, err
	}
	defer k.channel.close()
	streams, err := plainStreams(&c)
	if err != nil {
		return failed, fmt.Errorf("open streams: %w: %w", err, sandbox.ErrStart)
	}
	defer streams.close()
	stop := k.attend(c.Signals, s.profile.Supervisor)
	client := l.session(plain(start, id))
	c.Argv, c.Env, c.Dir, c.Signals = client.Args, client.Env, "/", nil
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // without its keeper a command would outlive us
		<-k.lost
		cancel(errEnded)
	}()
	began := time.Now()
	result, err := proc.Run(ctx, proc.Job{Command: c, Dir: "/", Limits: sandbox.Limits{OutputBytes: s.profile.Limits.OutputBytes, OutputKill: s.profile.Limits.OutputKill}})
	streams.close()
	stop()
	// What the client used says nothing of the command.
	result.User, result.System, result.PeakBytes, result.Wall = 0, 0, 0, time.Since(began)
	if errors.Is(context.Cause(ctx), errEnded) {
		result.Ending = sandbox.Exited // by nobody here
	}
	said := k.finish(result.Ending, c.Grace)
	if err != nil {
		return result, err
	}
	return l.plainResult(result, said)
}

// plainResult makes a result of how the client ended and of what the keeper said.
func (l *link) plainResult(r sandbox.Result, said string) (sandbox.Result, error) {
	word, rest, _ := strings.Cut(said, " ")
	ended := r.Ending != sandbox.Exited && r.Ending != sandbox.Signaled // from here
	started := func(why string) (sandbox.Result, error) {
		return sandbox.Result{Ending: sandbox.NotStarted, ExitCode: 125}, fmt.Errorf("%s: %w", why, sandbox.ErrStart)
	}
	switch {
	case word == "why" && rest == notFound:
		return sandbox.Result{Ending: sandbox.NotFound, ExitCode: 127}, nil
	case word == "why" && rest == notExec:
		return sandbox.Result{Ending: sandbox.NotExec, ExitCode: 126}, nil
	case word == "why":
		return started(fmt.Sprintf("the %s is not on %s, or a link leads to it there", rest, l.options.Host))
	case word == "none" && !ended:
		return started("the command was not begun on " + l.options.Host)
	case ended:
		return r, nil
	}
	code, err := strconv.Atoi(rest)
	if word != "status" || err != nil {
		r.Ending, r.ExitCode, r.Signal = sandbox.Lost, 125, 0
		return r, fmt.Errorf("the connection to %s broke; what ran there is ended within five seconds: %w", l.options.Host, sandbox.ErrLost)
	}
	r.Ending, r.ExitCode, r.Signal = sandbox.Exited, code, 0
	// sh has no other word for a signal.
	if n := code - 128; n > 0 && n < 32 {
		r.Ending, r.Signal = sandbox.Signaled, n
	}
	return r, nil
}

// keeper is the session that outlives the command there.
type keeper struct {
	channel *channel
	lines   *bufio.Scanner
	send    chan string
	lost    chan struct{} // gets a value when the keeper is gone before its time
	words   chan string   // its last line
}

// keeper starts it and hands the plan over.
func (s *session) keeper(l *link, id, text string) (*keeper, error) {
	c, err := l.open(plain(keep, id))
	if err != nil {
		return nil, err
	}
	k := &keeper{channel: c, lines: bufio.NewScanner(c.out), send: make(chan string), lost: make(chan struct{}, 1), words: make(chan string, 1)}
	refuse := func() (*keeper, error) {
		_, words := c.wait()
		c.close()
		return nil, fmt.Errorf("begin on %s: %s: %w", l.options.Host, oneLine(words), sandbox.ErrStart)
	}
	if !k.await("take") {
		code, words := c.wait()
		c.close()
		if code == sshFailed || code < 0 {
			return nil, &brokenError{l.sshError(words, io.ErrUnexpectedEOF)}
		}
		return nil, fmt.Errorf("begin on %s: %s: %w", l.options.Host, oneLine(words), sandbox.ErrStart)
	}
	if _, err := fmt.Fprintf(c.in, "%s.\n%d\n", text, strings.Count(text, "\n")); err != nil || !k.await("ready") {
		return refuse()
	}
	return k, nil
}

// await skips what start files print.
func (k *keeper) await(word string) bool {
	for n := 0; n < 1000 && k.lines.Scan(); n++ {
		if k.lines.Text() == word {
			return true
		}
	}
	return false
}

// attend says each second that we live, and passes signals on, until stop is called.
func (k *keeper) attend(signals <-chan os.Signal, terminal bool) (stop func()) {
	go func() {
		last := ""
		for k.lines.Scan() {
			last = k.lines.Text()
		}
		k.words <- last
		k.lost <- struct{}{}
	}()
	own := make(chan os.Signal, 8)
	if terminal { // what it sends to our group, the command would have got as well
		signal.Notify(own, unix.SIGINT, unix.SIGQUIT)
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(wire.Beat)
		defer tick.Stop()
		for {
			line := "alive"
			select {
			case <-quit:
				return
			case <-tick.C:
			case sig, ok := <-signals:
				if !ok {
					signals = nil
					continue
				}
				line = signalLine(sig)
			case sig := <-own:
				if !proc.TerminalSends(sig) {
					continue
				}
				line = signalLine(sig)
			}
			if _, err := io.WriteString(k.channel.in, line+"\n"); err != nil {
				return
			}
		}
	}()
	return func() {
		signal.Stop(own)
		close(quit)
		<-done
	}
}

func signalLine(sig os.Signal) string {
	if s, ok := sig.(syscall.Signal); ok && unix.SignalName(s) != "" {
		return "signal " + strings.TrimPrefix(unix.SignalName(s), "SIG")
	}
	return "alive"
}

// finish ends what is left there, and returns how the command ended as far as it is
// known there. A command that ran out of time is asked first, and has its grace.
func (k *keeper) finish(how sandbox.Ending, grace time.Duration) string {
	line, wait := "quit", patience
	if how == sandbox.TimedOut {
		if grace <= 0 {
			grace = proc.DefaultGrace
		}
		line, wait = fmt.Sprintf("end %d", int(grace.Seconds()+0.99)), patience+grace
	}
	go func() { _, _ = io.WriteString(k.channel.in, line+"\n") }()
	select {
	case last := <-k.words:
		return last
	case <-time.After(wait):
		return ""
	}
}

// plainIO stands between the caller's streams and the client: its process at the
// connection makes what it is given non-blocking, for all who have it.
type plainIO struct {
	wake  *waker
	pipe  *os.File
	files []*os.File
	done  chan struct{}
}

func plainStreams(c *sandbox.Command) (*plainIO, error) {
	s := &plainIO{}
	if f, ok := c.Stdin.(*os.File); ok && f != nil {
		if t := terminalOf(sandbox.Command{Stdin: f}); t.is() && !t.mayRead() {
			c.Stdin = nil
		} else if err := s.input(c, f); err != nil {
			return nil, err
		}
	}
	same := proc.SameWriter(c.Stdout, c.Stderr)
	for _, w := range [...]*io.Writer{&c.Stdout, &c.Stderr} {
		f, ok := (*w).(*os.File)
		if !ok || f == nil {
			continue
		}
		own, err := proc.Duplicate(f) // a write to 1 or 2 that nobody reads would end this process
		if err != nil {
			s.close()
			return nil, err
		}
		s.files = append(s.files, own)
		*w = &passed{own}
	}
	if same {
		c.Stderr = c.Stdout
	}
	return s, nil
}

func (s *plainIO) input(c *sandbox.Command, f *os.File) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	if s.wake, err = newWaker(f); err != nil {
		_, _ = r.Close(), w.Close()
		return err
	}
	c.Stdin, s.pipe, s.done = r, r, make(chan struct{})
	go func() {
		defer close(s.done)
		_, _ = io.Copy(w, s.wake)
		_ = w.Close()
	}()
	return nil
}

// close lets go of the streams, once.
func (s *plainIO) close() {
	if s.wake != nil {
		_ = s.pipe.Close()
		s.wake.wake()
		<-s.done
		s.wake.close()
		s.wake = nil
	}
	for _, f := range s.files {
		_ = f.Close()
	}
	s.files = nil
}

// passed passes on to a file of the caller's.
type passed struct{ to *os.File }

func (p *passed) Write(b []byte) (int, error) {
	n, err := p.to.Write(b)
	if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.EIO) {
		err = sandbox.ErrUnread
	}
	return n, err
}
