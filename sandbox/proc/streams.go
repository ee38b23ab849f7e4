package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

const (
	// copyBuffer is the size of a pipe on Linux: one read empties it.
	copyBuffer = 64 << 10
	// idleAfterExit and longestAfterExit bound the wait for output once the
	// command has ended: a daemon that left the process group of a library run
	// can hold the pipe open for ever.
	idleAfterExit    = 200 * time.Millisecond
	longestAfterExit = 5 * time.Second
)

// streams are the command's three descriptors and the copying behind them.
type streams struct {
	child  []*os.File // 0, 1, 2; what the command gets
	ours   []io.Closer
	theirs []io.Closer // closed as soon as the command has them

	outputs []*output
	input   *input
	nowhere *os.File // of outputs that nobody reads; nil: none yet

	limit int64               // of each output; 0: none
	fatal bool                // more than limit ends the command
	over  chan sandbox.Ending // gets one value at most
}

type input struct {
	source io.Reader
	pipe   *os.File
	done   chan struct{}
	err    error
}

type output struct {
	target io.Writer
	pipe   *os.File
	bytes  atomic.Int64
	cut    atomic.Int64
	ended  chan struct{} // closed when the command has ended
	done   sync.WaitGroup
	err    error

	streams *streams
}

func openStreams(c sandbox.Command, l sandbox.Limits) (*streams, error) {
	s := &streams{limit: l.OutputBytes, fatal: l.OutputKill, over: make(chan sandbox.Ending, 1)}
	in, err := s.openInput(c.Stdin)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	out, err := s.openOutput(c.Stdout)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	diag := out
	if !SameWriter(c.Stdout, c.Stderr) { // one writer for both: one pipe, so its calls do not overlap
		if diag, err = s.openOutput(c.Stderr); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	s.child = []*os.File{in, out, diag}
	for i, f := range s.child {
		if slices.Contains(s.theirs, io.Closer(f)) {
			continue // made here
		}
		if err := fitStream(f, [...]string{"standard input", "standard output", "standard error"}[i]); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

// fitStream refuses what is a way to files outside: a directory leads to all that
// is below and above it, by mounts that no sandbox has covered.
func fitStream(f *os.File, name string) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil // it is closed, or of a kind that has no state
	case info.IsDir():
		return fmt.Errorf("%s is a directory, by which the command could leave its sandbox: give it a file, a pipe or %s", name, os.DevNull)
	case isPath(f):
		return fmt.Errorf("%s was opened as a path only (O_PATH), by which the command could leave its sandbox: give it a file, a pipe or %s", name, os.DevNull)
	}
	return nil
}

// SameWriter compares two writers that may be of a type without ==.
func SameWriter(a, b io.Writer) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.TypeOf(a).Comparable() && a == b
}

func (s *streams) openInput(r io.Reader) (*os.File, error) {
	if f, ok := r.(*os.File); ok && f != nil {
		return f, nil
	}
	if r == nil {
		return s.null(os.O_RDONLY)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open pipe: %w", err)
	}
	s.theirs, s.ours = append(s.theirs, read), append(s.ours, write)
	s.input = &input{source: r, pipe: write, done: make(chan struct{})}
	return read, nil
}

func (s *streams) openOutput(w io.Writer) (*os.File, error) {
	if f, ok := w.(*os.File); ok && f != nil && s.limit == 0 {
		return f, nil
	}
	if w == nil {
		if s.nowhere == nil {
			var err error
			if s.nowhere, err = s.null(os.O_WRONLY); err != nil {
				return nil, err
			}
		}
		return s.nowhere, nil
	}
	if f, ok := w.(*os.File); ok && f != nil {
		// A write to 1 or 2 that nobody reads would end this process (os/signal).
		copied, err := Duplicate(f)
		if err != nil {
			return nil, fmt.Errorf("copy descriptor %d: %w", f.Fd(), err)
		}
		if w = copied; copied != f {
			s.ours = append(s.ours, copied)
		}
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open pipe: %w", err)
	}
	s.theirs, s.ours = append(s.theirs, write), append(s.ours, read)
	s.outputs = append(s.outputs, &output{target: w, pipe: read, ended: make(chan struct{}), streams: s})
	return write, nil
}

