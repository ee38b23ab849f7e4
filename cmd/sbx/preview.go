package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/changes"
	"github.com/sbx-run/sbx/config"
	"github.com/sbx-run/sbx/sandbox"
)

// previewCall is the part of a call that asks for a preview.
type previewCall struct {
	what    previewOf
	size    previewSize
	diff    bool
	apply   bool
	discard bool
	later   bool
}

func (p *previewCall) declare(f *flags) {
	f.Var(&p.what, "preview", "")
	f.Var(&p.size, "preview-size", "")
	f.BoolVar(&p.diff, "diff", false, "")
	f.BoolVar(&p.apply, "apply", false, "")
	f.BoolVar(&p.discard, "discard", false, "")
	f.BoolVar(&p.later, "later", false, "")
}

// check finds flags that make no sense together.
func (p *previewCall) check() error {
	given := 0
	for _, f := range [...]bool{p.apply, p.discard, p.later} {
		if f {
			given++
		}
	}
	switch {
	case !p.what.on && (given > 0 || p.diff || p.size.set):
		return usage("--diff, --apply, --discard, --later and --preview-size need --preview", "sbx exec --preview -- PROGRAM")
	case given > 1:
		return usage("--apply, --discard and --later: want one of them", "without any, a terminal is asked")
	}
	return nil
}

// request is what the engine is asked for; nil without --preview.
func (p *previewCall) request(configured int64) *sbx.Preview {
	if !p.what.on {
		return nil
	}
	bytes := p.size.value
	if !p.size.set {
		bytes = configured
	}
	return &sbx.Preview{Home: p.what.home, Bytes: bytes, OnDisk: p.later}
}

// previewOf is the value of --preview.
type previewOf struct{ on, home bool }

func (p *previewOf) String() string   { return "" }
func (p *previewOf) IsBoolFlag() bool { return true }
func (p *previewOf) Set(v string) error {
	switch v {
	case "true", "workspace":
		p.on, p.home = true, false
	case "home":
		p.on, p.home = true, true
	case "false":
		p.on, p.home = false, false
	default:
		return &hintedError{msg: "no such value", hint: "--preview is for the workspace, --preview=home for the home directory, too"}
	}
	return nil
}

// previewSize is the value of --preview-size.
type previewSize struct {
	value int64
	set   bool
}

func (p *previewSize) String() string { return "" }
func (p *previewSize) Set(v string) (err error) {
	if p.value, err = config.PreviewSize(v); err != nil {
		return &hintedError{msg: "not a size", hint: err.Error()}
	}
	p.set = true
	return nil
}

// conclude lists what a previewed command would change, and decides. The
// command has run; an error says that what was asked for was not done.
func (c *execCall) conclude(s *streams, r *sbx.Result) error {
	got := r.Changes
	if got == nil {
		return nil
	}
	defer got.Close()
	p := newChangeList(s.err)
	p.summary(got)
	p.list(got, maxListed)
	if got.Empty() {
		return got.Discard()
	}
	if c.preview.diff {
		if err := s.paged(s.err, got.Roots, func(w io.Writer) error { return p.diffs(w, got) }); err != nil {
			s.fail(err)
		}
	}
	choice, why := c.choose(s, r, p)
	switch choice {
	case "apply":
		trust, err := c.engine.Apply(got)
		if err != nil {
			return s.notApplied(got, c.title(), err)
		}
		r.Trust, r.NewTrust = trust, isNews(trust)
		s.say("preview", "applied")
	case "later":
		if err := got.Keep(c.title(), keepLimit); err != nil {
			return err
		}
		s.say("preview", "kept as "+got.ID+": sbx preview show|apply|discard "+got.ID)
	default:
		if err := got.Discard(); err != nil {
			return err
		}
		s.say("preview", "discarded"+why)
	}
	return nil
}

// isNews says that there is something to say about it.
func isNews(t *sandbox.Trust) bool {
	return slices.ContainsFunc(t.Findings, func(f sandbox.TrustFinding) bool { return f.Change != sandbox.TrustShared })
}

// keepLimit bounds what is copied from memory to disk; the layer's own size
// bounds it before.
const keepLimit = 1 << 62

// notApplied keeps what could not be applied: the work is not lost.
func (s *streams) notApplied(got *changes.Changes, title string, err error) error {
	var conflict *changes.ConflictError
	if errors.As(err, &conflict) {
		s.conflicts(conflict.Conflicts)
	}
	switch got.State {
	case changes.Unfinish:
		return &hintedError{msg: err.Error(), hint: "sbx preview ls names it; sbx preview apply goes on, discard takes it back"}
	case changes.Pending:
		if kerr := got.Keep(title, keepLimit); kerr == nil {
			return &hintedError{msg: err.Error(), hint: "nothing was changed; kept as " + got.ID + ": sbx preview show " + got.ID}
		}
		return &hintedError{msg: err.Error(), hint: "nothing was changed, and what the command wrote could not be kept"}
	}
	return err
}

// conflicts names what is in the way, a few lines at most.
func (s *streams) conflicts(list []changes.Conflict) {
	for i, f := range list {
		if i == maxConflicts {
			s.say("conflict", fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		s.say("conflict", f.Path+": "+f.Why)
	}
}

// maxConflicts is the number of conflicts that are named on standard error.
const maxConflicts = 20

// title says in a few words what ran.
func (c *execCall) title() string {
	if c.request.Text != "" {
		return clip(c.request.Text, 200)
	}
	return clip(strings.Join(c.request.Argv, " "), 200)
}

// choose decides by the flags, or asks. why completes "discarded".
func (c *execCall) choose(s *streams, r *sbx.Result, p *changeList) (choice, why string) {
	failed := r.Ending != sandbox.Exited || r.ExitCode != 0
	switch {
	case c.preview.discard:
		return "discard", ""
	case c.preview.later:
		return "later", ""
	case c.preview.apply && failed:
		return "discard", fmt.Sprintf(": the command failed (%d), and --apply is for one that succeeds", r.ExitCode)
	case c.preview.apply:
		return "apply", ""
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil || c.wrapping {
		if err == nil {
			tty.Close()
		}
		return "discard", ": there is no terminal to ask; --apply or --later says what to do"
	}
	defer tty.Close()
	return s.ask(tty, r.Changes, p), ""
}

// ask asks on the terminal until there is an answer. Anything but a clear one
// discards nothing yet; the end of input and an interrupt discard.
func (s *streams) ask(tty *os.File, got *changes.Changes, p *changeList) string {
	signal.Reset(os.Interrupt) // ends sbx again, and nothing is applied then
	forgetTyped(tty)           // what was typed, or made the terminal answer, before the question
	in := bufio.NewReader(tty)
	for range 20 {
		fmt.Fprint(tty, "sbx: apply these changes? [y]es, [N]o, [d]iff, keep for [l]ater: ")
		answer, err := in.ReadString('\n')
		if err != nil {
			fmt.Fprintln(tty)
			return "discard"
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return "apply"
		case "", "n", "no":
			return "discard"
		case "l", "later":
			return "later"
		case "d", "diff":
			if err := s.paged(tty, got.Roots, func(w io.Writer) error { return p.diffs(w, got) }); err != nil {
				s.fail(err)
			}
		}
	}
	return "discard"
}
