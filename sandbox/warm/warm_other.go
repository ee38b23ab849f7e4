//go:build !linux

// Package warm keeps sandboxes between commands, on Linux.
package warm

import (
	"context"
	"os"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// Backend is the other backend as it is: nothing is kept here.
type Backend struct {
	sandbox.Starter
	Signals <-chan os.Signal
}

// New keeps nothing.
func New(b sandbox.Starter, _ string, _ time.Duration) *Backend {
	return &Backend{Starter: b}
}

// Record is a sandbox that is kept.
type Record struct {
	Key, Backend string
	Profile      sandbox.Profile
	Warm         sandbox.Warm
	Started      time.Time
}

// List is empty.
func List(string) ([]Record, error) { return nil, nil }

// Stop has nothing to stop.
func Stop(context.Context, sandbox.Starter, Record) error { return sandbox.ErrUnsupported }
