package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/wrappers"
)

const wrapperHelp = `sbx wrapper: the script that an agent runtime calls for each command.

  sbx wrapper list                the kinds there are
  sbx wrapper show docker         print one
  sbx wrapper install docker      write $PEPE_HOME/sandbox/docker.sh (default
                                  ~/.pepe), print its path, say what to configure
  sbx wrapper install --standalone docker
                                  the same for a machine without sbx: a script that
                                  calls docker itself, and holds less (docs/wrappers.md)

A runtime calls it as: PEPE_SANDBOX_CWD=/workspace docker.sh PROGRAM ARGUMENT…
Instead of a script it may call sbx itself by a link named sbx-exec.

  --standalone      a script that needs no sbx

Exit status: 0; 2 usage; 125 it could not be written.
`

// wrapperCall is a call of sbx wrapper.
type wrapperCall struct {
	flags
	standalone bool
}

// wrapperCommand is sbx wrapper.
func wrapperCommand(s *streams, args []string) int {
	c := wrapperCall{flags: *newFlags("wrapper")}
	c.BoolVar(&c.standalone, "standalone", false, "")
	err := c.parse(args)
	words := append(c.operands, c.after...)
	switch {
	case errors.Is(err, errHelp):
		s.help(wrapperHelp)
		return exitOK
	case err != nil:
	case len(words) == 0:
		err = usage("no action", "sbx wrapper list, or sbx wrapper install direct")
	case words[0] == "list" && len(words) == 1:
		c.list(s)
		return exitOK
	case words[0] == "install" && len(words) == 2:
		return c.install(s, words[1])
	case words[0] == "show" && len(words) == 2:
		return c.show(s, words[1])
	case (words[0] == "install" || words[0] == "show") && len(words) == 1:
		err = usage("no kind of wrapper", "sbx wrapper "+words[0]+" "+strings.Join(c.kinds(), "|"))
	case words[0] == "install", words[0] == "show", words[0] == "list":
		err = usage("too many operands", "sbx wrapper --help has examples")
	default:
		err = unknownAction("wrapper", words[0], "sbx wrapper --help has examples")
	}
	s.fail(err)
	return exitUsage
}

// kinds lists those of the call.
func (c *wrapperCall) kinds() []string {
	if c.standalone {
		return wrappers.StandaloneKinds()
	}
	return wrappers.Kinds()
}

func (c *wrapperCall) list(s *streams) {
	for _, kind := range c.kinds() {
		fmt.Fprintf(s.out, "%-11s %s\n", kind, wrappers.About(kind))
	}
}

// known checks the name of a kind.
func (c *wrapperCall) known(kind string) error {
	if slices.Contains(c.kinds(), kind) {
		return nil
	}
	hint := meant(kind, c.kinds(), "", "the kinds are: "+strings.Join(c.kinds(), ", "))
	what := "unknown kind of wrapper "
	if slices.Contains(wrappers.Kinds(), kind) {
		what = "no wrapper that needs no sbx is there for "
	}
	return usage(what+quote(kind), hint)
}

// text is the script of a kind, and where the runtime finds it.
func (c *wrapperCall) text(kind string) (string, error) {
	if c.standalone {
		return wrappers.Standalone(kind)
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the path of sbx: %w", err)
	}
	return wrappers.Script(kind, self)
}

func (c *wrapperCall) show(s *streams, kind string) int {
	if err := c.known(kind); err != nil {
		s.fail(err)
		return exitUsage
	}
	text, err := c.text(kind)
	if err != nil {
		s.fail(err)
		return exitNotStarted
	}
	fmt.Fprint(s.out, text)
	return exitOK
}

func (c *wrapperCall) install(s *streams, kind string) int {
	if err := c.known(kind); err != nil {
		s.fail(err)
		return exitUsage
	}
	ctx, stop := untilTold()
	defer stop()
	path, err := c.write(ctx, s, kind)
	if err != nil {
		s.fail(err)
		return exitNotStarted
	}
	fmt.Fprintln(s.out, path)
	s.say("hint", fmt.Sprintf("set \"sandbox\": %q in %s", path, filepath.Join(filepath.Dir(filepath.Dir(path)), "config.json")))
	if c.standalone {
		s.say("hint", "what it does not hold: docs/wrappers.md; with sbx on the machine leave --standalone out")
		return exitOK
	}
	s.sayGaps(wrappers.Backend(kind))
	return exitOK
}

func (c *wrapperCall) write(ctx context.Context, s *streams, kind string) (path string, err error) {
	home, err := runtimeHome()
	if err != nil {
		return "", err
	}
	release, err := s.holdHome(ctx, home)
	if err != nil {
		return "", err
	}
	defer release()
	if c.standalone {
		return wrappers.InstallStandalone(kind, home)
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the path of sbx: %w", err)
	}
	return wrappers.Install(kind, home, self)
}

// sayGaps names what the backend cannot give here, at the moment when somebody
// decides to rely on it: a wrapper stays silent about it later.
func (s *streams) sayGaps(backend string) {
	b, err := sbx.Backends().Lookup(backend)
	if err != nil {
		return
	}
	c, err := b.Probe(context.Background())
	if err != nil {
		s.say("hint", "each command will be refused: "+err.Error())
		return
	}
	s.hintGaps(c.Gaps)
}

func (s *streams) hintGaps(gaps []sandbox.Gap) {
	if list := measuredGaps(gaps); list != "" {
		s.say("hint", "not enforced here: "+list+" (sbx --version --json says why)")
	}
}

// runtimeHome is $PEPE_HOME, else ~/.pepe.
func runtimeHome() (string, error) {
	if home := os.Getenv("PEPE_HOME"); home != "" {
		if !filepath.IsAbs(home) {
			return "", usage("PEPE_HOME "+quote(home)+": it is not an absolute path", "")
		}
		return home, nil
	}
	home := os.Getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", usage("HOME is not set", "set HOME, or PEPE_HOME to the directory of the runtime")
	}
	return filepath.Join(home, ".pepe"), nil
}
