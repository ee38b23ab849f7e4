package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/config"
	"github.com/sbx-run/sbx/sandbox"
	chooser "github.com/sbx-run/sbx/sandbox/choice"
	wrapped "github.com/sbx-run/sbx/sandbox/command"
	"github.com/sbx-run/sbx/wrappers"
)

const setupHelp = `sbx setup: choose how an agent runtime's commands are confined, and set it up.

  sbx setup                                     asks, shows what it would change, asks again
  sbx setup --yes                               takes what is recommended here
  sbx setup --yes --backend podman --network allow:npm,git
  sbx setup --backend none                      the runtime runs its commands on the host again
  sbx setup --remove                            takes back what setup has done

It measures what this host supports, writes the wrapper script to $PEPE_HOME/sandbox/
(default ~/.pepe), runs one confined command through it to prove it, and sets "sandbox"
in config.json to its path. All else in that file stays as it is. It installs no program.

  --backend NAME    instead of asking
  --network WHAT    off, on, or allow:HOST,… (sbx network --help): what commands may reach
  --image IMAGE     of containers (default: python:3.12-slim)
  --ssh-host HOST   the machine of the backend ssh, as ssh names it
  --yes             change it without asking; what no flag says is as recommended, or as
                    it is configured (network, image)
  --remove          take back what setup has done, and ask for nothing else

Exit status: 0 it is set up; 2 usage; 125 it could not be done, and nothing was configured.
`

// setupCall is a call of sbx setup.
type setupCall struct {
	flags
	backend, image string
	net            networkWord
	ssh            sshFlags
	yes, remove    bool

	asker  asker
	home   string // of the runtime
	config string // path of its configuration
	file   config.Config
}

func newSetupCall() *setupCall {
	c := &setupCall{flags: *newFlags("setup")}
	c.StringVar(&c.backend, "backend", "", "")
	c.Var(&c.net, "network", "")
	c.StringVar(&c.image, "image", "", "")
	c.StringVar(&c.ssh.host, "ssh-host", "", "")
	c.BoolVar(&c.yes, "yes", false, "")
	c.BoolVar(&c.remove, "remove", false, "")
	return c
}

// errStopped: the person at the terminal wants nothing done.
var errStopped = errors.New("nothing was changed")

// setupCommand is sbx setup.
func setupCommand(s *streams, args []string) int {
	c := newSetupCall()
	err := c.parse(args)
	switch {
	case errors.Is(err, errHelp):
		s.help(setupHelp)
		return exitOK
	case err == nil && len(c.operands)+len(c.after) > 0:
		err = usage("setup takes no operand", "sbx setup --help has examples")
	case err == nil && c.remove && c.backend+string(c.net)+c.image+c.ssh.host != "":
		err = usage("--remove with other settings", "sbx setup --remove takes back what was set up")
	case err == nil && c.backend != "" && c.backend != kindNone && kindOf(c.backend) == "":
		err = noWrapper(c.backend)
	case err == nil && c.image != "" && slices.Contains(withoutImages[:], wrappers.Backend(kindOf(c.backend))):
		err = noImage(c.image, c.backend)
	case err == nil && c.ssh.host != "" && c.backend != "" && c.backend != kindSSH:
		err = usage("--ssh-host with the backend "+c.backend, "--backend ssh runs commands on another machine")
	case err == nil && c.net == "auto":
		err = usage("--network auto", "off, on or allow:HOST,… are what a wrapper can promise")
	}
	if err != nil {
		s.fail(err)
		return exitUsage
	}
	ctx, stop := untilTold()
	defer stop()
	c.asker = newAsker(ctx, s)
	if err = c.locate(); err == nil {
		if c.remove {
			err = c.undo(ctx, s)
		} else {
			err = c.setUp(ctx, s)
		}
	}
	if errors.Is(err, errStopped) {
		fmt.Fprintln(s.out, err)
		return exitOK
	}
	if err != nil {
		s.report(err)
		return exitNotStarted
	}
	return exitOK
}

// locate finds the runtime's home and reads its configuration.
func (c *setupCall) locate() (err error) {
	if c.home, err = runtimeHome(); err != nil {
		return err
	}
	if c.config, err = config.Locate(os.Getenv); err != nil {
		return err
	}
	if c.file, err = config.Load(os.Getenv); err != nil {
		return err
	}
	over, err := config.ReadOverrides(os.Getenv)
	c.ssh.settle(&c.file.SSH, over)
	return err
}

// option is one answer to the question for a backend.
type option struct {
	kind string // of the wrapper; "none"
	measured
}

// measured is what is known of a backend here.
type measured struct {
	capabilities sandbox.Capabilities
	err          error
}

// kindNone is no wrapper at all.
const kindNone = "none"

// kindSSH runs commands on another machine, which has to be named.
const kindSSH = "ssh"

// kindTheirs is a wrapper that sbx did not write, and leaves as it is.
const kindTheirs = "keep"

// kindOf is the kind of wrapper that calls a backend, or has that name; "" if there
// is none.
func kindOf(name string) string {
	for _, kind := range wrappers.Kinds() {
		if kind == name || wrappers.Backend(kind) == name {
			return kind
		}
	}
	return ""
}

