// Package approvals keeps calls that nobody could be asked about until a person
// has time for them: for half an hour, with all their arguments. Each is approved
// or denied once, whoever tries at the same time, in whatever process.
//
// The store is one file. It is opened for each step and closed again, so that
// several processes can use it; nothing is opened before the first step.
package approvals

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sbx-run/sbx/permit"
)

const (
	// Life is how long a call waits.
	Life = 30 * time.Minute
	// Kept is how long what became of it is kept.
	Kept = 7 * 24 * time.Hour
	// MaxWaiting bounds the calls that wait at a time: more than a person looks
	// through, and a model in a loop makes them.
	MaxWaiting = 200
	// MaxBytes bounds one call.
	MaxBytes = 8 << 20
)

// State is what became of a call.
type State string

// The states. A call leaves Pending once.
const (
	Pending  State = "pending"
	Approved State = "approved"
	Denied   State = "denied"
	Expired  State = "expired"
)

// Record is one call. Its words are kept while it waits, and gone once somebody
// has decided.
type Record struct {
	ID      string   `json:"id"`
	Tool    string   `json:"tool"`
	Agent   string   `json:"agent,omitempty"`
	Project string   `json:"project,omitempty"`
	Session string   `json:"session,omitempty"`
	Risks   []string `json:"risks"`
	Grants  []string `json:"grants,omitempty"` // what a consent for good leaves behind
	Tainted bool     `json:"tainted,omitempty"`
	Why     string   `json:"why,omitempty"` // why it did not run

	Scripts string `json:"scripts,omitempty"` // as in permit.Call

	// Subject is the command, or the arguments as JSON, byte for byte. Origin is
	// what whoever parked it needs to run it.
	Subject []byte          `json:"subject,omitempty"`
	Origin  json.RawMessage `json:"origin,omitempty"`

	State    State     `json:"state"`
	By       string    `json:"by,omitempty"`     // who decided
	Reason   string    `json:"reason,omitempty"` // of Denied
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires"`
	Resolved time.Time `json:"resolved,omitzero"`
	// Run is the id of the run that followed, and Exit its status. An approved
	// call without one did not come to its end: the program died in between. It is
	// not run again.
	Run  string `json:"run,omitempty"`
	Exit *int   `json:"exit,omitempty"`
}

// SettledError: somebody, or the clock, was faster.
type SettledError struct {
	ID    string
	State State
}

func (e *SettledError) Error() string {
	if e.State == Expired {
		return fmt.Sprintf("approval %s has expired: it waited longer than %s; have it asked for again", e.ID, Life)
	}
	return fmt.Sprintf("approval %s is %s already", e.ID, e.State)
}

// UnknownError: there is no such call.
type UnknownError struct{ ID string }

func (e *UnknownError) Error() string { return fmt.Sprintf("there is no approval %q", e.ID) }

// Store is a file of calls that wait. It is safe for concurrent use.
type Store struct {
	Path string
	Now  func() time.Time // nil: time.Now
}

func (s *Store) now() time.Time {
	if s.Now != nil {
		return s.Now().UTC().Round(0)
	}
	return time.Now().UTC().Round(0)
}

// overdue says whether a call waits no longer. A clock that was set back behind
// the beginning says nothing of how long it waited: then it does not, either.
func (r *Record) overdue(now time.Time) bool {
	return r.State == Pending && (!now.Before(r.Expires) || now.Before(r.Created.Add(-time.Minute)))
}

// expire turns an overdue call into an expired one.
func (r *Record) expire(now time.Time) bool {
	if !r.overdue(now) {
		return false
	}
	r.settle(Expired, "", now)
	return true
}

func (r *Record) settle(state State, by string, now time.Time) {
	r.State, r.By, r.Resolved = state, by, now
	r.Subject, r.Origin, r.Why = nil, nil, ""
}

