package containerd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/containerd/containerd/v2/client"
	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/container"
)

// Where containerd is, when nothing says so: as for its command line.
const (
	defaultAddress     = "/run/containerd/containerd.sock"
	defaultNamespace   = "default"
	defaultSnapshotter = "overlayfs"
)

// answerTime bounds the first answer.
const answerTime = 10 * time.Second

// engine is a connection to a containerd.
type engine struct {
	*client.Client
	backend     *Backend
	path        string // of the socket
	snapshotter string
	noPull      bool

	mu   sync.Mutex
	busy map[string]*sync.Mutex // one thing at a time is done to a container
	made map[string]madeOf      // containers that were not started yet
}

// containers says how this backend's are made.
func (b *Backend) containers() container.Options {
	return container.Options{
		Name: Name, Init: b.options.Init, Warm: b.options.Warm, Check: check,
		Connect: func(ctx context.Context, p sandbox.Profile) (container.Engine, error) {
			return b.connect(ctx, p.Container)
		},
	}
}

// check refuses what containerd, or its OCI runtime, would.
func check(s container.Spec) error {
	if !container.Offline(s.Profile) {
		if _, err := findPlugins(s.Profile); err != nil {
			return err
		}
	}
	if _, err := reference(container.Image(s.Profile)); err != nil {
		return err
	}
	_, _, err := describe("check", s, nil)
	return err
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

func (b *Backend) probe(ctx context.Context) (sandbox.Capabilities, error) {
	e, err := b.connect(ctx, sandbox.Container{})
	if err != nil {
		return sandbox.Capabilities{}, err
	}
	defer e.Close()
	version, err := e.Version(ctx)
	if err != nil {
		return sandbox.Capabilities{}, unavailable("ask for its version", err)
	}
	c := container.Capabilities(Name, "containerd "+version.Version)
	if _, err := findPlugins(sandbox.Profile{}); err != nil {
		c.Offline = err.Error()
	}
	return c, nil
}

func unavailable(doing string, err error) error { return container.Unavailable(Name, doing, err) }

func notStarted(doing string, err error) error { return container.NotStarted(Name, doing, err) }

// address is the socket, and what named it.
func (b *Backend) address(c sandbox.Container) (path, from string, err error) {
	path, from = defaultAddress, "the default"
	if c.Host != "" {
		path, from = c.Host, "the configuration"
	} else if named := b.options.Getenv("CONTAINERD_ADDRESS"); named != "" {
		path, from = named, "CONTAINERD_ADDRESS"
	}
	path = strings.TrimPrefix(path, "unix://")
	if !strings.HasPrefix(path, "/") {
		return "", "", unavailable("", fmt.Errorf("%s names the engine %q, which is no unix socket of this machine: it would see other files than this one", from, path))
	}
	return path, from, nil
}

// reachable refuses at once what the client would try for long, or would reach
// in vain.
func reachable(path, from string) error {
	switch err := unix.Access(path, unix.W_OK); {
	case err == unix.EACCES:
		return fmt.Errorf("no permission for the socket %s: containerd is for root, unless its configuration names a group ([grpc] gid)", path)
	case !container.IsSocket(path):
		return fmt.Errorf("there is no engine: %s (%s) does not exist; start containerd, or set CONTAINERD_ADDRESS", path, from)
	case rootless(path, os.Geteuid()):
		return fmt.Errorf("the containerd at %s is an ordinary user's, whose containers have neither that user nor limits: the backend podman runs without root", path)
	}
	c, err := net.DialTimeout("unix", path, answerTime)
	if err != nil {
		return fmt.Errorf("there is no engine: nobody listens at %s (%s): %w; start containerd", path, from, errors.Unwrap(err))
	}
	return c.Close()
}

// rootless says whether a socket is that of a containerd which a user other than
// root runs for itself.
func rootless(path string, user int) bool {
	var st unix.Stat_t
	return user != 0 && unix.Stat(path, &st) == nil && int(st.Uid) == user
}

// connect reaches containerd and waits until it answers.
func (b *Backend) connect(ctx context.Context, c sandbox.Container) (*engine, error) {
	path, from, err := b.address(c)
	if err != nil {
		return nil, err
	}
	if err := reachable(path, from); err != nil {
		return nil, unavailable("", err)
	}
	namespace := b.options.Getenv("CONTAINERD_NAMESPACE")
	if namespace == "" {
		namespace = defaultNamespace
	}
	e := &engine{backend: b, path: path, snapshotter: b.options.Getenv("CONTAINERD_SNAPSHOTTER"), noPull: c.NoPull}
	e.busy, e.made = map[string]*sync.Mutex{}, map[string]madeOf{}
	if e.snapshotter == "" {
		e.snapshotter = defaultSnapshotter
	}
	if e.Client, err = client.New(path, client.WithDefaultNamespace(namespace), client.WithTimeout(answerTime)); err != nil {
		return nil, unavailable("use the address "+path, err)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if ok, err := e.IsServing(ctx); err != nil || !ok {
		e.Close()
		return nil, unavailable("", fmt.Errorf("the engine at %s does not answer as containerd does: %w", path, silence(err, ctx.Err())))
	}
	return e, nil
}

// silence says why there is no answer. What the transport says of another protocol is
// long.
func silence(err, late error) error {
	err = errors.Join(err, late)
	if err == nil {
		return errors.New("it does not serve")
	}
	text := strings.ReplaceAll(err.Error(), "\n", ": ")
	if strings.Contains(text, "server preface") {
		text = "something else listens there"
	}
	return errors.New(text)
}

// Close ends the connection.
func (e *engine) Close() { _ = e.Client.Close() }

// lock waits until nothing else is done to a container.
func (e *engine) lock(id string) (unlock func()) {
	e.mu.Lock()
	m := e.busy[id]
	if m == nil {
		m = &sync.Mutex{}
		e.busy[id] = m
	}
	e.mu.Unlock()
	m.Lock()
	return m.Unlock
}