func noWrapper(backend string) error {
	names := append(wrappers.Kinds(), kindNone)
	return usage("no wrapper for the backend "+quote(backend), meant(backend, wrappers.Kinds(), "", "the backends are: "+strings.Join(names, ", ")))
}

// options lists the kinds of wrappers with what was measured, and names the one
// that is recommended, "" if nothing works here.
func (c *setupCall) options(ctx context.Context) (list []option, best string, err error) {
	known, err := registry(c.file)
	if err != nil {
		return nil, "", err
	}
	all := chooser.MeasureAll(ctx, known, sbx.Measurements(os.Environ()))
	for _, kind := range wrappers.Kinds() {
		o := option{kind: kind, measured: measured{err: fmt.Errorf("this sbx has no backend for it: %w", sandbox.ErrUnsupported)}}
		for _, m := range all {
			if m.Capabilities.Backend == wrappers.Backend(kind) {
				o.measured = measured{m.Capabilities, m.Err}
			}
		}
		list = append(list, o)
	}
	chooser.Rank(all)
	for _, m := range all {
		b, lerr := known.Lookup(m.Capabilities.Backend)
		only, named := b.(sandbox.OnlyNamed)
		if lerr != nil || m.Err != nil || named && only.OnlyNamed() {
			continue
		}
		if i := slices.IndexFunc(list, func(o option) bool { return wrappers.Backend(o.kind) == m.Capabilities.Backend }); i >= 0 {
			return list, list[i].kind, nil
		}
	}
	return list, "", nil
}

// setUp asks what is not said by flags, and does it.
func (c *setupCall) setUp(ctx context.Context, s *streams) error {
	var chosen option
	if c.backend != kindNone {
		list, best, err := c.options(ctx)
		if err != nil {
			return err
		}
		if chosen, err = c.chooseBackend(s, list, best); err != nil {
			return err
		}
		if chosen.kind == kindSSH && c.file.SSH.Host == "" && !c.yes {
			if chosen, err = c.chooseMachine(ctx); err != nil {
				return err
			}
		}
	} else {
		chosen.kind = kindNone
	}
	switch chosen.kind {
	case kindNone:
		return c.unset(ctx, s)
	case kindTheirs:
		return errStopped
	}
	if chosen.err != nil {
		return c.unusable(chosen)
	}
	if c.image != "" && slices.Contains(withoutImages[:], wrappers.Backend(chosen.kind)) {
		return noImage(c.image, wrappers.Backend(chosen.kind))
	}
	if hint := presetHint(string(c.net)); hint != "" {
		s.say("hint", hint)
	}
	if err := c.chooseNetwork(); err != nil {
		return err
	}
	if err := c.chooseImage(chosen); err != nil {
		return err
	}
	return c.apply(ctx, s, chosen)
}

// chooseMachine asks for the machine of the backend ssh, and measures it.
func (c *setupCall) chooseMachine(ctx context.Context) (option, error) {
	var err error
	c.file.SSH.Host, err = c.asker.line("Which machine? As ssh names it", "", func(host string) error {
		if strings.ContainsAny(host, " \t") || strings.HasPrefix(host, "-") {
			return errors.New("want HOST or USER@HOST")
		}
		return nil
	})
	if err == nil && c.file.SSH.Host == "" {
		err = errStopped
	}
	if err != nil {
		return option{}, err
	}
	list, _, err := c.options(ctx)
	if err != nil {
		return option{}, err
	}
	return list[slices.IndexFunc(list, func(o option) bool { return o.kind == kindSSH })], nil
}

// unusable says why a backend cannot be set up, and what to install. Nothing else
// is taken in its place.
func (c *setupCall) unusable(o option) error {
	hint := "sbx setup without --backend lists what works here"
	if n, ok := neededBy(wrappers.Backend(o.kind)); ok && !n.here(os.Getenv("PATH")) {
		hint = n.advice()
	}
	return &hintedError{msg: "the backend " + wrappers.Backend(o.kind) + " does not work here: " + sandbox.PassedFor(wrappers.Backend(o.kind), o.err).Why, hint: hint}
}

func (c *setupCall) chooseBackend(s *streams, list []option, best string) (option, error) {
	if c.backend != "" {
		kind := kindOf(c.backend)
		i := slices.IndexFunc(list, func(o option) bool { return o.kind == kind })
		if i < 0 {
			return option{}, noWrapper(c.backend)
		}
		return list[i], nil
	}
	if c.yes {
		i := slices.IndexFunc(list, func(o option) bool { return o.kind == best })
		if i < 0 {
			return option{}, &hintedError{msg: "no backend works here", hint: "sbx doctor --live says why"}
		}
		fmt.Fprintf(s.out, "backend %s: %s\n", best, s.named(list[i].describe(true)))
		return list[i], nil
	}
	q := inquiry{text: "How are the runtime's commands confined?"}
	// What is for other systems is no choice.
	list = slices.DeleteFunc(list, func(o option) bool { return errors.Is(o.err, sandbox.ErrUnsupported) })
	list = append(list, option{kind: kindNone})
	preset := cmp.Or(c.configuredKind(), best)
	if preset == kindTheirs {
		list = append(list, option{kind: kindTheirs})
	}
	for _, o := range list {
		if o.kind == preset {
			q.preset = len(q.choices)
		}
		about := s.named(o.describe(o.kind == best))
		if o.kind == kindSSH && c.file.SSH.Host == "" {
			about = "on another machine, which is asked for"
		}
		if o.kind == preset && preset != best {
			about = "as it is: " + about
		}
		q.choices = append(q.choices, [2]string{o.kind, about})
	}
	i, err := c.asker.choose(q)
	if err != nil {
		return option{}, err
	}
	return list[i], nil
}

