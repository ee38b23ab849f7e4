package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/hook"
	"github.com/sbx-run/sbx/shell"
)

const hookHelp = `sbx hook: let a coding agent ask sbx before it runs a command.

  sbx hook install claude-code                 show the entry, ask, write it
  sbx hook install codex --yes --allow writes_file,deletes
  sbx hook install claude-code --confine --auto-allow
                                               and run each command confined
  sbx hook install cursor --project            for this project only
  sbx hook uninstall claude-code               take it out again

  sbx hook claude-code < event.json            what the agent runs: see docs/hooks.md

Agents: claude-code, codex, gemini, cursor. What guard refuses is denied, with
the reason for the model. Other effects (sbx check names them) are put to you,
unless they are allowed beforehand. Otherwise the agent goes on as it would.
Anything that goes wrong is a refusal.

Grants and policies of the configuration count, too (sbx grants --help, sbx
policy --help): what a grant covers needs no question, what a policy refuses is
denied.

  --agent NAME      whose grants (default: $SBX_AGENT, else of calls that name none)
  --allow TAGS      kinds of effect that need no question, separated by commas
                    (default: none)
  --auto-allow      spare the agent's own question where sbx has none
  --confine         have the command run under sbx exec
  --unasked ANSWER  where the agent cannot ask you: deny (default), or pass to
                    leave it to the agent's own settings
  --shell NAME      who runs the command: bash, sh, posix, mksh, zsh
                    (default: what the agent uses)
  --cwd, --home, --workspace DIR   instead of what the agent says

  --project         install: the settings of the project here, not yours
  --yes             install: write without asking
  --dry-run         install: only show

Exit status: 0, or 2 when the command is refused or the call makes no sense. Of
install: 1 when nothing was written although there is something to write.
`

// hookCall is a call of sbx hook. The first group of flags belongs to the hook
// and is written into the agent's settings, the second to its installation.
type hookCall struct {
	flags
	allow              allowSet
	autoAllow, confine bool
	unasked            choice
	dialect            optionalDialect
	where              shell.Where
	agent              string

	project, yes, dryRun bool
}

func parseHook(args []string) (*hookCall, error) {
	c := &hookCall{flags: *newFlags("hook"), unasked: choice{words: []string{"deny", "pass"}}}
	c.Var(&c.allow, "allow", "")
	c.BoolVar(&c.autoAllow, "auto-allow", false, "")
	c.BoolVar(&c.confine, "confine", false, "")
	c.Var(&c.unasked, "unasked", "")
	c.Var(&c.dialect, "shell", "")
	c.StringVar(&c.where.Cwd, "cwd", "", "")
	c.StringVar(&c.where.Home, "home", "", "")
	c.StringVar(&c.where.Workspace, "workspace", "", "")
	c.StringVar(&c.agent, "agent", "", "")
	c.BoolVar(&c.project, "project", false, "")
	c.BoolVar(&c.yes, "yes", false, "")
	c.BoolVar(&c.dryRun, "dry-run", false, "")
	if err := c.parse(args); err != nil {
		return nil, err
	}
	for _, dir := range [...]struct{ flag, value string }{{"cwd", c.where.Cwd}, {"home", c.where.Home}, {"workspace", c.where.Workspace}} {
		if dir.value != "" && !filepath.IsAbs(dir.value) {
			return nil, usage("--"+dir.flag+" "+quote(dir.value)+": it is not an absolute path", "")
		}
	}
	return c, nil
}

// hookCommand is sbx hook. Every status but 0 that it ends with is 2, apart from
// a declined installation: an agent takes any other for permission.
func hookCommand(s *streams, args []string) int {
	c, err := parseHook(args)
	if errors.Is(err, errHelp) {
		s.help(hookHelp)
		return exitOK
	}
	var words []string
	if err == nil {
		words = append(c.operands, c.after...)
	}
	switch {
	case err != nil:
	case len(words) == 1 && words[0] != "install" && words[0] != "uninstall":
		if err = c.alien("install", c.project, c.yes, c.dryRun); err == nil {
			return c.answer(s, words[0])
		}
	case len(words) == 2 && (words[0] == "install" || words[0] == "uninstall"):
		return c.change(s, words[0], words[1])
	case len(words) == 1:
		err = usage("no agent", "sbx hook "+words[0]+" "+strings.Join(hook.Names(), "|"))
	case len(words) == 0:
		err = usage("no agent", "sbx hook install "+strings.Join(hook.Names(), "|"))
	default:
		err = unknownAction("hook", words[0], "sbx hook --help has examples")
	}
	s.fail(err)
	return exitUsage
}

// alien refuses flags that mean nothing in this call.
func (c *hookCall) alien(action string, given ...bool) error {
	if slices.Contains(given, true) {
		return usage("--project, --yes and --dry-run belong to sbx hook "+action, "")
	}
	return nil
}

func protocol(name string) (hook.Protocol, error) {
	if p, ok := hook.Find(name); ok {
		return p, nil
	}
	return hook.Protocol{}, usage("unknown agent "+quote(name), meant(name, append([]string{"install", "uninstall"}, hook.Names()...), "", "the agents are: "+strings.Join(hook.Names(), ", ")))
}

