package containerd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/remotes"
	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/containerd/errdefs"
	"github.com/containerd/log"
	dockerref "github.com/distribution/reference"
	"github.com/opencontainers/image-spec/identity"
	"github.com/sirupsen/logrus"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/container"
)

// image is what a container needs of one.
type image struct {
	client.Image
	name         string
	chain        string // of the snapshot with its files
	env          []string
	architecture string
}

// reference is the full name of an image, as docker and nerdctl complete it.
func reference(name string) (string, error) {
	named, err := dockerref.ParseDockerRef(name)
	if err != nil {
		return "", fmt.Errorf("%q is not the name of an image: containerd knows none by a number alone", name)
	}
	return named.String(), nil
}

// image finds an image, and fetches it if it is not here.
func (e *engine) image(ctx context.Context, name string) (image, error) {
	full, err := reference(name)
	if err != nil {
		return image{}, err
	}
	found, err := e.GetImage(ctx, full)
	if errdefs.IsNotFound(err) {
		found, err = e.pull(ctx, full, name)
	}
	if err != nil {
		return image{}, err
	}
	config, err := found.Spec(ctx)
	if errdefs.IsNotFound(err) {
		return image{}, e.incomplete(ctx, found, name)
	}
	if err != nil {
		return image{}, fmt.Errorf("read the image %s: %w", name, err)
	}
	return image{found, full, identity.ChainID(config.RootFS.DiffIDs).String(), config.Config.Env, config.Architecture}, nil
}

// incomplete says why an image has nothing for this machine.
func (e *engine) incomplete(ctx context.Context, found client.Image, name string) error {
	have, err := images.Platforms(ctx, e.ContentStore(), found.Target())
	if err == nil && len(have) > 0 {
		var list []string
		for _, p := range have {
			list = append(list, p.Architecture)
		}
		return notStarted("", fmt.Errorf("the image %s is for %s, this machine is %s", name, strings.Join(list, ", "), runtime.GOARCH))
	}
	return notStarted("", fmt.Errorf("the image %s is not complete here: fetch it again with `ctr image pull %s`", name, found.Name()))
}

// pull fetches an image and shows how far it is.
func (e *engine) pull(ctx context.Context, full, name string) (client.Image, error) {
	login := container.LoginFor(full, e.backend.options.Getenv)
	absent := func(why error) error {
		return notStarted("", fmt.Errorf("the image %s is not here (%w): fetch it with `ctr image pull %s`%s, or load it with `ctr image import FILE`",
			name, why, full, login.Hint()))
	}
	if e.noPull {
		return nil, absent(errors.New("and is not to be fetched"))
	}
	show := container.NewProgress(e.backend.options.Progress, name)
	done := make(chan struct{})
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		e.watch(ctx, show, done)
	}()
	found, err := e.Pull(ctx, full, client.WithPullUnpack, client.WithPullSnapshotter(e.snapshotter), client.WithResolver(resolver(login)))
	close(done)
	<-shown
	show.End()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s: pull %s: %w: %w", Name, name, context.Cause(ctx), sandbox.ErrStart)
	}
	if err != nil {
		return nil, absent(container.Explain(errors.New(strings.ReplaceAll(err.Error(), "\n", " "))))
	}
	return found, nil
}

// quiet keeps what containerd's client logs off standard error, which is the
// command's. Its errors say the same.
func quiet(ctx context.Context) context.Context {
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	return log.WithLogger(ctx, logrus.NewEntry(logger))
}

// watchPace is the time between two looks at what has come.
const watchPace = 100 * time.Millisecond

// watch shows how much of each layer has come.
func (e *engine) watch(ctx context.Context, show *container.Progress, done <-chan struct{}) {
	for tick := time.NewTicker(watchPace); ; {
		select {
		case <-done:
			tick.Stop()
			return
		case <-tick.C:
		}
		list, err := e.ContentStore().ListStatuses(ctx, "")
		if err != nil {
			continue
		}
		for _, s := range list {
			if strings.HasPrefix(s.Ref, "layer-") {
				show.Layer(s.Ref, s.Offset, s.Total)
			}
		}
	}
}

// resolver speaks to registries: without TLS on the loopback, as all engines do.
func resolver(l container.Login) remotes.Resolver {
	login := func(string) (string, string, error) {
		if l.Token != "" {
			return "", l.Token, nil
		}
		return l.Name, l.Password, nil
	}
	return docker.NewResolver(docker.ResolverOptions{
		Hosts: docker.ConfigureDefaultRegistries(
			docker.WithPlainHTTP(docker.MatchLocalhost),
			docker.WithAuthorizer(docker.NewDockerAuthorizer(docker.WithAuthCreds(login))),
		),
	})
}