// configuredKind is what the runtime has for a wrapper: a kind of ours, kindTheirs,
// or "" where there is none.
func (c *setupCall) configuredKind() string {
	for _, kind := range wrappers.Kinds() {
		if path := c.wrapperPath(kind); c.file.Sandbox == path && wrapped.Ours(path) {
			return kind
		}
	}
	if c.file.Sandbox != "" {
		return kindTheirs
	}
	return ""
}

// describe is what was measured, in a few words.
func (o option) describe(recommended bool) string {
	switch o.kind {
	case kindNone:
		return "no confinement: the runtime runs its commands on this host"
	case kindTheirs:
		return "the script that is configured, which sbx did not write"
	}
	if o.err != nil {
		why := "does not work here: " + sandbox.PassedFor(wrappers.Backend(o.kind), o.err).Why
		if n, ok := neededBy(wrappers.Backend(o.kind)); ok && !n.here(os.Getenv("PATH")) {
			why = n.advice()
		}
		return why
	}
	what := fmt.Sprintf("enforces %d controls", len(o.capabilities.Enforced))
	if o.capabilities.Tier != "" {
		what += " (tier " + o.capabilities.Tier + ")"
	}
	if recommended {
		what = "recommended: " + what
	}
	switch {
	case o.capabilities.Apart:
		return what + "; commands see " + seenBy(wrappers.Backend(o.kind)) + ", not this host's programs"
	case recommended:
		return what + ", the strongest of those where commands see this host's programs"
	}
	return what + "; commands see this host's programs"
}

// seenBy is what commands see of a backend that does not show them this host.
func seenBy(backend string) string {
	if backend == kindSSH {
		return "another machine"
	}
	return "an image"
}

// recommendedNetwork is what --yes configures where nothing is.
const recommendedNetwork = "off"

func (c *setupCall) chooseNetwork() error {
	if c.net != "" {
		return nil
	}
	if c.yes {
		if c.file.Network == "" { // a wrapper has the network on where nothing is said
			c.net = recommendedNetwork
		}
		return nil
	}
	now, list, isList := strings.Cut(c.file.Network, ":")
	q := inquiry{text: "What may they reach?", choices: [][2]string{
		{recommendedNetwork, "no network; servers on localhost for themselves (recommended)"},
		{"allow", "a list of hosts, and nothing else"},
		{"on", "the host's network as it is"},
	}}
	if now == "auto" {
		q.choices = append(q.choices, [2]string{now, "the host's network for commands that have an allowed tag"})
	}
	for i := range q.choices {
		if choice := &q.choices[i]; choice[0] == now {
			q.preset = i
			choice[1] += ", as it is configured"
		}
	}
	i, err := c.asker.choose(q)
	if err != nil {
		return err
	}
	word := q.choices[i][0]
	if word == "allow" {
		if !isList {
			list = "git"
		}
		if list, err = c.asker.line("Which? Hosts, or lists that have a name ("+strings.Join(presetNames(), ", ")+"), by comma", list, listOfHosts); err != nil {
			return err
		}
		word += ":" + list
	}
	if word != c.file.Network { // what is configured stays as it is written
		c.net = networkWord(word)
	}
	return nil
}

// listOfHosts checks an answer. A name that is nearly a preset is asked about: it
// would be a host.
func listOfHosts(text string) error {
	if err := new(networkWord).Set("allow:" + text); err != nil {
		return err
	}
	if hint := presetHint("allow:" + text); hint != "" {
		return errors.New(hint)
	}
	return nil
}

func (c *setupCall) chooseImage(o option) error {
	if c.image != "" || c.yes || !o.capabilities.Apart || slices.Contains(withoutImages[:], wrappers.Backend(o.kind)) {
		return nil
	}
	preset := c.file.Container.Image
	if preset == "" {
		preset = sandbox.DefaultImage
	}
	line, err := c.asker.line("Which image do they see?", preset, func(text string) error {
		if strings.ContainsAny(text, " \t") {
			return errors.New("an image has no blanks in its name")
		}
		return nil
	})
	if line != preset {
		c.image = line
	}
	return err
}

// wrapperPath is where the script of a kind lies.
func (c *setupCall) wrapperPath(kind string) string {
	return filepath.Join(c.home, "sandbox", kind+".sh")
}