// Park keeps a call, and returns the number under which it waits. The same call,
// while it waits, has one number. origin may be nil.
func (s *Store) Park(w permit.Waiting, origin json.RawMessage) (id string, err error) {
	r := Record{
		Tool: w.Call.Tool, Agent: w.Caller.Agent, Project: w.Caller.Project, Session: w.Caller.Session,
		Risks: append([]string{}, w.Risks...), Grants: w.Grants, Tainted: w.Tainted, Why: w.Why, Scripts: w.Call.Scripts,
		Subject: []byte(w.Call.Subject()), Origin: origin, State: Pending,
	}
	if len(r.Subject)+len(origin) > MaxBytes {
		return "", fmt.Errorf("its arguments are larger than %d MiB", MaxBytes>>20)
	}
	err = s.update(func(t *table) error {
		now := s.now()
		waiting := 0
		for old := range t.all() {
			switch {
			case old.expire(now):
				if err := t.put(old); err != nil {
					return err
				}
			case old.State != Pending && now.Sub(old.Resolved) > Kept:
				if err := t.remove(old.ID); err != nil {
					return err
				}
			case old.State == Pending:
				if old.same(&r) {
					id = old.ID
				}
				waiting++
			}
		}
		if t.err != nil || id != "" {
			return t.err
		}
		if waiting >= MaxWaiting {
			return fmt.Errorf("%d calls are waiting already", waiting)
		}
		if r.ID, err = t.newID(); err != nil {
			return err
		}
		r.Created, r.Expires = now, now.Add(Life)
		id = r.ID
		return t.put(&r)
	})
	if err != nil {
		return "", err
	}
	return id, nil
}

func (r *Record) same(other *Record) bool {
	return r.Tool == other.Tool && r.Agent == other.Agent && r.Project == other.Project && r.Session == other.Session && r.Tainted == other.Tainted &&
		slices.Equal(r.Risks, other.Risks) && slices.Equal(r.Grants, other.Grants) && r.Scripts == other.Scripts && bytes.Equal(r.Subject, other.Subject) && bytes.Equal(r.Origin, other.Origin)
}

// newID is a number that nothing has. It is no secret.
func (t *table) newID() (string, error) {
	for range 100 {
		if id := fmt.Sprintf("%08x", rand.Uint32()); !t.has(id) {
			return id, nil
		}
	}
	return "", errors.New("no number is free")
}

// List gives the calls, the oldest first. What is overdue stands there as expired.
func (s *Store) List() ([]Record, error) {
	var list []Record
	err := s.view(func(t *table) error {
		for r := range t.all() {
			r.expire(s.now())
			list = append(list, *r)
		}
		return t.err
	})
	slices.SortStableFunc(list, func(a, b Record) int { return a.Created.Compare(b.Created) })
	return list, err
}

// Get gives one call.
func (s *Store) Get(id string) (Record, error) {
	var found Record
	err := s.view(func(t *table) error {
		r, err := t.get(id)
		if err == nil {
			r.expire(s.now())
			found = *r
		}
		return err
	})
	return found, err
}

// Approve decides that a call may run, and gives it with its words. Of all who
// try, in whatever process, one gets it; to the others it is a *SettledError. When
// it returns, the decision is on the disk: a call that is approved and whose run
// did not begin, because the program died, never runs.
func (s *Store) Approve(id, by string) (Record, error) { return s.decide(id, Approved, by, "") }

// Deny decides that a call may not run.
func (s *Store) Deny(id, by, reason string) (Record, error) { return s.decide(id, Denied, by, reason) }

func (s *Store) decide(id string, state State, by, reason string) (Record, error) {
	var before Record
	var settled error
	err := s.update(func(t *table) error {
		r, err := t.get(id)
		if err != nil {
			return err
		}
		now := s.now()
		switch {
		case r.expire(now):
			settled = &SettledError{id, Expired}
			return t.put(r)
		case r.State != Pending:
			return &SettledError{id, r.State}
		}
		before = *r
		r.settle(state, by, now)
		r.Reason = reason
		return t.put(r)
	})
	if err == nil {
		err = settled
	}
	if err != nil {
		return Record{}, err
	}
	before.State, before.By, before.Reason = state, by, reason
	return before, nil
}

// Ended notes what became of an approved call.
func (s *Store) Ended(id, run string, exit int) error {
	return s.update(func(t *table) error {
		r, err := t.get(id)
		if err != nil {
			return err
		}
		r.Run, r.Exit = run, &exit
		return t.put(r)
	})
}