// answer reads the event from standard input and answers it.
func (c *hookCall) answer(s *streams, name string) int {
	p, err := protocol(name)
	var o hook.Options
	if err == nil {
		o, err = c.options(p)
	}
	if err != nil {
		s.fail(err)
		return exitUsage
	}
	a := p.Answer(s.in, o)
	io.WriteString(s.err, a.Stderr) // the status says it too
	if _, err := io.WriteString(s.out, a.Stdout); err != nil {
		s.fail(fmt.Errorf("write answer: %w", err))
		return exitUsage
	}
	return a.Code
}

func (c *hookCall) options(p hook.Protocol) (hook.Options, error) {
	o := hook.Options{
		Allowed: classify.Tags(c.allow), AutoAllow: c.autoAllow,
		Shell: os.Getenv("SHELL"), Dialect: c.dialect.value,
		Check: checkAllowing, Gate: c.gate,
		Cwd: c.where.Cwd, Home: c.where.Home, Workspace: c.where.Workspace,
	}
	if c.unasked.value == "pass" {
		o.Unasked = hook.None
	}
	if o.Home == "" {
		o.Home = os.Getenv("HOME")
	}
	if o.Workspace == "" {
		o.Workspace = p.Workspace(os.Getenv)
	}
	if c.confine {
		self, err := os.Executable()
		if err != nil {
			return o, fmt.Errorf("find sbx itself: %w", err)
		}
		o.Sbx = self
	}
	return o, nil
}

// change installs or uninstalls: it shows what would change, asks, and writes.
func (c *hookCall) change(s *streams, action, name string) int {
	change, err := c.planned(s, action, name)
	if err != nil {
		s.fail(err)
		return exitUsage
	}
	if change.Empty() {
		fmt.Fprintf(s.out, "nothing to do in %s\n", change.Path)
		return exitOK
	}
	fmt.Fprint(s.out, change.Diff())
	switch {
	case c.dryRun:
		return exitOK
	case c.yes:
	case !isTerminal(s.in):
		s.say("hint", "nothing was written; --yes writes it")
		return exitDeclined
	case !s.confirmed("write it?"):
		return exitDeclined
	}
	if err := change.Apply(); err != nil {
		s.fail(err)
		return exitUsage
	}
	done := "wrote"
	if change.Removes() {
		done = "removed"
	}
	fmt.Fprintf(s.out, "%s %s\n", done, change.Path)
	for _, note := range change.Notes {
		s.say("hint", note)
	}
	return exitOK
}

// exitDeclined says that there is something to write and it was not written.
const exitDeclined = 1

func (c *hookCall) planned(s *streams, action, name string) (*hook.Change, error) {
	p, err := protocol(name)
	if err != nil {
		return nil, err
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the current directory: %w", err)
	}
	place := hook.Place{Project: c.project, Dir: here, Home: os.Getenv("HOME"), Getenv: os.Getenv}
	if action == "uninstall" {
		return p.Uninstall(place)
	}
	self, err := ownPath()
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(self, here+string(filepath.Separator)) && here != place.Home {
		s.say("hint", "sbx itself lies in this directory ("+self+"): an agent that works here could replace it")
	}
	return p.Install(place, self, c.passedOn())
}

// ownPath is where sbx will be found after an update too: the name on PATH when
// that is this program, which may be a link to a folder with a version in it.
func ownPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find sbx itself: %w", err)
	}
	named, err := exec.LookPath(os.Args[0])
	if err == nil && !filepath.IsAbs(named) {
		named, err = filepath.Abs(named)
	}
	if err != nil {
		return self, nil
	}
	a, errA := os.Stat(self)
	b, errB := os.Stat(named)
	if errA == nil && errB == nil && os.SameFile(a, b) {
		return filepath.Clean(named), nil
	}
	return self, nil
}

// passedOn are the flags of the hook itself, in a fixed order.
func (c *hookCall) passedOn() []string {
	var out []string
	if c.allow != 0 {
		out = append(out, "--allow", c.allow.String())
	}
	if c.agent != "" {
		out = append(out, "--agent", c.agent)
	}
	if c.autoAllow {
		out = append(out, "--auto-allow")
	}
	if c.confine {
		out = append(out, "--confine")
	}
	if c.unasked.value == "pass" {
		out = append(out, "--unasked", "pass")
	}
	if c.dialect.value != nil {
		out = append(out, "--shell", c.dialect.value.String())
	}
	for _, dir := range [...]struct{ flag, value string }{{"--cwd", c.where.Cwd}, {"--home", c.where.Home}, {"--workspace", c.where.Workspace}} {
		if dir.value != "" {
			out = append(out, dir.flag, dir.value)
		}
	}
	return out
}

// confirmed asks a person at the terminal. No answer is no.
func (s *streams) confirmed(question string) bool {
	fmt.Fprintf(s.err, "sbx: %s [y/N] ", question)
	line, _ := bufio.NewReader(s.in).ReadString('\n')
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

// allowSet is the value of --allow: tags, or none.
type allowSet classify.Tags

func (a *allowSet) String() string { return classify.Tags(*a).String() }
func (a *allowSet) Set(v string) error {
	for _, name := range strings.Split(v, ",") {
		if strings.TrimSpace(name) == "none" {
			continue
		}
		if err := (*tagSet)(a).Set(name); err != nil {
			return err
		}
	}
	return nil
}

// optionalDialect is the value of --shell, nil when it was not given.
type optionalDialect struct{ value *shell.Dialect }

func (d *optionalDialect) String() string { return "" }
func (d *optionalDialect) Set(v string) error {
	d.value = new(shell.Dialect)
	return (*dialect)(d.value).Set(v)
}
