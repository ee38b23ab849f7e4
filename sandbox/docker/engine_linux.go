package docker

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/container"
	"github.com/sbx-run/sbx/sandbox/pid1"
	"github.com/sbx-run/sbx/sandbox/proc"
)

// nature is what an engine is like, as far as it changes what we ask for.
type nature uint8

const (
	machine        nature = iota // runs as root
	rootlessDocker               // runs as the caller, who is its user 0
	rootlessPodman               // runs as the caller, and can keep the caller's number
)

// engine is a connection to an engine and, for Podman without a socket, the
// service behind it.
type engine struct {
	*client.Client
	backend *Backend
	at      endpoint
	nature  nature
	service *service
	noPull  bool
}

// connect reaches the engine for commands of a profile. It does not answer yet:
// the first request finds out which version it speaks.
func (b *Backend) connect(ctx context.Context, p sandbox.Profile) (*engine, error) {
	c := p.Container
	at, err := b.endpoint(c)
	if err != nil {
		return nil, err
	}
	if err := b.checkLocal(at, c); err != nil {
		return nil, err
	}
	if b.engine == Podman && at.host != "" && c.Runtime != "" {
		return nil, b.unavailable("", fmt.Errorf("the service at %s (%s) has an OCI runtime of its own choice, and takes no other by name: "+
			"start it as `podman --runtime %s system service`, or let sbx start one", at.host, at.from, c.Runtime))
	}
	e := &engine{backend: b, at: at, nature: b.nature(at), noPull: c.NoPull}
	if at.host == "" {
		if e.nature == rootlessPodman {
			if err := hasNumbers(); err != nil {
				return nil, b.unavailable("", err)
			}
		}
		if e.service, err = b.startService(ctx, p); err != nil {
			return nil, err
		}
		e.at.host = "unix://" + e.service.socket
	}
	options := []client.Opt{client.WithHost(e.at.host), client.WithUserAgent("sbx")}
	if dir := at.cert; dir != "" {
		options = append([]client.Opt{client.WithTLSClientConfig(dir+"/ca.pem", dir+"/cert.pem", dir+"/key.pem")}, options...)
	}
	if e.Client, err = client.New(options...); err != nil {
		e.Close()
		return nil, b.unavailable(fmt.Sprintf("use the address %q of %s", e.at.host, at.from), err)
	}
	if _, err := e.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		e.Close()
		return nil, b.unreachable(e.at, err)
	}
	return e, nil
}

// Close ends the connection.
func (e *engine) Close() {
	if e.Client != nil {
		_ = e.Client.Close()
	}
	if e.service != nil {
		e.service.end()
	}
}

// native is an error of the engine without the words of its client. One that says
// that the engine is going away says so.
func (e *engine) native(err error) error {
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return err
	case client.IsErrConnectionFailed(err), strings.Contains(err.Error(), "client connection is closing"):
		return fmt.Errorf("the engine at %s was stopped meanwhile", cmp.Or(e.at.path(), e.at.host))
	}
	return short(err)
}

// unreachable says in one sentence why an engine does not answer and what to do.
func (b *Backend) unreachable(at endpoint, err error) error {
	path := at.path()
	switch {
	case at.from == ownService:
		return b.unavailable("", fmt.Errorf("the %s that sbx started was ended by somebody", ownService))
	case path == "":
		return b.unavailable(fmt.Sprintf("connect to %s (%s)", at.host, at.from), err)
	case errors.Is(err, syscall.EACCES) || unix.Access(path, unix.W_OK) == unix.EACCES:
		return b.unavailable("", fmt.Errorf("no permission for the socket %s: join the group that owns it, or use a rootless engine", path))
	case !container.IsSocket(path):
		return b.unavailable("", fmt.Errorf("there is no engine: %s (%s) does not exist; %s, or set %s", path, at.from, b.startAdvice(), b.hostVariable()))
	}
	switch {
	case cerrdefs.IsInvalidArgument(err): // of the negotiation
		return b.unavailable("", fmt.Errorf("the engine at %s is too old: %w", path, err))
	case client.IsErrConnectionFailed(err):
		err = errors.New("nobody listens, " + b.startAdvice())
	}
	return b.unavailable("", fmt.Errorf("the engine at %s does not answer: %w", path, short(err)))
}

// startAdvice says how there is an engine again.
func (b *Backend) startAdvice() string {
	if b.engine == Podman { // there is no daemon
		return "start `podman system service` there"
	}
	return "start " + b.engine
}

func (b *Backend) hostVariable() string {
	if b.engine == Podman {
		return "CONTAINER_HOST"
	}
	return "DOCKER_HOST"
}

// nature tells whose engine it is by the owner of its socket.
func (b *Backend) nature(at endpoint) nature {
	own := at.host == "" && os.Geteuid() != 0
	var st unix.Stat_t
	if path := at.path(); path != "" && unix.Stat(path, &st) == nil {
		own = st.Uid != 0 && int(st.Uid) == os.Geteuid()
	}
	switch {
	case !own:
		return machine
	case b.engine == Podman:
		return rootlessPodman
	}
	return rootlessDocker
}

// ownService names the endpoint of a service of our own.
const ownService = "podman system service"

// service is a podman service of our own. It ends with us.
type service struct {
	command *exec.Cmd
	dir     string
	socket  string
	said    bytes.Buffer
}

// startService starts `podman system service` on a private socket.
func (b *Backend) startService(ctx context.Context, p sandbox.Profile) (*service, error) {
	program, err := proc.Tool("podman", b.options.Getenv("PATH"), p)
	if err != nil {
		return nil, b.unavailable("", err)
	}
	dir, err := pid1.OwnDir()
	if err != nil {
		return nil, b.unavailable("", err)
	}
	s := &service{dir: dir, socket: filepath.Join(dir, "socket")}
	// No time limit of its own: it gets SIGTERM from us, and from the kernel when
	// we are gone. That is, when the thread is that started it.
	args := []string{"system", "service", "--time=0", "unix://" + s.socket}
	if runtime := p.Container.Runtime; runtime != "" { // what a request says about it, Podman does not hear
		args = append([]string{"--runtime=" + runtime}, args...)
	}
	s.command = exec.Command(program, args...)
	s.command.Stderr = &s.said
	// Set but empty, it makes podman look for another machine.
	s.command.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "CONTAINER_HOST=") })
	s.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	started, ended := make(chan error), make(chan error, 1)
	go func() {
		goruntime.LockOSThread()
		defer goruntime.UnlockOSThread()
		err := s.command.Start()
		started <- err
		if err == nil {
			ended <- s.command.Wait()
		}
	}()
	if err := <-started; err != nil {
		_ = os.RemoveAll(dir)
		return nil, b.unavailable("start "+ownService, err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err == nil {
			err = unix.Connect(fd, &unix.SockaddrUnix{Name: s.socket})
			_ = unix.Close(fd)
			if err == nil {
				return s, nil
			}
		}
		select {
		case how := <-ended:
			_ = os.RemoveAll(dir)
			return nil, b.unavailable("start "+ownService, errors.New(cmp.Or(lastLine(s.said.String()), fmt.Sprint("it ended: ", how))))
		case <-ctx.Done():
			s.end()
			return nil, ctx.Err()
		default:
		}
		if time.Now().After(deadline) {
			s.end()
			return nil, b.unavailable("start "+ownService, errors.New("it does not listen after 20 s"))
		}
	}
}

func (s *service) end() {
	_ = syscall.Kill(-s.command.Process.Pid, syscall.SIGTERM)
	_ = os.RemoveAll(s.dir)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
