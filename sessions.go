package sbx

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"

	"github.com/sbx-run/sbx/sandbox"
)

// maxSessions bounds the sessions that are kept open between commands. A
// program that serves many workspaces then pays the set-up of the ones it has
// not used for long again.
const maxSessions = 64

// sessions keeps what a backend prepared, per profile, so that a long-running
// program pays for it once. It is safe for concurrent use.
type sessions struct {
	mu     sync.Mutex
	open   map[string]*sharedSession
	last   map[hint]*sharedSession
	clock  uint64
	closed bool
}

// hint is what is known of a run before its profile is made. Two runs with the same
// have the same session most of the time.
type hint struct {
	workspace string
	network   string
}

// sharedSession is one open session and those who use it now.
type sharedSession struct {
	key   string
	ready chan struct{} // closed when session or err is set
	sandbox.Session
	err   error
	users int
	used  uint64 // clock of the last use
}

// get finds or opens the session of a profile. Each get is paired with a put.
func (s *sessions) get(ctx context.Context, b sandbox.Backend, p sandbox.Profile) (*sharedSession, error) {
	key, err := sessionKey(b.Name(), &p)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, fmt.Errorf("use engine: it is closed: %w", sandbox.ErrStart)
	}
	s.clock++
	have, ok := s.open[key]
	if !ok {
		have = &sharedSession{key: key, ready: make(chan struct{})}
		if s.open == nil {
			s.open = make(map[string]*sharedSession)
		}
		s.open[key] = have
	}
	have.users++
	have.used = s.clock
	s.mu.Unlock()

	if !ok {
		s.trim()
		// The session outlives this request, so its opening does too.
		have.Session, have.err = b.Open(context.WithoutCancel(ctx), p)
		close(have.ready)
	}
	<-have.ready
	if have.err != nil {
		s.put(have)
		return nil, have.err
	}
	return have, nil
}

// remember notes which session a run with this hint had.
func (s *sessions) remember(h hint, have *sharedSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last[h] == have {
		return
	}
	if s.last == nil || len(s.last) >= maxSessions {
		s.last = make(map[hint]*sharedSession)
	}
	s.last[h] = have
}

// likely gets the session that the last run with this hint had, if it is still open;
// nil: there is none.
func (s *sessions) likely(h hint) *sharedSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	have := s.last[h]
	if have == nil || s.open[have.key] != have {
		return nil
	}
	have.users++
	return have
}

// put gives a session back. One that failed to open, or that was dropped
// meanwhile, ends with its last user.
func (s *sessions) put(have *sharedSession) {
	s.mu.Lock()
	have.users--
	if have.err != nil && s.open[have.key] == have {
		delete(s.open, have.key) // the next request tries again
	}
	last := have.users == 0 && s.open[have.key] != have
	s.mu.Unlock()
	if last && have.Session != nil {
		have.Session.Close()
	}
}

// trim closes the session that was idle longest when there are too many.
func (s *sessions) trim() {
	s.mu.Lock()
	var oldest *sharedSession
	if len(s.open) > maxSessions {
		for _, have := range s.open {
			if have.users == 0 && (oldest == nil || have.used < oldest.used) {
				oldest = have
			}
		}
	}
	if oldest != nil {
		delete(s.open, oldest.key)
	}
	s.mu.Unlock()
	if oldest != nil && oldest.Session != nil {
		oldest.Session.Close()
	}
}

// close ends the idle sessions now and the others when their commands end.
func (s *sessions) close() error {
	s.mu.Lock()
	s.closed = true
	open := s.open
	s.open = nil
	var idle []*sharedSession
	for _, have := range open {
		if have.users == 0 {
			idle = append(idle, have)
		}
	}
	s.mu.Unlock()
	var first error
	for _, have := range idle {
		if err := have.Session.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// sessionKey names a profile and the very directories it speaks of: when the
// workspace was removed and made again under the same name, what a backend
// holds open is another directory.
func sessionKey(backend string, p *sandbox.Profile) (string, error) {
	key := make(sessionName, 0, 1024)
	key.texts(backend, p.Workspace, p.Home, p.Private.Temp, p.Private.Cache, p.Tier, p.MinTier)
	key.number(uint64(p.Network), uint64(p.Explain))
	key.flags(p.UnixAllow, p.ReadOnly, p.Supervisor)
	for _, list := range [...][]string{p.Write, p.Read, p.Hide, p.Protect} {
		listed(&key, list)
	}
	for _, list := range [...][]sandbox.Control{p.Required, p.Accept} {
		listed(&key, list)
	}
	if p.Egress != nil || p.Identity != nil || p.Preview != nil || p.Limits != (sandbox.Limits{}) || p.Container != (sandbox.Container{}) {
		text, err := json.Marshal([]any{p.Egress, p.Identity, p.Preview, p.Limits, p.Container})
		if err != nil {
			return "", fmt.Errorf("name profile: %w", err)
		}
		key = append(key, text...)
	}
	for _, list := range [...][]string{{p.Workspace, p.Private.Temp, p.Private.Cache}, p.Write, p.Read, p.Hide, p.Protect} {
		for _, dir := range list {
			if info, err := os.Lstat(dir); err == nil {
				id := identify(info)
				key.number(id.dev, id.ino)
			}
		}
	}
	return string(key), nil
}

// sessionName is written without package reflect, which takes longer than all that
// it would spare: every run needs one. No two profiles have the same.
type sessionName []byte

func (n *sessionName) number(list ...uint64) {
	for _, v := range list {
		*n = append(strconv.AppendUint(*n, v, 10), ' ')
	}
}

func (n *sessionName) flags(list ...bool) {
	for _, v := range list {
		*n = append(strconv.AppendBool(*n, v), ' ')
	}
}

func (n *sessionName) texts(list ...string) {
	for _, v := range list {
		n.number(uint64(len(v)))
		*n = append(*n, v...)
	}
}

// listed tells an empty list from none.
func listed[T ~string](n *sessionName, list []T) {
	n.flags(list == nil)
	n.number(uint64(len(list)))
	for _, v := range list {
		n.texts(string(v))
	}
}