func (s *streams) null(flag int) (*os.File, error) {
	fd, err := syscall.Open(os.DevNull, flag|syscall.O_CLOEXEC, 0) // os.OpenFile asks the poller to watch it
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: os.DevNull, Err: err}
	}
	f := os.NewFile(uintptr(fd), os.DevNull)
	s.theirs = append(s.theirs, f)
	return f, nil
}

// started closes what the command has now and begins to copy.
func (s *streams) started() {
	closeAll(s.theirs)
	s.theirs = nil
	if s.input != nil {
		go s.input.copy()
	}
	for _, o := range s.outputs {
		o.done.Go(o.copy)
	}
}

// finish waits for the copying after the command has ended, for a bounded time,
// and returns the bytes written and the first error of a writer.
func (s *streams) finish() (*int64, error) {
	var total *int64
	var failed error
	for _, o := range s.outputs {
		close(o.ended)
		// A read that waits already is woken once, see copy.
		_ = o.pipe.SetReadDeadline(time.Now().Add(idleAfterExit))
	}
	for _, o := range s.outputs {
		o.done.Wait()
		if total == nil {
			total = new(int64)
		}
		*total += o.bytes.Load()
		failed = errors.Join(failed, o.err)
	}
	if err := s.finishInput(); err != nil {
		failed = errors.Join(failed, err)
	}
	return total, errors.Join(failed, s.close())
}

// finishInput cannot interrupt a reader of the caller: it waits a little and
// leaves the goroutine to end with the reader.
func (s *streams) finishInput() error {
	if s.input == nil {
		return nil
	}
	select {
	case <-s.input.done:
		return s.input.err
	case <-time.After(idleAfterExit):
		return nil
	}
}

func (s *streams) close() error {
	closeAll(s.theirs)
	closeAll(s.ours)
	return nil
}

func closeAll(all []io.Closer) {
	for _, c := range all {
		_ = c.Close()
	}
}

func (i *input) copy() {
	defer close(i.done)
	defer i.pipe.Close()
	_, err := io.Copy(i.pipe, i.source)
	if err != nil && !brokenPipe(err) {
		i.err = fmt.Errorf("copy stdin: %w", err)
	}
}

func (o *output) copy() {
	defer o.pipe.Close() // a writer that failed: the command gets SIGPIPE
	buffer := make([]byte, copyBuffer)
	var last time.Time
	for {
		select {
		case <-o.ended:
			if last.IsZero() {
				last = time.Now().Add(longestAfterExit)
			}
			if time.Now().After(last) {
				return
			}
			_ = o.pipe.SetReadDeadline(time.Now().Add(idleAfterExit))
		default:
		}
		n, err := readLate(o.pipe, buffer)
		if n = o.keep(n); n > 0 {
			w, werr := o.target.Write(buffer[:n])
			o.bytes.Add(int64(w))
			if werr == nil && w < n {
				werr = io.ErrShortWrite
			}
			if _, file := o.target.(*os.File); file && brokenPipe(werr) || errors.Is(werr, sandbox.ErrUnread) {
				return // nobody reads: the command learns it as if it had the file itself
			}
			if werr != nil {
				o.err = fmt.Errorf("copy output: %w", werr)
				return
			}
		}
		if err != nil {
			return // the end, or the deadline after the command's end
		}
	}
}

// readLate is Read, but a deadline that went by while this goroutine waited for a
// processor hides nothing: what is in the pipe then is read.
func readLate(pipe *os.File, b []byte) (int, error) {
	n, err := pipe.Read(b)
	if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		return readNow(pipe, b)
	}
	return n, err
}

// keep says how many of n bytes that were read are passed on, and counts the
// rest.
func (o *output) keep(n int) int {
	s := o.streams
	if s.limit == 0 || o.bytes.Load()+int64(n) <= s.limit {
		return n
	}
	kept := int(s.limit - o.bytes.Load())
	o.cut.Add(int64(n - kept))
	if s.fatal {
		select {
		case s.over <- sandbox.OverOutput:
		default:
		}
	}
	return kept
}

// cut counts the bytes that were thrown away.
func (s *streams) cut() int64 {
	var n int64
	for _, o := range s.outputs {
		n += o.cut.Load()
	}
	return n
}

// flooded says whether the command ended only after it had written too much.
func (s *streams) flooded() sandbox.Ending {
	if s.fatal && s.cut() > 0 {
		return sandbox.OverOutput
	}
	return ""
}
