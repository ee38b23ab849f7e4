package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	api "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/container"
)

// containers says how this backend's are made.
func (b *Backend) containers() container.Options {
	return container.Options{
		Name: b.engine, Init: b.options.Init, Warm: b.options.Warm, Check: b.check,
		Connect: func(ctx context.Context, p sandbox.Profile) (container.Engine, error) {
			e, err := b.connect(ctx, p)
			if err != nil {
				return nil, err
			}
			if e.nature == rootlessDocker && p.Identity != nil {
				e.Close()
				return nil, b.unavailable("", errors.New("a rootless engine cannot run a command as another user"))
			}
			return e, nil
		},
	}
}

// check refuses what the engine would.
func (b *Backend) check(s container.Spec) error {
	// Podman puts mounts into a list with commas, in which such a name could
	// ask for another one.
	if b.engine == Podman {
		for _, path := range container.Paths(s.Profile) {
			if strings.ContainsAny(path, ",\"\r\n") {
				return fmt.Errorf("podman cannot mount %q: a comma, a quote or a line break in a name means something to it; rename it, or use docker", path)
			}
		}
	}
	_, err := b.makeBody(s, machine)
	return err
}

func (b *Backend) probe(ctx context.Context) (sandbox.Capabilities, error) {
	e, err := b.connect(ctx, sandbox.Profile{})
	if err != nil {
		return sandbox.Capabilities{}, err
	}
	defer e.Close()
	version, err := e.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return sandbox.Capabilities{}, b.unavailable("ask for its version", err)
	}
	if version.Os != "linux" {
		return sandbox.Capabilities{}, b.unavailable("", fmt.Errorf("its containers are of %s, not Linux", version.Os))
	}
	return container.Capabilities(b.engine, fmt.Sprintf("%s %s (API %s)", b.engine, version.Version, e.ClientVersion())), nil
}

func (b *Backend) open(ctx context.Context, p sandbox.Profile) (sandbox.Session, error) {
	return container.Open(ctx, b.containers(), p)
}

func (b *Backend) start(ctx context.Context, p sandbox.Profile, dir string, idle time.Duration) (sandbox.Warm, error) {
	return container.Start(ctx, b.containers(), p, dir, idle)
}

func (b *Backend) stop(ctx context.Context, p sandbox.Profile, w sandbox.Warm) error {
	return container.Stop(ctx, b.containers(), p, w)
}

// Describe says what would be asked of the engine.
func (e *engine) Describe(s container.Spec) (string, error) {
	made, err := e.backend.makeBody(s, e.nature)
	h := made.host
	return fmt.Sprintf("create a container of %s as user %s, network %s, %d MiB, %g processors, %d processes", made.config.Image, made.config.User,
		h.NetworkMode, h.Memory>>20, float64(h.NanoCPUs)/1e9, *h.PidsLimit), err
}

// Create makes the container, after fetching the image if need be.
func (e *engine) Create(ctx context.Context, s container.Spec) (string, []sandbox.Gap, error) {
	made, err := e.backend.makeBody(s, e.nature)
	if err != nil {
		return "", nil, err
	}
	if made.config.NetworkDisabled {
		if _, err := s.WriteHosts(); err != nil {
			return "", nil, e.backend.notStarted("", err) // the disk is this machine's
		}
	}
	options := client.ContainerCreateOptions{Config: &made.config, HostConfig: &made.host}
	done, err := e.ContainerCreate(ctx, options)
	if cerrdefs.IsNotFound(err) {
		if err := e.backend.pull(ctx, e, made.config.Image, e.noPull); err != nil {
			return "", nil, err
		}
		done, err = e.ContainerCreate(ctx, options)
	}
	return done.ID, limitGaps(done.Warnings), e.native(err)
}

// Start starts it.
func (e *engine) Start(ctx context.Context, id string) error {
	_, err := e.ContainerStart(ctx, id, client.ContainerStartOptions{})
	return e.native(err)
}

// Wait waits for its end.
func (e *engine) Wait(ctx context.Context, id string) string {
	wait := e.ContainerWait(ctx, id, client.ContainerWaitOptions{Condition: "not-running"})
	select {
	case r := <-wait.Result:
		return container.EndedWith(r.StatusCode)
	case err := <-wait.Error:
		return e.native(err).Error()
	}
}

// Ended has nothing to do: the engine removes a container when it has ended.
func (e *engine) Ended(string) {}

// Remove removes it, whatever it does. One that is gone already is no error.
func (e *engine) Remove(ctx context.Context, id string) error {
	_, err := e.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if cerrdefs.IsNotFound(err) || cerrdefs.IsConflict(err) { // conflict: it is being removed
		return nil
	}
	return err
}

// Abandoned lists the containers of this user whose makers are gone.
func (e *engine) Abandoned(ctx context.Context) ([]string, error) {
	filters := make(client.Filters).Add("label", fmt.Sprintf("%s=%d", container.LabelUser, os.Geteuid()))
	if e.backend.engine == Podman {
		// It looks long at each that it lists. One that runs ends by itself.
		filters = filters.Add("status", "created", "initialized", "exited", "stopped", "paused")
	}
	list, err := e.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filters})
	if err != nil {
		return nil, err
	}
	var left []string
	for _, c := range list.Items {
		if container.Abandoned(c.Labels, c.State == api.StateRunning) {
			left = append(left, c.ID)
		}
	}
	return left, nil
}

// Sweep lists, or removes, the containers that killed processes of the same user
// left: see sandbox.Sweeper.
func (b *Backend) Sweep(ctx context.Context, remove bool) ([]string, error) {
	e, err := b.connect(ctx, sandbox.Profile{})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	return container.Sweep(ctx, e, remove)
}

// Architecture asks what the image is for.
func (e *engine) Architecture(ctx context.Context, image string) string {
	found, err := e.ImageInspect(ctx, image)
	if err != nil {
		return ""
	}
	return found.Architecture
}
