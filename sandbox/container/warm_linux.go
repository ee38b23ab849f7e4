package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/pid1"
)

// warmth is the one container of a warm session. The zero value is none yet.
type warmth struct {
	mu      sync.Mutex
	dir     string     // holds the socket
	control *pid1.Conn // the container lives as long as it
	ended   func()     // what the engine has to do then
}

func (w *warmth) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.endLocked()
}

func (w *warmth) endLocked() {
	if w.control == nil {
		return
	}
	_ = w.control.Close()
	_ = os.RemoveAll(w.dir)
	w.ended()
	w.control, w.dir, w.ended = nil, "", nil
}

// runWarm runs a command in the session's container, which is made when there
// is none, or none any more.
func (s *session) runWarm(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	making, made := sandbox.UntilSignaled(ctx, c.Signals)
	conn, err := s.dialWarm(making, c.Orphaned)
	made()
	if err != nil {
		return notStarted(), err
	}
	defer conn.Close()
	return conn.Run(ctx, c, s.setting())
}

func (s *session) dialWarm(ctx context.Context, orphaned <-chan struct{}) (*pid1.Conn, error) {
	w := &s.warm
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.control != nil {
		if conn, err := pid1.DialAt(w.dir); err == nil {
			return conn, nil
		}
		w.endLocked() // the engine was restarted, or somebody removed the container
	}
	dir, err := pid1.OwnDir()
	if err != nil {
		return nil, s.notStarted("", err)
	}
	box, err := s.serve(ctx, orphaned, dir, pid1.Service{Hold: true})
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	w.dir, w.control, w.ended = dir, box.conn, func() { s.engine.Ended(box.id) }
	s.work.Go(s.reap)
	conn, err := pid1.DialAt(dir)
	if err != nil {
		w.endLocked()
		return nil, s.notStarted("connect to the container", err)
	}
	return conn, nil
}

// serve makes a container that takes commands at a directory of the host.
func (s *session) serve(ctx context.Context, orphaned <-chan struct{}, dir string, service pid1.Service) (*box, error) {
	l, err := pid1.ListenAt(dir)
	if err != nil {
		return nil, s.notStarted("", err)
	}
	defer l.Close()
	box, err := s.box(ctx, orphaned, Session)
	if err != nil {
		return nil, err
	}
	if err := box.conn.Serve(l, service); err != nil {
		_ = box.conn.Close()
		s.remove(box.id)
		return nil, s.notStarted("", err)
	}
	return box, nil
}

// Start makes a container that outlives this process: see sandbox.Starter.
func Start(ctx context.Context, o Options, p sandbox.Profile, dir string, idle time.Duration) (sandbox.Warm, error) {
	s, err := open(ctx, o, p)
	if err != nil {
		return sandbox.Warm{}, err
	}
	defer s.Close()
	plan, err := s.Plan(sandbox.Command{})
	if err != nil {
		return sandbox.Warm{}, err
	}
	setting, err := json.Marshal(s.setting())
	if err != nil {
		return sandbox.Warm{}, err
	}
	box, err := s.serve(ctx, nil, dir, pid1.Service{Idle: idle})
	if err != nil {
		return sandbox.Warm{}, err
	}
	_ = box.conn.Close() // it lives on: Hold is not set
	s.reap()
	return sandbox.Warm{
		ID: box.id, Setting: setting, Plan: plan,
		Enforced: slices.Clone(s.decision.enforced), Gaps: slices.Clone(s.decision.gaps),
	}, nil
}

// Stop ends a container that was started.
func Stop(ctx context.Context, o Options, p sandbox.Profile, w sandbox.Warm) error {
	e, err := o.Connect(ctx, p)
	if err != nil {
		return err
	}
	defer e.Close()
	if w.ID == "" {
		return errors.New("stop session: it names no container")
	}
	if err := e.Remove(ctx, w.ID); err != nil {
		return fmt.Errorf("%s: stop session: %w", o.Name, err)
	}
	return nil
}
