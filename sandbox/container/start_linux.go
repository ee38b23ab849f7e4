package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/pid1"
)

const goarch = runtime.GOARCH

// connectTime bounds the time between the engine's word that a container runs
// and the first sign of its first process.
const connectTime = 30 * time.Second

// box is a container whose first process has connected.
type box struct {
	id   string
	conn *pid1.Conn
}

// box makes and starts a container. Fetching a missing image is part of it, and
// of no time limit.
func (s *session) box(ctx context.Context, orphaned <-chan struct{}, kind Kind) (*box, error) {
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
		return nil, s.notStarted("", err)
	}
	defer l.Close()
	spec := s.spec
	spec.Kind, spec.Socket = kind, l.Dir
	// A request that is cancelled may have made it all the same: the reaper finds it.
	id, gaps, err := s.engine.Create(ctx, spec)
	switch {
	case err != nil && inOwnWords(err):
		return nil, err
	case err != nil && ctx.Err() != nil:
		return nil, s.notStarted("create container", context.Cause(ctx))
	case err != nil:
		return nil, s.notStarted("create container", Explain(err))
	}
	if err := s.learn(gaps); err != nil {
		s.remove(id)
		return nil, err
	}
	conn, err := s.start(ctx, l, id)
	if err != nil {
		s.remove(id)
		return nil, err
	}
	return &box{id, conn}, nil
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
		started <- s.engine.Start(ctx, id)
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
				return nil, s.notStarted("", err)
			}
			return conn, nil
		case err := <-started:
			if err != nil {
				return give(s.notStarted("start container", Explain(err)))
			}
			late, watch = time.After(connectTime), time.After(100*time.Millisecond)
		case <-watch:
			watch = nil
			go func() { ended <- s.engine.Wait(ctx, id) }()
		case why := <-ended:
			// It may have connected in its last moment.
			select {
			case err := <-accepted:
				if err == nil {
					return conn, nil
				}
			case <-time.After(100 * time.Millisecond):
			}
			if runtime := s.spec.Profile.Container.Runtime; runtime != "" {
				why += fmt.Sprintf("; the OCI runtime %q may not share this machine's sockets", runtime)
			}
			return give(s.notStarted("", errors.New("the container ended before its first process did anything: "+why)))
		case <-late:
			return give(s.notStarted("", fmt.Errorf("the first process of the container does not connect: the OCI runtime %q may not share this machine's sockets",
				cmp.Or(s.spec.Profile.Container.Runtime, "of the engine"))))
		case <-ctx.Done():
			return give(fmt.Errorf("%s: start container: %w: %w", s.options.Name, context.Cause(ctx), sandbox.ErrStart))
		}
	}
}

// EndedWith puts the status of a first process into words.
func EndedWith(status int64) string {
	if status == 137 {
		return "it was killed; its memory limit may be too small"
	}
	return fmt.Sprintf("status %d", status)
}
