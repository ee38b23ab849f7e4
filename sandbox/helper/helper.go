// Package helper is the protocol between sbx and the programs that it leaves
// heavy backends to: sbx-backend-NAME. Backend is sbx's side, Serve the other.
// docs/helpers.md describes it for those who write one in another language.
package helper

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/sbx-run/sbx/sandbox"
)

// Version is the version of the protocol. A helper refuses an order of another.
const Version = 1

// Prefix begins the name of every helper program.
const Prefix = "sbx-backend-"

// The variables that name the two descriptors, and the verbs.
const (
	planVar   = "SBX_PLAN_FD"
	resultVar = "SBX_RESULT_FD"

	verbProbe = "probe"
	verbPlan  = "plan"
	verbRun   = "run"
	verbStart = "start"
	verbStop  = "stop"
	verbLeft  = "left"
	verbSweep = "sweep"
)

// order is what a helper reads first. Control messages follow; their end says
// that sbx is gone.
type order struct {
	Version int             `json:"version"`
	Profile sandbox.Profile `json:"profile"`
	Command command         `json:"command,omitzero"`
	Session *kept           `json:"session,omitempty"` // of start and stop
	// Upstream is that of the profile's Egress, which leaves it out: it may hold
	// a password, and this descriptor is nobody else's.
	Upstream *sandbox.Upstream `json:"upstream,omitempty"`
}

// kept is a sandbox that is kept between commands.
type kept struct {
	Dir  string        `json:"dir,omitempty"` // where it listens
	Idle time.Duration `json:"idle_ns,omitempty"`
	Warm *sandbox.Warm `json:"warm,omitempty"` // the one to stop
}

// command is sandbox.Command without its streams, which are the helper's own.
type command struct {
	Argv    []text        `json:"argv"`
	Env     []variable    `json:"env"`
	Dir     string        `json:"dir"`
	Timeout time.Duration `json:"timeout_ns,omitempty"`
	Grace   time.Duration `json:"grace_ns,omitempty"`
}

// variable is one of the command's environment: its value is that of the
// helper's own environment ("from": "host"), or stands here.
type variable struct {
	Name  text   `json:"name"`
	From  string `json:"from,omitempty"`
	Value *text  `json:"value,omitempty"`
}

const fromHost = "host"

// control is a message during a run. One field is set.
type control struct {
	Signal int  `json:"signal,omitempty"` // for the command
	End    bool `json:"end,omitempty"`    // end it: the caller is gone
}

// outcome is what a helper writes last, once.
type outcome struct {
	Result *sandbox.Result `json:"result,omitempty"`
	Plan   *sandbox.Plan   `json:"plan,omitempty"`
	Warm   *sandbox.Warm   `json:"warm,omitempty"`
	Error  *failure        `json:"error,omitempty"`
}

// failure is an error of the contract.
type failure struct {
	Kind string        `json:"kind"` // unavailable, unsupported, start, lost, gaps
	Text string        `json:"text"`
	Gaps []sandbox.Gap `json:"gaps,omitempty"` // of kind gaps
}

// kinds pairs the words of a failure with the errors of the contract.
func kinds() []struct {
	word string
	err  error
} {
	return []struct {
		word string
		err  error
	}{
		{"lost", sandbox.ErrLost},
		{"start", sandbox.ErrStart},
		{"unsupported", sandbox.ErrUnsupported},
		{"unavailable", sandbox.ErrUnavailable},
	}
}

// failureOf describes an error. One that is of no kind says nothing about what
// has run, so it counts as lost.
func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	var gaps *sandbox.GapError
	if errors.As(err, &gaps) {
		return &failure{Kind: "gaps", Text: err.Error(), Gaps: gaps.Gaps}
	}
	for _, k := range kinds() {
		if errors.Is(err, k.err) {
			return &failure{Kind: k.word, Text: err.Error()}
		}
	}
	return &failure{Kind: "lost", Text: err.Error()}
}

// remoteError is an error that a helper reported.
type remoteError struct {
	text string
	kind error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.kind }

// err is the error that a failure describes.
func (f *failure) err(backend string) error {
	if f == nil {
		return nil
	}
	if f.Kind == "gaps" && len(f.Gaps) > 0 {
		return &sandbox.GapError{Backend: backend, Gaps: f.Gaps}
	}
	for _, k := range kinds() {
		if k.word == f.Kind {
			return &remoteError{f.Text, k.err}
		}
	}
	return &remoteError{f.Text + " (the helper calls this " + fmt.Sprintf("%q", f.Kind) + ")", sandbox.ErrLost}
}

// text is a string that JSON carries byte by byte: one that is not UTF-8 is an
// object with its bytes in base64.
type text string

type encoded struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON writes a string or an object.
func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(encoded{[]byte(t)})
}

// UnmarshalJSON reads either.
func (t *text) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var e encoded
		err := json.Unmarshal(data, &e)
		*t = text(e.Base64)
		return err
	}
	return json.Unmarshal(data, (*string)(t))
}
