// Package docker runs each command in a container of its own, made by Docker or
// by Podman through the API that both have. The first process of the container
// is sbx's (package pid1): it gets the command's streams as descriptors, so the
// engine must be of this machine.
package docker

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/container"
)

// The engines, which are the names of the backends too.
const (
	Docker = "docker"
	Podman = "podman"
)

// Options say how the engine is reached. The zero value finds everything.
type Options struct {
	// Init is the program of cmd/sbx-init for this machine. Empty: beside the
	// program that runs, or in ../libexec/sbx of it.
	Init string
	// Getenv looks up variables such as DOCKER_HOST. nil: os.Getenv.
	Getenv func(string) string
	// Progress gets a line, or on a terminal a bar, while an image is fetched.
	// nil: nowhere.
	Progress io.Writer
	// Warm keeps one container for all commands of a session. It ends with the
	// session, or with this process. Commands of one session see each other's
	// processes then.
	Warm bool
}

// Backend is one engine. It is safe for concurrent use.
type Backend struct {
	engine  string
	options Options
}

// New returns the backend of an engine, Docker or Podman. Nothing is started or
// connected to.
func New(engine string, o Options) *Backend {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	return &Backend{engine: engine, options: o}
}

// Name returns "docker" or "podman".
func (b *Backend) Name() string { return b.engine }

// unavailable is an error of the engine, in one sentence.
func (b *Backend) unavailable(doing string, err error) error {
	return container.Unavailable(b.engine, doing, err)
}

// notStarted is an error after which nothing has run.
func (b *Backend) notStarted(doing string, err error) error {
	return container.NotStarted(b.engine, doing, err)
}

// Probe asks the engine what it can hold, and runs nothing.
func (b *Backend) Probe(ctx context.Context) (sandbox.Capabilities, error) {
	return b.probe(ctx)
}

// Open checks the profile against the engine.
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
