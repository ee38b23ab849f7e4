package sbx

import (
	"context"
	"errors"

	"github.com/sbx-run/sbx/sandbox"
)

// start runs a command that was admitted.
func (j *job) start(ctx context.Context, req Request) (err error) {
	if s := j.likely(req); s != nil {
		over, err := j.runEager(ctx, req, s)
		if over {
			return err
		}
	}
	if j.session == nil {
		if err := j.equip(ctx, req); err != nil {
			return err
		}
	}
	if req.Ready != nil {
		select {
		case <-req.Ready:
		case <-ctx.Done(): // which the backend says in its own words
		}
	}
	j.begun = true
	j.result.Result, err = j.run(ctx)
	return err
}

func (j *job) hint() hint { return hint{j.workspace, j.result.Network} }

// likely gets the session that this run will probably have, for a backend that can
// make use of knowing it early; nil: none, or what the run needs is made for it alone.
func (j *job) likely(req Request) *sharedSession {
	o := &j.engine.options
	if j.who != nil || j.handed != "" || o.Errand != nil || o.FreshTemp || req.Preview != nil || req.Ready != nil {
		return nil
	}
	s := j.engine.sessions.likely(j.hint())
	if s == nil {
		return nil
	}
	if _, can := s.Session.(sandbox.Eager); !can {
		j.engine.sessions.put(s)
		return nil
	}
	return s
}

// errOtherSession says that the guess was wrong.
var errOtherSession = errors.New("the run has another session")

// runEager equips the run while the backend gets a process ready in the session s.
// Not over: nothing ran, because it is another session, or because the backend did
// not ask; then the run goes on as any other.
func (j *job) runEager(ctx context.Context, req Request, s *sharedSession) (over bool, err error) {
	defer j.engine.sessions.put(s)
	var failed error
	asked := false
	result, err := s.Session.(sandbox.Eager).RunEager(ctx, j.command, func() ([]string, error) {
		asked = true
		if failed = j.equip(ctx, req); failed == nil && j.session != s {
			failed = errOtherSession
		}
		return j.command.Env, failed
	})
	switch {
	case !asked || failed == errOtherSession:
		return false, nil
	case failed != nil:
		return true, failed
	}
	j.begun, j.result.Result = true, result
	return true, err
}
