package sbx

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sbx-run/sbx/redact"
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/proc"
	"github.com/sbx-run/sbx/secretsenv"
)

// Redact says from which output credentials are taken out: the values that the
// environment and Options.Resolver know, also encoded, and what has the shape of
// one. It is a courtesy to whoever reads the output, and no boundary: a command
// can spell a secret in a way that nobody finds.
type Redact int

const (
	// RedactCaptured is for output that is copied: to a writer that is no *os.File.
	RedactCaptured Redact = iota
	// RedactAll is for files, too. They are copied then: a command whose output is
	// a terminal sees a pipe.
	RedactAll
	// RedactNone leaves output as it is.
	RedactNone
)

// pauseInOutput is how long a command may be silent before what is held back of
// its output is passed on: a question that waits for an answer has to be seen.
const pauseInOutput = 250 * time.Millisecond

// scrubbers are the outputs of one run that lose their credentials.
type scrubbers struct {
	list   []*scrubber
	copies []io.Closer // of files
}

// scrubber is one output. Nothing is prepared before there is any.
type scrubber struct {
	out    io.Writer
	open   func(io.Writer) *redact.Writer
	once   sync.Once
	writer *redact.Writer
	pause  *time.Timer
}

func (s *scrubber) Write(p []byte) (int, error) {
	s.once.Do(func() {
		s.writer = s.open(s.out)
		s.pause = time.AfterFunc(pauseInOutput, func() { _ = s.writer.Flush() })
	})
	n, err := s.writer.Write(p)
	if _, file := s.out.(*os.File); file && errors.Is(err, syscall.EPIPE) {
		return n, sandbox.ErrUnread
	}
	s.pause.Reset(pauseInOutput)
	return n, err
}

// close passes on the rest and counts what was taken out.
func (s *scrubber) close() (hits int, err error) {
	if s.writer == nil {
		return 0, nil
	}
	s.pause.Stop()
	err = s.writer.Close()
	return s.writer.Hits(), err
}

// scrub puts a scrubber before each output of a request that loses credentials.
func (e *Engine) scrub(req Request) (stdout, stderr io.Writer, s *scrubbers, err error) {
	s = &scrubbers{}
	if e.options.Redact == RedactNone {
		return req.Stdout, req.Stderr, s, nil
	}
	secrets := sync.OnceValue(func() redact.Secrets { return e.secretsOf(req) })
	open := func(out io.Writer) *redact.Writer { return secrets().Writer(out, !e.options.RedactValuesOnly) }
	if stdout, err = s.add(e.options.Redact, req.Stdout, open); err != nil {
		return nil, nil, s, err
	}
	if proc.SameWriter(req.Stdout, req.Stderr) {
		return stdout, stdout, s, nil
	}
	stderr, err = s.add(e.options.Redact, req.Stderr, open)
	return stdout, stderr, s, err
}

func (s *scrubbers) add(which Redact, out io.Writer, open func(io.Writer) *redact.Writer) (io.Writer, error) {
	f, isFile := out.(*os.File)
	if out == nil || isFile && (f == nil || which != RedactAll) {
		return out, nil
	}
	if isFile {
		copied, err := proc.Duplicate(f)
		if err != nil {
			return nil, fmt.Errorf("copy descriptor %d: %w", f.Fd(), err)
		}
		if out = copied; copied != f {
			s.copies = append(s.copies, copied)
		}
	}
	one := &scrubber{out: out, open: open}
	s.list = append(s.list, one)
	return one, nil
}

// close ends the scrubbers of a run. An output that nobody reads any more is no
// error here: the backend noticed.
func (s *scrubbers) close() (hits int) {
	for _, one := range s.list {
		n, _ := one.close()
		hits += n
	}
	for _, c := range s.copies {
		_ = c.Close()
	}
	s.list, s.copies = nil, nil
	return hits
}

// secretsOf prepares the values that are looked for in the output of a request.
func (e *Engine) secretsOf(req Request) redact.Secrets {
	var resolved []string
	if e.options.Resolver != nil {
		resolved = e.options.Resolver.Values()
	}
	own := credentials(req.Env, e.options.Secrets)
	if len(resolved) == 0 && len(own) == 0 {
		return e.known()
	}
	return redact.Prepare(slices.Concat(credentials(e.environ, e.options.Secrets), resolved, own))
}

// credentials lists the values of the variables that hold one, also of those that
// the owner lets through: what a command may use need not stand in its output.
func credentials(environ []string, p secretsenv.Policy) []string {
	p.Expose, p.Allow = nil, nil
	var list []string
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || len(value) < redact.ShortestSecret {
			continue
		}
		why, _ := secretsenv.Judge(name, value, p)
		switch why.Rule {
		case secretsenv.RuleVault, secretsenv.RuleReference, secretsenv.RuleName, secretsenv.RuleValue:
			list = append(list, value)
		}
	}
	return list
}
