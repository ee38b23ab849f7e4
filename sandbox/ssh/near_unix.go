//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package ssh

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/proc"
	"github.com/sbx-run/sbx/sandbox/ssh/wire"
)

const (
	// silence is how long the other side may say nothing while we listen. It says
	// something each second, and has ended the command long before.
	silence = 10 * time.Second
	// patience is how long it may take to end a command once it was told to.
	patience = 5 * time.Second
)

// near is this side of one session.
type near struct {
	session *session
	command sandbox.Command
	channel *channel
	in      *wire.Reader
	out     *wire.Writer

	began     time.Time
	last      atomic.Int64 // when something came; -1 while output waits for its reader
	terminal  *terminal
	copied    *int64 // bytes given to writers of the caller's; nil: none
	copyErr   error
	closing   []io.Closer
	credit    atomic.Int64  // bytes of input that may be sent
	more      chan struct{} // rings when there is more of it
	tookOrder bool
	begun     bool        // the command may run
	trees     chan []byte // messages of package tree; closed with the answer
	quit      chan struct{}
}

// Send and Receive carry messages of an exchange of files.
func (n *near) Send(message []byte) error { return n.out.Send(wire.Tree, message) }

func (n *near) Receive() ([]byte, error) {
	select {
	case m, ok := <-n.trees:
		if ok {
			return m, nil
		}
	case <-n.quit:
	}
	return nil, errEnded
}

var errEnded = errors.New("the other side has ended")

// carried is how far the exchange of files has come.
type carried struct {
	before bool // the command may run now
	err    error
}

// carry exchanges files before and after the command.
func (n *near) carry(o wire.Order, stage chan<- carried) {
	if !o.Sync || o.Verb != wire.Run {
		stage <- carried{before: true}
		stage <- carried{}
		return
	}
	files, err := n.session.files(n)
	if err == nil {
		defer files.Close()
		err = files.Before()
	}
	if err != nil {
		stage <- carried{err: err}
		return
	}
	stage <- carried{before: true}
	stage <- carried{err: files.After()}
}

// start opens a session.
func (s *session) start(l *link, command string, c sandbox.Command) (*near, error) {
	channel, err := l.open(command)
	if err != nil {
		return nil, err
	}
	return &near{
		session: s, command: c, channel: channel, in: wire.NewReader(channel.out), out: wire.NewWriter(channel.in), terminal: terminalOf(c),
		began: time.Now(), more: make(chan struct{}, 1), trees: make(chan []byte, 64), quit: make(chan struct{}),
	}, nil
}

// close ends the session, if it has not ended, and lets go of the streams.
func (n *near) close() {
	close(n.quit)
	n.channel.close()
	n.terminal.close()
	for _, c := range n.closing {
		_ = c.Close()
	}
}

// received is what came from the other side.
type received struct {
	answer wire.Answer
	err    error
}

// attend sends the order and waits for its answer.
func (n *near) attend(ctx context.Context, o wire.Order) (wire.Answer, error) {
	o.Streams = n.streams()
	o.Rows, o.Columns = n.terminal.size()
	targets, err := n.targets()
	if err != nil {
		return wire.Answer{}, fmt.Errorf("open streams: %w: %w", err, sandbox.ErrStart)
	}
	answers := make(chan received, 1)
	taken := make(chan struct{})
	go func() {
		a, err := n.listen(targets, taken)
		answers <- received{a, err}
	}()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_ = n.out.SendJSON(wire.Begin, o)
	}()
	var stop func()
	defer func() {
		if stop != nil {
			stop()
		}
	}()
	tick := time.NewTicker(wire.Beat)
	defer tick.Stop()
	gone, orphaned, signals := ctx.Done(), n.command.Orphaned, n.command.Signals
	var kill <-chan time.Time
	var ready <-chan struct{}
	stage := make(chan carried, 2)
	var back error // why not everything was carried back
	abandon := func() {
		gone, orphaned, kill = nil, nil, time.After(patience)
		go func() { _ = n.out.Send(wire.End, nil) }()
	}
	own := make(chan os.Signal, 8)
	for {
		select {
		case <-taken:
			taken, ready = nil, sent // input comes after the order
			n.tookOrder = true
		case <-ready:
			ready = nil
			go n.carry(o, stage)
		case at := <-stage:
			switch {
			case at.before:
				n.begun = true
				stop = n.begin(own, o)
			case stop == nil && !errors.Is(at.err, errEnded):
				return wire.Answer{}, fmt.Errorf("%w: %w", at.err, sandbox.ErrStart)
			default:
				back, stage = at.err, nil
			}
		case r := <-answers:
			if stage != nil && stop != nil { // the answer comes after the files
				back = (<-stage).err
			}
			return n.conclude(r, back, kill != nil)
		case <-tick.C:
			if !n.tookOrder {
				continue
			}
			go func() { _ = n.out.Send(wire.Alive, nil) }()
			if last := n.last.Load(); kill == nil && last >= 0 && time.Since(n.began)-time.Duration(last) > silence {
				n.channel.kill()
			}
		case <-gone:
			abandon()
		case <-orphaned:
			abandon()
		case <-kill:
			n.channel.kill()
			kill = nil
			return wire.Answer{Result: abandoned()}, nil
		case sig, ok := <-signals:
			if !ok {
				signals = nil
			}
			n.pass(sig)
		case sig := <-own:
			n.passOwn(sig)
		}
	}
}

