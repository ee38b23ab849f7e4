package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/proc"
	"github.com/sbx-run/sbx/wrappers"
)

const imageHelp = `sbx image: an image for commands in containers, with what most of them call: a shell,
git, Python, Node, make and a C compiler.

  sbx image build                 build it with Docker, or with Podman if that is what is here
  sbx image build --backend podman --tag mine/tools:2
  sbx image show                  print the Dockerfile

  --tag NAME          of the image (default: sbx/default:1)
  --base IMAGE        what it is built on (default: debian:12-slim)
  --packages LIST     Debian packages instead of the default ones; '' for none

The name of the image is printed; the engine's progress goes to standard error. Commands
use it by --image NAME, or by "image" below sbx.container in the configuration. containerd
builds nothing: docker save NAME | ctr images import -

Exit status: 0, 2 usage, 125 it could not be done.
`

const defaultTag = "sbx/default:1"

// imageCall is a call of sbx image.
type imageCall struct {
	flags
	backend, tag, base string
	packages           *string // nil: those of the Dockerfile
}

// imageCommand is sbx image.
func imageCommand(s *streams, args []string) int {
	c := imageCall{flags: *newFlags("image")}
	c.StringVar(&c.backend, "backend", "", "")
	c.StringVar(&c.tag, "tag", defaultTag, "")
	c.StringVar(&c.base, "base", "", "")
	c.Func("packages", "", func(names string) error {
		c.packages = &names
		return nil
	})
	err := c.parse(args)
	words := append(c.operands, c.after...)
	switch {
	case errors.Is(err, errHelp):
		s.help(imageHelp)
		return exitOK
	case err != nil:
	case len(words) == 1 && words[0] == "show":
		fmt.Fprint(s.out, wrappers.Dockerfile())
		return exitOK
	case len(words) > 1 && (words[0] == "build" || words[0] == "show"):
		err = usage("too many operands", "sbx image --help has examples")
	case len(words) != 1 || words[0] != "build":
		err = unknownAction("image", append(words, "")[0], "sbx image build, or sbx image show")
	case c.backend != "" && !slices.Contains(engines[:], c.backend):
		err = usage("the backend "+quote(c.backend)+" builds no images", "--backend docker or --backend podman")
	case c.tag == "" || strings.HasPrefix(c.tag, "-"):
		err = usage("--tag "+quote(c.tag)+" is no name of an image", "--tag "+defaultTag)
	}
	if err != nil {
		s.fail(err)
		return exitUsage
	}
	if err := c.build(s); err != nil {
		s.fail(err)
		return exitNotStarted
	}
	fmt.Fprintln(s.out, c.tag)
	s.say("hint", "use it by --image "+c.tag+`, or in the configuration by {"sbx": {"container": {"image": "`+c.tag+`"}}}`)
	return exitOK
}

// program finds the engine's command line: never one that the current directory
// brings along.
func (c *imageCall) program() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the current directory: %w", err)
	}
	wanted := engines[:]
	if c.backend != "" {
		wanted = []string{c.backend}
	}
	for _, name := range wanted {
		if path, err := exec.LookPath(name); err == nil {
			if err := proc.Trusted(path, sandbox.Profile{Workspace: here}); err != nil {
				return "", fmt.Errorf("build an image: %w", err)
			}
			return path, nil
		}
	}
	return "", usage("there is no "+strings.Join(wanted, " and no ")+" on PATH", "install one, or build the output of sbx image show elsewhere")
}
