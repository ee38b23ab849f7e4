package wire

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// Verb is what the far side is asked for.
type Verb string

// The verbs.
const (
	Run   Verb = "run"
	Plan  Verb = "plan"  // as Run, but nothing runs
	Probe Verb = "probe" // what can be enforced there
)

// Stream says what a standard stream of the command is to be.
type Stream byte

// The streams.
const (
	Null     Stream = iota // the null device
	Pipe                   // carried by frames
	Terminal               // the one terminal that is made there
)

// Order is what the far side is asked for. Words are bytes: JSON has no other
// form for what is not UTF-8.
type Order struct {
	Version int  `json:"version"`
	Verb    Verb `json:"verb"`
	// Profile is that of the near side. Its paths mean the same there only with
	// Shared.
	Profile sandbox.Profile `json:"profile"`
	// Shared says that both machines see the workspace at the same path.
	Shared bool `json:"shared,omitempty"`
	// Workspace is the directory there; relative to the far home.
	Workspace string        `json:"workspace"`
	Argv      [][]byte      `json:"argv"`
	Env       [][]byte      `json:"env"`
	Dir       []byte        `json:"dir"` // as the near side names it; empty: the workspace
	Timeout   time.Duration `json:"timeout_ns,omitempty"`
	Grace     time.Duration `json:"grace_ns,omitempty"`
	Streams   [3]Stream     `json:"streams"`
	Rows      uint16        `json:"rows,omitempty"`
	Columns   uint16        `json:"columns,omitempty"`
	// Script is the file that argument ScriptAt names: a runtime's own, which lies
	// outside of the workspace. 0: there is none.
	Script   []byte `json:"script,omitempty"`
	ScriptAt int    `json:"script_at,omitempty"`
	// Sync says that an exchange of the workspace stands before and after the
	// command.
	Sync bool `json:"sync,omitempty"`
}

// SyncDir holds the workspaces that were carried, below the far home.
const SyncDir = ".cache/sbx-sync"

// Answer is what came of it.
type Answer struct {
	Result       *sandbox.Result       `json:"result,omitempty"`
	Plan         *sandbox.Plan         `json:"plan,omitempty"`
	Capabilities *sandbox.Capabilities `json:"capabilities,omitempty"`
	Kind         Failure               `json:"kind,omitempty"`
	Text         string                `json:"text,omitempty"`
	Gaps         []sandbox.Gap         `json:"gaps,omitempty"`    // of Gaps
	Backend      string                `json:"backend,omitempty"` // of Gaps
}

// Failure is a kind of error of the contract.
type Failure string

// The failures.
const (
	Unavailable Failure = "unavailable"
	Unsupported Failure = "unsupported"
	NotStarted  Failure = "start"
	Lost        Failure = "lost"
	Gaps        Failure = "gaps"
	Other       Failure = "other" // nothing ran
)

// Fail puts an error into an answer.
func (a *Answer) Fail(err error) {
	var gaps *sandbox.GapError
	a.Text = err.Error()
	switch {
	case errors.As(err, &gaps):
		a.Kind, a.Gaps, a.Backend = Gaps, gaps.Gaps, gaps.Backend
	case errors.Is(err, sandbox.ErrUnsupported):
		a.Kind = Unsupported
	case errors.Is(err, sandbox.ErrLost):
		a.Kind = Lost
	case errors.Is(err, sandbox.ErrStart):
		a.Kind = NotStarted
	case errors.Is(err, sandbox.ErrUnavailable):
		a.Kind = Unavailable
	default:
		a.Kind = Other
	}
}

// Err is the error of an answer; nil when there is none.
func (a *Answer) Err() error {
	switch a.Kind {
	case "":
		return nil
	case Gaps:
		return &sandbox.GapError{Backend: a.Backend, Gaps: a.Gaps}
	}
	kinds := map[Failure]error{Unavailable: sandbox.ErrUnavailable, Unsupported: sandbox.ErrUnsupported, Lost: sandbox.ErrLost}
	kind, ok := kinds[a.Kind]
	if !ok {
		kind = sandbox.ErrStart
	}
	return &failure{a.Text, kind}
}

// failure has the other side's words and a kind of the contract.
type failure struct {
	text string
	kind error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.kind }

// Words turns strings into what crosses.
func Words(list []string) [][]byte {
	words := make([][]byte, len(list))
	for i, w := range list {
		words[i] = []byte(w)
	}
	return words
}

// Strings is the way back.
func Strings(list [][]byte) []string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	return words
}

// MachineVars say who and where one is: each machine has its own.
var MachineVars = [...]string{"HOME", "LOGNAME", "PATH", "SHELL", "USER"}

// placeVars are set anew for each command.
var placeVars = [...]string{"PWD", "OLDPWD", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "XDG_RUNTIME_DIR"}

// Crossing is what of the near side's environment is for the command on the other
// machine: nothing that says who and where one is, or that lies in directories of
// the near side's alone. home decides about HOME.
func Crossing(env []string, private sandbox.Private, home func(dir string) bool) []string {
	below := func(value, dir string) bool {
		return dir != "" && (value == dir || strings.HasPrefix(value, dir+"/"))
	}
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case name == "HOME":
			return !home(value)
		case slices.Contains(MachineVars[:], name), slices.Contains(placeVars[:], name):
			return true
		}
		return below(value, private.Temp) || below(value, private.Cache)
	})
}
