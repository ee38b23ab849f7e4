package permit

import (
	"slices"
	"sync"
)

// Sessions keeps what was granted in sessions, in memory alone. The zero value is
// ready; it is safe for concurrent use.
type Sessions struct {
	mu     sync.Mutex
	grants map[string][]string
}

// Granted lists what was granted in a session. There is nothing in the session "".
func (s *Sessions) Granted(session string) []string {
	if session == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.grants[session])
}

// Grant adds to a session. Grants of a tool are merged, as in a configuration.
func (s *Sessions) Grant(session string, grants ...Grant) error {
	if session == "" || len(grants) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.grants == nil {
		s.grants = map[string][]string{}
	}
	s.grants[session] = MergeAll(s.grants[session], grants)
	return nil
}

// Clear forgets a session, or what it has of one tool or grant: see Clear.
func (s *Sessions) Clear(session, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if what != "" {
		s.grants[session], _ = Clear(s.grants[session], what)
	}
	if what == "" || len(s.grants[session]) == 0 {
		delete(s.grants, session)
	}
}