func abandoned() *sandbox.Result {
	return &sandbox.Result{Ending: sandbox.Abandoned, ExitCode: 128 + int(unix.SIGKILL), Signal: int(unix.SIGKILL)}
}

// begin starts what waits until the other side has taken the order: input that
// was read before could not be given back.
func (n *near) begin(own chan os.Signal, o wire.Order) (stop func()) {
	if o.Verb != wire.Run {
		return func() {}
	}
	raw := n.terminal.begin()
	heard := []os.Signal{}
	if n.terminal.is() {
		heard = append(heard, unix.SIGWINCH)
	}
	if n.session.profile.Supervisor && !raw {
		// What the terminal sends to our group, the command would have got as well.
		heard = append(heard, unix.SIGINT, unix.SIGQUIT)
	}
	if len(heard) > 0 {
		signal.Notify(own, heard...)
	}
	done := n.send(o.Streams[0])
	return func() {
		signal.Stop(own)
		done()
	}
}

// conclude makes an answer of what came last.
func (n *near) conclude(r received, back error, ended bool) (wire.Answer, error) {
	if r.err == nil {
		if r.answer.Kind == "" && back != nil {
			r.answer.Kind, r.answer.Text = wire.Lost, back.Error()
		}
		if r.answer.Kind == wire.Lost {
			lose(&r.answer)
		}
		if r.answer.Result != nil && n.copied != nil {
			r.answer.Result.BytesOut = n.copied
		}
		return r.answer, n.copyErr
	}
	code, words := n.channel.wait()
	switch {
	case ended:
		return wire.Answer{Result: abandoned()}, nil
	case n.tookOrder && !n.begun:
		return wire.Answer{}, fmt.Errorf("the connection to %s broke before the command ran: %w", n.session.options.Host, sandbox.ErrStart)
	case n.tookOrder:
		if words = oneLine(words); words != "" {
			words = " (" + words + ")"
		}
		return wire.Answer{}, fmt.Errorf("the connection to %s broke; what ran there is ended within five seconds%s: %w", n.session.options.Host, words, sandbox.ErrLost)
	case code == sshFailed || code < 0:
		return wire.Answer{}, &brokenError{n.session.link.sshError(words, r.err)}
	}
	if words = oneLine(words); words == "" {
		words = fmt.Sprintf("exit status %d", code)
	}
	return wire.Answer{}, &missingError{words}
}

// lose marks the result of a command whose files did not come back, whichever side
// has failed: with its own status it would pass for one whose files did.
func lose(a *wire.Answer) {
	if r := a.Result; r != nil && r.Ending != sandbox.Lost {
		a.Text += fmt.Sprintf(" (it ended with %d)", r.ExitCode)
		r.Ending, r.ExitCode = sandbox.Lost, 125
	}
}

// listen takes frames until the answer is there.
func (n *near) listen(targets [2]*target, taken chan<- struct{}) (wire.Answer, error) {
	defer close(n.trees)
	if err := n.in.Await(); err != nil {
		return wire.Answer{}, err
	}
	n.heard()
	close(taken)
	for {
		kind, data, err := n.in.Next()
		if err != nil {
			return wire.Answer{}, err
		}
		n.heard()
		switch kind {
		case wire.Output, wire.Diagnosis:
			n.last.Store(-1)
			n.write(targets[kind-wire.Output], data, byte(kind-wire.Output)+1)
			n.heard()
		case wire.Tree:
			n.last.Store(-1)
			select {
			case n.trees <- data:
			case <-n.quit:
				return wire.Answer{}, errEnded
			}
			n.heard()
		case wire.Credit:
			if number, ok := wire.NumberOf(data); ok {
				n.credit.Add(int64(number))
				select {
				case n.more <- struct{}{}:
				default:
				}
			}
		case wire.Done:
			var a wire.Answer
			if err := json.Unmarshal(data, &a); err != nil {
				return wire.Answer{}, fmt.Errorf("read the answer: %w", err)
			}
			return a, nil
		}
	}
}

func (n *near) heard() { n.last.Store(int64(time.Since(n.began))) }

// pass sends a signal by its name: the numbers differ between systems.
func (n *near) pass(sig os.Signal) {
	s, ok := sig.(syscall.Signal)
	if !ok {
		return
	}
	if name := strings.TrimPrefix(unix.SignalName(s), "SIG"); name != "" {
		go func() { _ = n.out.Send(wire.Signal, []byte(name)) }()
	}
}

// passOwn passes on what we heard ourselves.
func (n *near) passOwn(sig os.Signal) {
	if sig == unix.SIGWINCH {
		if rows, columns := n.terminal.size(); rows > 0 {
			go func() { _ = n.out.Send(wire.Resize, wire.Size{Rows: rows, Columns: columns}.Bytes()) }()
		}
		return
	}
	if proc.TerminalSends(sig) {
		n.pass(sig)
	}
}
