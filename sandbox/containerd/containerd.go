// Package containerd runs each command in a container of its own, made by a
// containerd of this machine through its own client. It needs no service of
// containerd's newer than version 1.6. What the container is, the OCI
// specification, is made here; what a container means for a command is package
// container.
package containerd

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// Name of the backend.
const Name = "containerd"

// Options say how the engine is reached. The zero value finds everything.
type Options struct {
	// Init is the program of cmd/sbx-init for this machine. Empty: beside the
	// program that runs, or in ../libexec/sbx of it.
	Init string
	// Getenv looks up variables such as CONTAINERD_ADDRESS. nil: os.Getenv.
	Getenv func(string) string
	// Progress gets a line, or on a terminal a bar, while an image is fetched.
	// nil: nowhere.
	Progress io.Writer
	// Warm keeps one container for all commands of a session. It ends with the
	// session, or with this process. Commands of one session see each other's
	// processes then.
	Warm bool
}

// Backend is a containerd. It is safe for concurrent use.
type Backend struct{ options Options }

// New returns the backend. Nothing is started or connected to.
func New(o Options) *Backend {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	return &Backend{o}
}

// Name returns "containerd".
func (b *Backend) Name() string { return Name }

// Probe asks containerd for its version, and runs nothing.
func (b *Backend) Probe(ctx context.Context) (sandbox.Capabilities, error) { return b.probe(ctx) }

// Open checks the profile and connects.
func (b *Backend) Open(ctx context.Context, p sandbox.Profile) (sandbox.Session, error) {
	return b.open(ctx, p)
}

// Start makes a container that outlives this process: see sandbox.Starter.
func (b *Backend) Start(ctx context.Context, p sandbox.Profile, dir string, idle time.Duration) (sandbox.Warm, error) {
	return b.start(ctx, p, dir, idle)
}

// Stop ends a container that was started.
func (b *Backend) Stop(ctx context.Context, p sandbox.Profile, w sandbox.Warm) error {
	return b.stop(ctx, p, w)
}
