package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/pid1"
)

// connectTime bounds the time between the engine's word that a container runs
// and the first sign of its first process.
const connectTime = 30 * time.Second

func (b *Backend) probe(ctx context.Context) (sandbox.Capabilities, error) {
	e, err := b.connect(ctx, sandbox.Container{})
	if err != nil {
		return sandbox.Capabilities{}, err
	}
	defer e.close()
	version, err := e.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return sandbox.Capabilities{}, b.unavailable("ask for its version", err)
	}
	if version.Os != "linux" {
		return sandbox.Capabilities{}, b.unavailable("", fmt.Errorf("its containers are of %s, not Linux", version.Os))
	}
	d := decide(sandbox.Profile{}, layout{})
	return sandbox.Capabilities{
		Backend: b.engine, Apart: true, Version: fmt.Sprintf("%s %s (API %s)", b.engine, version.Version, e.ClientVersion()),
		Enforced: d.enforced, Gaps: d.gaps,
	}, nil
}

// session makes a container for each command.
type session struct {
	backend *Backend
	profile sandbox.Profile
	engine  *engine
	layout  layout
	places  []pid1.Place // what the layout shares, as it was when the session was opened
	user    user
	init    string

	warm warmth
	work sync.WaitGroup // what goes on after a command was answered for

	mu       sync.Mutex
	decision decision
}

func (b *Backend) open(ctx context.Context, p sandbox.Profile) (sandbox.Session, error) {
	s := &session{backend: b, profile: p, user: userOf(p)}
	s.layout = plan(p, host{})
	s.decision = decide(p, s.layout)
	var err error
	if s.decision.gaps, err = p.Judge(b.engine, s.decision.gaps); err != nil {
		return nil, err
	}
	if s.init, err = b.initProgram(); err != nil {
		return nil, err
	}
	for _, bind := range s.layout.binds {
		if bind.from != "" {
			continue
		}
		place, err := pid1.PlaceAt(bind.path)
		if err != nil {
			return nil, b.unavailable("share with the container", err)
		}
		s.places = append(s.places, place)
	}
	if image := cmp.Or(p.Container.Image, sandbox.DefaultImage); !isImage(image) {
		return nil, b.unavailable("", fmt.Errorf("%q is not the name of an image", image))
	}
	// What the engine would refuse later with words of its own.
	if _, err := b.makeBody(p, s.layout, s.user, machine, kindRun, "/", s.init); err != nil {
		return nil, b.unavailable("", err)
	}
	if s.engine, err = b.connect(ctx, p.Container); err != nil {
		return nil, err
	}
	if s.engine.nature == rootlessDocker && p.Identity != nil {
		s.engine.close()
		return nil, b.unavailable("", errors.New("a rootless engine cannot run a command as another user"))
	}
	return s, nil
}

// initProgram finds cmd/sbx-init.
func (b *Backend) initProgram() (string, error) {
	places := []string{b.options.Init}
	if b.options.Init == "" {
		self, err := os.Executable()
		if err == nil {
			self, err = filepath.EvalSymlinks(self)
		}
		if err != nil {
			return "", b.unavailable("find sbx-init", err)
		}
		dir := filepath.Dir(self)
		places = []string{filepath.Join(dir, "sbx-init"), filepath.Join(dir, "..", "libexec", "sbx", "sbx-init")}
	}
	for _, at := range places {
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() {
			if err := onlyOurs(at, filepath.Dir(at)); err != nil {
				return "", b.unavailable("use sbx-init", err)
			}
			return at, nil
		}
	}
	return "", b.unavailable("", fmt.Errorf("there is no sbx-init at %s: install it beside sbx", strings.Join(places, " or ")))
}

// Close ends the connection to the engine.
func (s *session) Close() error {
	s.warm.end()
	s.work.Wait()
	s.engine.close()
	return nil
}

func (s *session) dir(c sandbox.Command) string { return cmp.Or(c.Dir, s.profile.Workspace) }

