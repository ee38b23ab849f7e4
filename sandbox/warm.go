package sandbox

import (
	"context"
	"encoding/json"
	"time"
)

// Starter is a Backend that can keep a sandbox between commands although the
// process that started it has ended.
type Starter interface {
	Backend
	// Start makes a sandbox that takes commands over a socket in dir, a directory
	// that only the caller can enter. It ends after so long without a command.
	// As with Open, a missing control that is required refuses.
	Start(ctx context.Context, p Profile, dir string, idle time.Duration) (Warm, error)
	// Stop ends one, with all that runs in it. One that has ended is no error.
	Stop(ctx context.Context, p Profile, w Warm) error
}

// Warm is a sandbox that was started.
type Warm struct {
	ID string `json:"id"` // the backend's name for it
	// Setting is what its first process is told with each command: for the
	// package that speaks to it.
	Setting  json.RawMessage `json:"setting"`
	Plan     Plan            `json:"plan"` // of any command; Argv, Dir and Env are empty
	Enforced []Control       `json:"enforced"`
	Gaps     []Gap           `json:"gaps,omitempty"`
}
