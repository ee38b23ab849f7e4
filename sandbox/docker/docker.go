// Package docker runs each command in a container of its own, made by Docker or
// by Podman through the API that both have. The first process of the container
// is sbx's (package pid1): it gets the command's streams as descriptors, so the
// engine must be of this machine.
package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sbx-run/sbx/sandbox"
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
	return fmt.Errorf("%s: %s: %w", b.engine, sentence(doing, err), sandbox.ErrUnavailable)
}

// notStarted is an error after which nothing has run.
func (b *Backend) notStarted(doing string, err error) error {
	return fmt.Errorf("%s: %s: %w", b.engine, sentence(doing, err), sandbox.ErrStart)
}

func sentence(doing string, err error) string {
	if doing == "" {
		return err.Error()
	}
	return doing + ": " + err.Error()
}

// checkProfile refuses what no container can be made for.
func (b *Backend) checkProfile(p sandbox.Profile) error {
	if p.Tier+p.MinTier != "" {
		return fmt.Errorf("tier %q: the backend %s has no tiers: %w", p.MinTier+p.Tier, b.engine, sandbox.ErrUnavailable)
	}
	for _, path := range slices.Concat([]string{p.Workspace, p.Private.Temp, p.Private.Cache, p.Home}, p.Write, p.Read, p.Hide, p.Protect) {
		if !utf8.ValidString(path) {
			return b.unavailable("", fmt.Errorf("the name %q is not UTF-8, and the engine takes no other", path))
		}
		// Podman puts mounts into a list with commas, in which such a name could
		// ask for another one.
		if b.engine == Podman && strings.ContainsAny(path, ",\"\r\n") {
			return b.unavailable("", fmt.Errorf("podman cannot mount %q: a comma, a quote or a line break in a name means something to it; rename it, or use docker", path))
		}
	}
	if p.Container.CPUs < 0 || p.Container.CPUs > 1<<16 {
		return b.unavailable("", errors.New("the number of processors must be positive"))
	}
	return nil
}

// Probe asks the engine what it can hold, and runs nothing.
func (b *Backend) Probe(ctx context.Context) (sandbox.Capabilities, error) {
	return b.probe(ctx)
}

// Open checks the profile against the engine.
func (b *Backend) Open(ctx context.Context, p sandbox.Profile) (sandbox.Session, error) {
	if err := b.checkProfile(p); err != nil {
		return nil, err
	}
	return b.open(ctx, p)
}

// Start makes a container that outlives this process: see sandbox.Starter.
func (b *Backend) Start(ctx context.Context, p sandbox.Profile, dir string, idle time.Duration) (sandbox.Warm, error) {
	if err := b.checkProfile(p); err != nil {
		return sandbox.Warm{}, err
	}
	return b.start(ctx, p, dir, idle)
}

// Stop ends a container that was started.
func (b *Backend) Stop(ctx context.Context, p sandbox.Profile, w sandbox.Warm) error {
	return b.stop(ctx, p, w)
}