// Plan says what Run would do.
func (s *session) Plan(c sandbox.Command) (sandbox.Plan, error) {
	p := s.profile
	made, err := s.backend.makeBody(p, s.layout, s.user, s.engine.nature, kindRun, "", "")
	if err != nil {
		return sandbox.Plan{}, err
	}
	h := made.host
	plan := sandbox.Plan{
		Backend: s.backend.engine, Argv: slices.Clone(c.Argv), Dir: s.dir(c), Network: p.NetworkSetting(),
		Enforced: slices.Clone(s.decision.enforced), Gaps: slices.Clone(s.decision.gaps),
	}
	for _, entry := range c.Env {
		name, _, _ := strings.Cut(entry, "=")
		plan.Env = append(plan.Env, name)
	}
	for _, b := range s.layout.binds {
		if b.readOnly && slices.Contains(p.Protect, b.path) {
			plan.Protect = append(plan.Protect, b.path)
		}
		if !b.readOnly {
			plan.Write = append(plan.Write, b.path)
		}
	}
	plan.Hide = slices.Clone(s.layout.covered)
	plan.Steps = append(
		[]string{
			fmt.Sprintf("create a container of %s as user %s, network %s, %d MiB, %g processors, %d processes", made.config.Image, made.config.User,
				h.NetworkMode, h.Memory>>20, float64(h.NanoCPUs)/1e9, *h.PidsLimit),
			"no capabilities, no new privileges, read-only root",
		},
		s.layout.steps()...,
	)
	plan.Steps = append(plan.Steps, "start sbx-init as its first process", "load system call filter "+strings.Join(s.decision.filters, "+"), "execute")
	return plan, nil
}

// Run makes a container, runs the command in it and leaves nothing.
func (s *session) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	result, err := s.run(ctx, c)
	result.Backend = s.backend.engine
	result.Identity = s.profile.Identity
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		result.Enforced, result.Gaps = slices.Clone(s.decision.enforced), slices.Clone(s.decision.gaps)
	}
	return result, err
}

func (s *session) run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	if len(c.Argv) == 0 {
		return notStarted(), fmt.Errorf("start command: no arguments: %w", sandbox.ErrStart)
	}
	// The listener of a proxy is one for each container.
	if s.backend.options.Warm && s.profile.Network != sandbox.NetworkRules {
		return s.runWarm(ctx, c)
	}
	box, err := s.box(ctx, c.Orphaned, kindRun)
	if err != nil {
		return notStarted(), err
	}
	s.work.Go(s.reap)
	var result sandbox.Result
	if s.ruled() {
		result, err = runRuled(ctx, box.conn, s.profile.Egress, c, s.setting())
	} else {
		result, err = box.conn.Run(ctx, c, s.setting())
	}
	_ = box.conn.Close() // the first process ends, and the engine removes the container
	if err != nil {
		box.remove()
	}
	if result.Ending == sandbox.NotExec {
		if other := s.otherArchitecture(ctx); other != nil {
			return notStarted(), other
		}
	}
	return result, err
}

// ruled: the command is held to a list of hosts. Where that cannot be, the gap
// was accepted.
func (s *session) ruled() bool { return s.profile.Network == sandbox.NetworkRules && holdsRules }

// setting is what holds for each command.
func (s *session) setting() pid1.Setting {
	return pid1.Setting{Dir: s.profile.Workspace, Filters: s.decision.filters, Places: s.places, Limits: effective(s.profile.Limits)}
}

func notStarted() sandbox.Result { return sandbox.Result{Ending: sandbox.NotStarted, ExitCode: 125} }

// box is a container whose first process has connected.
type box struct {
	id   string
	conn *pid1.Conn
	s    *session
}

// remove ends a container that did not do as it should.
func (b *box) remove() { b.s.remove(b.id) }

func (s *session) remove(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, _ = s.engine.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
}

// box makes and starts a container. Fetching a missing image is part of it, and
// of no time limit.
func (s *session) box(ctx context.Context, orphaned <-chan struct{}, kind string) (*box, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if orphaned != nil {
		go func() {
			select {
			case <-orphaned:
				cancel(context.Canceled)
			case <-ctx.Done():
			}
		}()
	}
	l, err := pid1.Listen()
	if err != nil {
		return nil, s.backend.notStarted("", err)
	}
	defer l.Close()
	made, err := s.backend.makeBody(s.profile, s.layout, s.user, s.engine.nature, kind, l.Dir, s.init)
	if err != nil {
		return nil, s.backend.notStarted("", err)
	}
	id, err := s.create(ctx, made)
	if err != nil {
		return nil, err
	}
	conn, err := s.start(ctx, l, id)
	if err != nil {
		s.remove(id)
		return nil, err
	}
	return &box{id, conn, s}, nil
}

