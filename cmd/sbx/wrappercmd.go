package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/wrappers"
)

const wrapperHelp = `sbx wrapper: the script that an agent runtime calls for each command.

  sbx wrapper list                the kinds there are
  sbx wrapper install direct      write $PEPE_HOME/sandbox/direct.sh (default
                                  ~/.pepe), print its path, say what to configure

A runtime calls it as: PEPE_SANDBOX_CWD=/workspace direct.sh PROGRAM ARGUMENT…
Instead of a script it may call sbx itself by a link named sbx-exec.
`

// wrapperCommand is sbx wrapper.
func wrapperCommand(s *streams, args []string) int {
	f := newFlags("wrapper")
	err := f.parse(args)
	words := append(f.operands, f.after...)
	switch {
	case errors.Is(err, errHelp):
		fmt.Fprint(s.out, wrapperHelp)
		return exitOK
	case err != nil:
	case len(words) == 0:
		err = usage("no action", "sbx wrapper list, or sbx wrapper install direct")
	case words[0] == "list" && len(words) == 1:
		fmt.Fprintln(s.out, strings.Join(wrappers.Kinds(), "\n"))
		return exitOK
	case words[0] == "install" && len(words) == 2:
		return s.installWrapper(words[1])
	case words[0] == "install" && len(words) == 1:
		err = usage("no kind of wrapper", "sbx wrapper install "+strings.Join(wrappers.Kinds(), "|"))
	case words[0] == "install", words[0] == "list":
		err = usage("too many operands", "sbx wrapper --help has examples")
	default:
		hint := "sbx wrapper --help has examples"
		if near := nearest(words[0], []string{"list", "install"}); near != "" {
			hint = "did you mean sbx wrapper " + near + "?"
		}
		err = usage("unknown action "+quote(words[0]), hint)
	}
	s.fail(err)
	return exitUsage
}

func (s *streams) installWrapper(kind string) int {
	known := false
	for _, k := range wrappers.Kinds() {
		known = known || k == kind
	}
	if !known {
		hint := "the kinds are: " + strings.Join(wrappers.Kinds(), ", ")
		if near := nearest(kind, wrappers.Kinds()); near != "" {
			hint = "did you mean " + near + "?"
		}
		s.fail(usage("unknown kind of wrapper "+quote(kind), hint))
		return exitUsage
	}
	home, err := runtimeHome()
	if err != nil {
		s.fail(err)
		return exitNotStarted
	}
	self, err := os.Executable()
	if err != nil {
		s.fail(fmt.Errorf("find the path of sbx: %w", err))
		return exitNotStarted
	}
	path, err := wrappers.Install(kind, home, self)
	if err != nil {
		s.fail(err)
		return exitNotStarted
	}
	fmt.Fprintln(s.out, path)
	s.say("hint", fmt.Sprintf("set \"sandbox\": %q in %s", path, filepath.Join(home, "config.json")))
	s.sayGaps(kind)
	return exitOK
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
	if list := gapList(c.Gaps); list != "" {
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
