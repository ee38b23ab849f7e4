package hook

import (
	"fmt"
	"io"
	"time"
)

const (
	// maxInput bounds an event. Its largest part is a command, which shells
	// take up to a few MiB of.
	maxInput = 8 << 20
	// maxTime bounds the reading of the event and of the command. It is shorter
	// than the time after which any agent gives a hook up, because most of
	// them then run the command.
	maxTime = 20 * time.Second
)

// codeBlocked is the exit status by which every agent takes the command as
// refused, whatever was printed.
const codeBlocked = 2

// Answer reads an event from in and answers it. It always comes back, and
// anything that goes wrong is a refusal.
func (p Protocol) Answer(in io.Reader, o Options) Answer {
	return p.answerWithin(in, o, maxTime)
}

func (p Protocol) answerWithin(in io.Reader, o Options, limit time.Duration) Answer {
	done := make(chan Answer, 1)
	go func() { // owned by the caller, which ends with the process if this does not
		defer func() {
			if r := recover(); r != nil {
				done <- p.failed(broken(p.Title, fmt.Sprint("internal error: ", r)))
			}
		}()
		done <- p.answer(in, o)
	}()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case a := <-done:
		return a
	case <-late.C:
		return p.failed(broken(p.Title, "it took longer than "+limit.String()))
	}
}

func (p Protocol) answer(in io.Reader, o Options) Answer {
	src, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	switch {
	case err != nil:
		return p.failed(broken(p.Title, err.Error()))
	case len(src) > maxInput:
		return p.failed(broken(p.Title, fmt.Sprintf("it is longer than %d MiB", maxInput>>20)))
	}
	e, err := p.Decode(src)
	switch {
	case err != nil:
		return p.failed(broken(p.Title, err.Error()))
	case !e.Shell:
		return p.encode(e, Decision{Verdict: None})
	}
	return p.encode(e, p.judge(e, o))
}

// blocked answers by the exit status, with the reason on standard error.
func blocked(reason string) Answer {
	return Answer{Stderr: reason + "\n", Code: codeBlocked}
}

// line is one JSON object and the end of the line.
func line(members ...member) Answer {
	return Answer{Stdout: string(append(appendObject(nil, members...), '\n'))}
}

// member is a member of an object that is written. raw is JSON; else text is
// quoted. One without either is left out.
type member struct{ key, text, raw string }

func appendObject(out []byte, members ...member) []byte {
	out = append(out, '{')
	first := true
	for _, m := range members {
		if m.text == "" && m.raw == "" {
			continue
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(appendJSON(out, m.key), ':')
		if m.raw != "" {
			out = append(out, m.raw...)
		} else {
			out = appendJSON(out, m.text)
		}
	}
	return append(out, '}')
}
