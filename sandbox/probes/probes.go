// Package probes is the conformance suite: what a sandbox must stop and what
// must go on working, each as one row of data. It runs unchanged on every
// backend, in the tests of a backend and in `sbx probe` on a user's machine.
//
// An exit status proves nothing. A row is decided from three observations: the
// same act without a sandbox must succeed (the control), the act inside, and
// what the host sees afterwards (the canary). What then is open must be a gap
// that the backend names, otherwise the row is not held.
package probes

import (
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// Want says what a row expects.
type Want uint8

// The zero value denies.
const (
	Blocked Want = iota // the act must have no effect outside
	Works               // the act must succeed: a sandbox that breaks work is switched off
)

// Canary says what decides whether an act got through.
type Canary uint8

// The canaries.
const (
	Host   Canary = iota // a change outside: files, listeners, the victim, shared memory, terminals
	Secret               // a secret text in the output
	Exit                 // the system call succeeded, and there is nothing outside to look at
	Caller               // sbx itself got a signal
)

// Needs lists what a row cannot be tried without.
type Needs struct {
	Root     bool     // the host refuses the act to others anyway
	Programs []string // found on PATH
	Visible  bool     // the room must not lie in a temp directory
	SameHost bool     // the command sees this host's files and network, see Capabilities.Apart
}

// Setup says how the session of a row differs from the usual one: network off,
// no unix sockets, default controls.
type Setup struct {
	Online bool // network on
	// Rules is the network as a list of rules of package netrules, "allow:a,b";
	// empty: none. $NAME in them is replaced as in an act.
	Rules  string
	Unix   bool // unix sockets allowed
	Stdin  string
	Limit  time.Duration // wall time
	Limits sandbox.Limits
	Nobody bool // under an identity that is not the caller's (root only)
}

// Row is one probe. In Act, ControlAct and Shell, $NAME is replaced by or set
// to a place of the room, see room.vars.
type Row struct {
	ID    string
	Group string
	Try   string // what it tries, in one sentence
	Want  Want
	// Controls: the first is the one that is tested. A gap of any of them
	// explains why the row is open.
	Controls []sandbox.Control
	Canary   Canary

	// Exactly one of these says how.
	Act       []string // name of an act of the probe program, and arguments
	Shell     string   // text for sh
	Procedure []string // name of a procedure of the runner, and arguments
	Beyond    string   // not for a backend: why it is not tried here

	ControlAct []string // instead of Act where the act itself would harm the host
	NoControl  string   // why there is none
	Promises   bool     // only for a backend that promises anything

	Needs Needs
	Setup Setup
}

// Status is the judgement on a row.
type Status string

// The judgements.
const (
	NotHeld       Status = "NOT HELD"
	Held          Status = "held"
	GapNamed      Status = "gap named"
	NotApplicable Status = "not applicable"
	NotTried      Status = "could not be tried"
)

// Outcome is what was observed for a row.
type Outcome struct {
	ID       string            `json:"id"`
	Group    string            `json:"group"`
	Try      string            `json:"try"`
	Controls []sandbox.Control `json:"controls,omitempty"`
	Want     string            `json:"want"` // "blocked" or "works"
	Status   Status            `json:"status"`
	Control  string            `json:"control,omitempty"` // what happened without a sandbox
	Observed string            `json:"observed,omitempty"`
	Why      string            `json:"why,omitempty"`
	Gap      sandbox.Control   `json:"gap,omitempty"`     // the gap that explains it
	Refused  bool              `json:"refused,omitempty"` // inside, the backend started nothing
}

// Report is one run of the suite.
type Report struct {
	Backend  string            `json:"backend"`
	Tier     string            `json:"tier,omitempty"`
	Version  string            `json:"version,omitempty"`
	User     string            `json:"user"` // "root" or "user"
	Mode     string            `json:"mode"` // "command": as sbx exec runs it; "library": as an embedding program
	Kernel   string            `json:"kernel,omitempty"`
	Enforced []sandbox.Control `json:"enforced,omitempty"` // as the plan of the usual session promises
	Gaps     []sandbox.Gap     `json:"gaps,omitempty"`
	Rooms    []string          `json:"rooms"` // parts of the names that the run made on the host
	Counts   map[Status]int    `json:"counts"`
	Outcomes []Outcome         `json:"outcomes"`
}

// Failed reports whether something is open that no gap names.
func (r Report) Failed() bool { return r.Counts[NotHeld] > 0 }

// Options choose what is run and how.
type Options struct {
	// Helper is the command line of a program that calls Main: sbx itself, or
	// a test binary. It must be one static file, which is copied into the
	// workspace.
	Helper []string
	// Exec is the command line of `sbx exec`; rows about the command line
	// cannot be tried without it.
	Exec []string
	// Dir is where the temporary tree is made; empty: a place that the backend
	// has no reason to cover, see Base.
	Dir string
	// Only lists row identifiers; a prefix of digits and letters means all rows
	// that begin with it. Empty: all.
	Only []string
	// Library runs commands as an embedding program does: without a supervisor.
	Library bool
	// Container goes into every profile, for backends that make containers.
	Container sandbox.Container
	// Environ is what sbx itself is started with, beside PATH and HOME, to find
	// what a backend needs. The command does not get it.
	Environ []string
	// Without names layers that the backend leaves out. A helper that is built
	// for it passes the names to its backend: the suite must fail then.
	Without []string
	// Proxy is the path of sbx-proxy; rows about rules cannot be tried without it.
	Proxy string
	// Parallel is how many rows are tried at a time, each with a tree of its own; 0
	// is one. Rows about limits are tried alone, after the others.
	Parallel int
	// Progress, when it is set, is called after each row, in their order.
	Progress func(Outcome)
}