// create makes the container, after fetching the image if need be. A request
// that was cancelled may have made it all the same: the reaper finds it.
func (s *session) create(ctx context.Context, made body) (string, error) {
	options := client.ContainerCreateOptions{Config: &made.config, HostConfig: &made.host}
	done, err := s.engine.ContainerCreate(ctx, options)
	if cerrdefs.IsNotFound(err) {
		if err := s.backend.pull(ctx, s.engine, made.config.Image, s.profile.Container.NoPull); err != nil {
			return "", err
		}
		done, err = s.engine.ContainerCreate(ctx, options)
	}
	if err != nil {
		return "", s.backend.notStarted("create container", s.explain(err))
	}
	if err := s.learn(limitGaps(done.Warnings)); err != nil {
		s.remove(done.ID)
		return "", err
	}
	return done.ID, nil
}

// learn adds gaps that show only when a container is made. One that was required
// refuses the run.
func (s *session) learn(gaps []sandbox.Gap) error {
	judged, err := s.profile.Judge(s.backend.engine, gaps)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range judged {
		if !s.decision.open(g.Control) {
			s.decision.gaps = append(s.decision.gaps, g)
		}
	}
	return nil
}

// explain puts what an engine means into words that help.
func (s *session) explain(err error) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "bind source path does not exist"), strings.Contains(text, "no such file or directory") && strings.Contains(text, "statfs"):
		return fmt.Errorf("the engine does not see the files of this machine (%w): it runs elsewhere, or in a virtual machine that does not share them", err)
	case strings.Contains(text, "no space left"):
		return fmt.Errorf("the engine's disk is full: %w", err)
	}
	return err
}

// start starts a container and waits for its first process.
func (s *session) start(ctx context.Context, l *pid1.Listener, id string) (*pid1.Conn, error) {
	accepted := make(chan error, 1)
	var conn *pid1.Conn
	go func() {
		var err error
		conn, err = l.Accept()
		accepted <- err
	}()
	// The engine answers after the first process has connected, and may take back
	// a start whose request goes away: Close waits for the answer.
	started := make(chan error, 1)
	s.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		_, err := s.engine.ContainerStart(ctx, id, client.ContainerStartOptions{})
		started <- err
	})
	var late <-chan time.Time
	var watch <-chan time.Time
	ended := make(chan string, 1)
	give := func(err error) (*pid1.Conn, error) {
		_ = l.Close()
		if <-accepted == nil {
			_ = conn.Close()
		}
		return nil, err
	}
	for {
		select {
		case err := <-accepted:
			if err != nil {
				return nil, s.backend.notStarted("", err)
			}
			return conn, nil
		case err := <-started:
			if err != nil {
				return give(s.backend.notStarted("start container", s.explain(err)))
			}
			late, watch = time.After(connectTime), time.After(100*time.Millisecond)
		case <-watch:
			watch = nil
			go func() { ended <- s.waitFor(ctx, id) }()
		case why := <-ended:
			// It may have connected in its last moment.
			select {
			case err := <-accepted:
				if err == nil {
					return conn, nil
				}
			case <-time.After(100 * time.Millisecond):
			}
			return give(s.backend.notStarted("", errors.New("the container ended before its first process did anything: "+why)))
		case <-late:
			return give(s.backend.notStarted("", fmt.Errorf("the first process of the container does not connect: the OCI runtime %q may not share this machine's sockets",
				cmp.Or(s.profile.Container.Runtime, "of the engine"))))
		case <-ctx.Done():
			return give(fmt.Errorf("%s: start container: %w: %w", s.backend.engine, context.Cause(ctx), sandbox.ErrStart))
		}
	}
}

// waitFor waits until a container has ended and says how.
func (s *session) waitFor(ctx context.Context, id string) string {
	wait := s.engine.ContainerWait(ctx, id, client.ContainerWaitOptions{Condition: "not-running"})
	select {
	case r := <-wait.Result:
		if r.StatusCode == 137 {
			return "it was killed; its memory limit may be too small"
		}
		return fmt.Sprintf("status %d", r.StatusCode)
	case err := <-wait.Error:
		return err.Error()
	}
}

// otherArchitecture says whether the image's programs cannot run here.
func (s *session) otherArchitecture(ctx context.Context) error {
	image := cmp.Or(s.profile.Container.Image, sandbox.DefaultImage)
	found, err := s.engine.ImageInspect(ctx, image)
	if err != nil || found.Architecture == "" || found.Architecture == goarch() {
		return nil
	}
	return s.backend.notStarted("", fmt.Errorf("the image %s is for %s, this machine is %s", image, found.Architecture, goarch()))
}

// reap removes what killed processes of the same user left.
func (s *session) reap() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_ = s.engine.reap(ctx)
}
