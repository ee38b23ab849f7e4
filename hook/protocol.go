// Package hook speaks the protocols by which coding agents ask another program
// before they run a command: it decodes the event, has the command read and
// judged, and answers in the agent's own words. It also writes the entry into
// the agent's settings file.
//
// What is not understood is refused: an event that is cut short, of a wrong
// shape, or that makes the reading fail never passes as "no opinion".
package hook

import (
	"path"
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// Verdict is the answer to an event.
type Verdict uint8

const (
	Deny Verdict = iota // zero value: a forgotten field must not allow
	Ask
	None  // no opinion: the agent goes on as if there were no hook
	Allow // the agent need not ask
)

// Protocol is the hook protocol of one agent.
type Protocol struct {
	Name  string // the word on the command line
	Title string // the agent's own name

	events []event
	// unattended says that nobody can be asked in this event: an answer "ask"
	// would be dropped by the agent, and the command run.
	unattended func(e Event) bool
	// directory names the members of the tool's input that move the command to
	// another directory, relative to cwd.
	directory []string
	// project is the variable in which the agent tells a hook its workspace; ""
	// when there is none.
	project string
	// userShell says that the command is run by the shell of the user, who may
	// have chosen another one than bash.
	userShell bool
	encode    func(e Event, d Decision) Answer
	// failed answers an event that could not be decoded or judged.
	failed func(reason string) Answer

	settings settings
}

// event is an event that comes before a command is run.
type event struct {
	name  string
	tools []tool // empty: the event is about commands only, and the command is its own member
}

// tool is a tool of the agent that runs commands.
type tool struct {
	name string
	// instead is a member that may stand in place of the command: then none runs.
	instead string
	// foreign names the language when it is none that sbx reads.
	foreign string
}

// Answer is what the hook's process prints and returns.
type Answer struct {
	Stdout, Stderr string
	Code           int
}

// Protocols lists what there is, in the order of the help text.
func Protocols() []Protocol { return []Protocol{claudeCode, codex, gemini, cursor} }

// Find finds a protocol by its name.
func Find(name string) (Protocol, bool) {
	for _, p := range Protocols() {
		if p.Name == name {
			return p, true
		}
	}
	return Protocol{}, false
}

// Names lists the protocols' names.
func Names() []string {
	var names []string
	for _, p := range Protocols() {
		names = append(names, p.Name)
	}
	return names
}

// dialect is the shell that the agent runs commands with. userShell is the
// path of the user's ($SHELL).
func (p Protocol) dialect(userShell string) shell.Dialect {
	if p.userShell && strings.HasSuffix(userShell, "/zsh") {
		return shell.Zsh
	}
	return shell.Bash
}

// Workspace is the agent's workspace, as far as it tells by a variable.
func (p Protocol) Workspace(getenv func(string) string) string {
	if p.project == "" {
		return ""
	}
	if dir := getenv(p.project); path.IsAbs(dir) {
		return path.Clean(dir)
	}
	return ""
}

// eventOf finds an event by its name. Case does not matter, here and for tools:
// Cursor also runs the hooks of other agents' settings, under its own spelling.
func (p Protocol) eventOf(name string) (event, bool) {
	for _, e := range p.events {
		if strings.EqualFold(e.name, name) {
			return e, true
		}
	}
	return event{}, false
}

// toolOf finds a tool by its name.
func (e event) toolOf(name string) (tool, bool) {
	for _, t := range e.tools {
		if strings.EqualFold(t.name, name) {
			return t, true
		}
	}
	return tool{}, false
}
