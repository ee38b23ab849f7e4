package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/config"
	"github.com/sbx-run/sbx/sandbox"
	chooser "github.com/sbx-run/sbx/sandbox/choice"
)

const doctorHelp = `sbx doctor: say what is wrong here, and what to do about it.

  sbx doctor                what can be seen at once
  sbx doctor --live         also measures every backend anew, asks the engines, and looks at
                            the files of the workspace
  sbx doctor --fix          also does what is safe: file modes, a wrapper script of sbx's
                            that is out of date, what runs left that were killed
  sbx doctor --json

It looks at the configuration, the backends, the kernel, the wrapper script of the
runtime, and what was left behind. Secrets are shown masked.

  --live            measure every backend, ask the engines, look at the workspace
  --fix             do what is safe
  --json            one object: findings, each with area, level, what, do; broken; warnings
  --workspace DIR   the directory that --live looks at (default: here)

Exit status: 0; 1 something is broken; 2 usage.
`

// level says how much a finding matters.
type level string

const (
	levelOK      level = "ok"
	levelNote    level = "note"    // worth knowing
	levelWarning level = "warning" // weaker or other than somebody may think
	levelBroken  level = "broken"  // commands are refused, or not confined
)

// finding is one line of the doctor.
type finding struct {
	Area  string `json:"area"`
	Level level  `json:"level"`
	What  string `json:"what"`
	Do    string `json:"do,omitempty"` // what to do about it
	Fixed bool   `json:"fixed,omitempty"`
	// Fixable: --fix does it.
	Fixable bool `json:"fixable,omitempty"`

	mend func() error // does it; nil: not safe, or not possible
}

// doctorCall is a call of sbx doctor.
type doctorCall struct {
	flags
	live, fix, json bool
	workspace       string

	area      string // of the findings that are added
	findings  []finding
	file      config.Config
	usable    bool // the configuration could be read
	known     *sandbox.Registry
	inSession []string                                      // workspaces of open sessions
	hold      func(home string) (release func(), err error) // while wrappers are written
	store     *chooser.Store
}

func newDoctorCall() *doctorCall {
	c := &doctorCall{flags: *newFlags("doctor")}
	c.BoolVar(&c.live, "live", false, "")
	c.BoolVar(&c.fix, "fix", false, "")
	c.BoolVar(&c.json, "json", false, "")
	c.StringVar(&c.workspace, "workspace", "", "")
	return c
}

// doctor is sbx doctor.
func doctor(s *streams, args []string) int {
	c := newDoctorCall()
	err := c.parse(args)
	switch {
	case errors.Is(err, errHelp):
		s.help(doctorHelp)
		return exitOK
	case err == nil && len(c.operands)+len(c.after) > 0:
		err = usage("doctor takes no operand", "sbx doctor --help has examples")
	case err == nil && c.workspace != "" && !c.live:
		err = usage("--workspace without --live", "only --live looks at the workspace")
	}
	if err != nil {
		s.fail(err)
		return exitUsage
	}
	ctx, stop := untilTold()
	defer stop()
	c.hold = func(home string) (func(), error) { return s.holdHome(ctx, home) }
	c.examine(ctx)
	c.mend()
	for i := range c.findings {
		f := &c.findings[i]
		f.What, f.Do = s.named(f.What), s.named(f.Do)
	}
	return c.print(s)
}

// examine goes through the areas.
func (c *doctorCall) examine(ctx context.Context) {
	c.store = sbx.Measurements(os.Environ())
	c.area = "configuration"
	c.configuration()
	if c.known == nil {
		c.known = sbx.Backends()
	}
	c.area = "backends"
	c.backends(ctx)
	c.area = "kernel"
	c.kernel()
	c.area = "wrapper"
	c.wrapper()
	c.area = "leftovers"
	c.leftovers(ctx)
	if c.live {
		c.area = "workspace"
		c.links(ctx)
	}
}

func (c *doctorCall) add(l level, what, do string) { c.addMendable(l, what, do, nil) }

// addMendable adds a finding that --fix can do something about.
func (c *doctorCall) addMendable(l level, what, do string, mend func() error) {
	c.findings = append(c.findings, finding{Area: c.area, Level: l, What: what, Do: do, mend: mend})
}

// mend does what --fix may do.
func (c *doctorCall) mend() {
	for i := range c.findings {
		f := &c.findings[i]
		switch {
		case f.mend == nil:
		case !c.fix:
			f.Fixable = true
		default:
			if err := f.mend(); err != nil {
				f.Do = "could not be fixed: " + err.Error()
				continue
			}
			f.Fixed = true
		}
	}
}

// count is the number of findings of a level that are left.
func (c *doctorCall) count(l level) int {
	n := 0
	for _, f := range c.findings {
		if f.Level == l && !f.Fixed {
			n++
		}
	}
	return n
}

// counted is a number with what it counts, one or more.
func counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func (c *doctorCall) print(s *streams) int {
	broken := c.count(levelBroken)
	status := exitOK
	if broken > 0 {
		status = 1
	}
	if c.json {
		_ = writeJSON(s.out, map[string]any{"findings": c.findings, "broken": broken, "warnings": c.count(levelWarning)})
		return status
	}
	out := screenFor(s.out, false)
	area := ""
	for _, f := range c.findings {
		if f.Area != area {
			area = f.Area
			fmt.Fprintf(out, "%s\n", area)
		}
		out.finding(f, s.named("sbx doctor --fix"))
	}
	fmt.Fprintf(out, "%d broken, %d to look at\n", broken, c.count(levelWarning))
	fmt.Fprint(s.out, out.String())
	return status
}

// finding writes one finding in one line, and what to do in another: what is fixable,
// the command fix does.
func (s *screen) finding(f finding, fix string) {
	color := map[level]style{levelOK: green, levelNote: faint, levelWarning: yellow, levelBroken: red}[f.Level]
	word := string(f.Level)
	if f.Fixed {
		word, color = "fixed", green
	}
	fmt.Fprintf(s, "  %s %s\n", s.paint(color, fmt.Sprintf("%-8s", word)), visible(oneLine(f.What)))
	do := f.Do
	if f.Fixable {
		do += " (" + fix + " does it)"
	}
	if do != "" && !f.Fixed {
		fmt.Fprintf(s, "           %s\n", visible(oneLine(do)))
	}
}
