package pid1

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/proc"
)

// patience is how long an answer may take after the command must have ended.
const patience = 15 * time.Second

// Run gives the order for a command and waits until it has ended. A file among
// the streams is handed over, except that a terminal is replaced by one of the
// container's own.
//
// Errors are of ErrStart (nothing ran) or ErrLost. The result's Enforced and
// Gaps are the caller's to fill in.
func (c *Conn) Run(ctx context.Context, cmd sandbox.Command, s Setting) (sandbox.Result, error) {
	o := Order{
		Argv: cmd.Argv, Env: cmd.Env, Dir: cmp.Or(cmd.Dir, s.Dir), Timeout: cmd.Timeout, Grace: cmd.Grace,
		Filters: s.Filters, Places: s.Places, Limits: s.Limits, Listener: s.Serve != nil,
	}
	t := terminalOf(cmd)
	o.Terminal = t.streams
	o.Rows, o.Columns = t.size()
	handed, err := proc.HandOver(t.without(cmd))
	if err != nil {
		return notStarted(), fmt.Errorf("open streams: %w: %w", err, sandbox.ErrStart)
	}
	files, extra, err := safeFiles(handed.Files())
	if err == nil {
		err = c.send(message{Order: &o}, files...)
	}
	closeFiles(extra)
	if err == nil && s.Serve != nil {
		err = c.takeListener(s.Serve)
	}
	if err != nil {
		handed.Close()
		return notStarted(), fmt.Errorf("%w: %w", err, sandbox.ErrStart)
	}
	handed.Sent()
	began := time.Now()
	result, err := c.attend(ctx, cmd, t)
	t.close()
	bytes, copyErr := handed.Finish()
	if bytes != nil {
		result.BytesOut = bytes
	}
	if result.Wall == 0 {
		result.Wall = time.Since(began)
	}
	return result, errors.Join(err, copyErr)
}

func notStarted() sandbox.Result { return sandbox.Result{Ending: sandbox.NotStarted, ExitCode: 125} }

// attend passes on what the caller wants until the answer is there.
func (c *Conn) attend(ctx context.Context, cmd sandbox.Command, t *terminal) (sandbox.Result, error) {
	answers := make(chan received, 1)
	go c.listen(answers)
	var late <-chan time.Time
	if cmd.Timeout > 0 {
		late = time.After(cmd.Timeout + max(cmd.Grace, proc.DefaultGrace) + patience)
	}
	gone, orphaned, signals := ctx.Done(), cmd.Orphaned, cmd.Signals
	for {
		select {
		case r := <-answers:
			switch {
			case r.err != nil:
				return sandbox.Result{Ending: sandbox.Lost, ExitCode: 125}, fmt.Errorf("the container was ended before it said how the command did, by its engine, by somebody, or for want of memory: %w", sandbox.ErrLost)
			case r.terminal != nil:
				t.begin(r.terminal)
				go c.listen(answers)
			default:
				return r.answer.outcome()
			}
		case <-gone:
			gone, orphaned, late = nil, nil, time.After(patience)
			_ = c.send(message{End: true})
		case <-orphaned:
			gone, orphaned, late = nil, nil, time.After(patience)
			_ = c.send(message{End: true})
		case sig, ok := <-signals:
			if s, is := sig.(syscall.Signal); ok && is {
				_ = c.send(message{Signal: int(s)})
			} else if !ok {
				signals = nil
			}
		case <-late:
			return sandbox.Result{Ending: sandbox.Lost, ExitCode: 125}, fmt.Errorf("the container does not answer: %w", sandbox.ErrLost)
		}
	}
}

// received is what came from the container: a terminal, an answer or an error.
type received struct {
	terminal *os.File
	answer   Answer
	err      error
}

func (c *Conn) listen(to chan<- received) {
	m, files, err := c.receive()
	switch {
	case err != nil:
		to <- received{err: err}
	case m.Answer != nil:
		closeFiles(files)
		to <- received{answer: *m.Answer}
	case m.Ready && len(files) == 1:
		to <- received{terminal: files[0]}
	default:
		closeFiles(files)
		to <- received{err: io.ErrUnexpectedEOF}
	}
}

// outcome is the result and the error of an answer.
func (a Answer) outcome() (sandbox.Result, error) {
	switch {
	case a.Error == "":
		return a.Result, nil
	case a.Lost:
		return a.Result, fmt.Errorf("%s: %w", a.Error, sandbox.ErrLost)
	}
	return notStarted(), fmt.Errorf("%s: %w", a.Error, sandbox.ErrStart)
}

// safeFiles are the descriptors that may cross into a container. Through a
// directory or a bare path a command could open what lies around it on the
// host; such a stream reads as empty and writes to nowhere.
func safeFiles(files []*os.File) (safe, extra []*os.File, err error) {
	safe = slices.Clone(files)
	for i, f := range files {
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil {
			return nil, extra, fmt.Errorf("look at stream %d: %w", i, err)
		}
		flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
		if err != nil {
			return nil, extra, fmt.Errorf("look at stream %d: %w", i, err)
		}
		kind := st.Mode & unix.S_IFMT
		if kind != unix.S_IFDIR && kind != unix.S_IFBLK && flags&unix.O_PATH == 0 {
			continue
		}
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			return nil, extra, err
		}
		extra, safe[i] = append(extra, null), null
	}
	return safe, extra, nil
}

// Serve makes the process at the other end take connections on a listener. With
// Hold it ends when this connection is closed.
func (c *Conn) Serve(l *ServiceListener, s Service) error {
	if err := c.send(message{Service: &s}, l.file); err != nil {
		return err
	}
	m, files, err := c.receive()
	closeFiles(files)
	if err != nil || !m.Ready {
		return errors.Join(errors.New("the container does not serve"), err)
	}
	return nil
}
