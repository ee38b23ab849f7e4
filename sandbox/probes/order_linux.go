//go:build amd64 || arm64

package probes

import (
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/protect"
)

// plainly is the backend name of a control: the command is started as it is.
const plainly = ""

// order is what a supervisor process gets on descriptor 3, as one line of JSON.
type order struct {
	Backend string
	Without []string
	Profile sandbox.Profile
	// Workspace replaces that of the profile: as bytes, because JSON has no
	// text that is not UTF-8.
	Workspace []byte
	Argv      []string
	Env       []string
	Limit     time.Duration
	Grace     time.Duration
	// Leak are files that the supervisor opens, without close-on-exec, before
	// it runs the command: what a careless program would hand down.
	Leak []string
	// Protection says what of the workspace stays as it is, and what is taken back.
	Protection protect.Options
	// Hold says that the supervisor waits for a second line between opening
	// the session and running the command.
	Hold bool
	// Listen says that a signal to the supervisor may be on its way at the end.
	Listen bool
}

// answer is what the supervisor writes to descriptor 4: one when the session is
// open, and one at the end.
type answer struct {
	Plan    sandbox.Plan
	Result  sandbox.Result
	Err     string // "" when it could do as told
	Nothing bool   // the error says that nothing ran
	Signals int64  // that the supervisor itself got
}
