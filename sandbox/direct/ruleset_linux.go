package direct

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox/landlock"
	"github.com/sbx-run/sbx/sandbox/layout"
)

// allowPlace grants rights on a place.
func allowPlace(ruleset int, p layout.Place, rights uint64) error {
	if !p.Dir {
		rights &= fileRights
	}
	if err := landlock.Allow(ruleset, p.FD, rights); err != nil {
		return fmt.Errorf("add landlock rule %q: %w", p.Path, err)
	}
	return nil
}

// ruleset is a built Landlock ruleset and what it was built from.
type ruleset struct {
	fd     int
	hidden []string
	stamps *layout.Stamps
	read   []layout.Grant // trees that may be read, and
	masks  []layout.Grant // what was left out of them
	users  int
	stale  bool
}

func (r *ruleset) fresh() bool { return r.stamps.Unchanged() }

// build makes a ruleset of what survey found.
func (s *session) build(c layout.Carving, stamps *layout.Stamps) (*ruleset, error) {
	fd, err := createRuleset(s.decision)
	if err != nil {
		return nil, err
	}
	if err := s.grant(fd, c); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	hidden := slices.DeleteFunc(slices.Clone(c.Hidden), func(h string) bool { return h == "/dev" })
	slices.Sort(hidden)
	return &ruleset{fd: fd, hidden: hidden, stamps: stamps, read: c.Grants, masks: c.Masks}, nil
}

// rulebook says what the rules of a run refuse.
func (s *session) rulebook(r *ruleset) grantRules {
	g := grantRules{read: slices.Clone(r.read), frozen: frozenOf(s.profile)}
	for _, m := range r.masks {
		g.masks = append(g.masks, m.Path)
	}
	for _, d := range layout.Devices() {
		at := d.Where()
		g.read = append(g.read, layout.Grant{Path: at})
		if d.Write {
			g.write = append(g.write, at)
		}
	}
	for _, p := range s.read {
		g.read = append(g.read, layout.Grant{Path: p.Path, Dir: p.Dir})
	}
	for _, p := range s.write {
		g.write = append(g.write, p.Path)
	}
	return g
}

func (s *session) grant(fd int, reading layout.Carving) error {
	handled := s.decision.handled
	if err := grantAll(fd, reading.Grants, readRights&handled); err != nil {
		return err
	}
	rules := &granter{ruleset: fd}
	defer rules.close()
	for _, d := range layout.Devices() {
		rights := uint64(readFile | ioctlDev)
		if d.Write {
			rights |= writeFile
		}
		at := d.Where()
		dir := layout.IsDir(at)
		if dir && d.Path == "/dev/shm" {
			rights = writeRights | readRights
		}
		if err := rules.path(at, rights&handled, dir); err != nil {
			return err
		}
	}
	for _, p := range s.read {
		if err := allowPlace(fd, p, readRights&handled); err != nil {
			return err
		}
	}
	for _, p := range s.write {
		if err := allowPlace(fd, p, (writeRights|readRights)&handled); err != nil {
			return err
		}
	}
	return nil
}

// portion is the number of rules that a thread takes at a time: most of their
// paths lie beside one another.
const portion = 32

// grantAll adds a rule for each of the paths. For root they are hundreds, files
// beside /etc/shadow for the most part, and nearly all of the time goes into opening
// them: two threads do it.
func grantAll(ruleset int, all []layout.Grant, rights uint64) error {
	var next atomic.Int64
	work := func() error {
		rules := &granter{ruleset: ruleset}
		defer rules.close()
		for {
			from := min(int(next.Add(portion))-portion, len(all))
			part := all[from:min(from+portion, len(all))]
			if len(part) == 0 {
				return nil
			}
			for _, g := range part {
				if err := rules.path(g.Path, rights, g.Dir); err != nil {
					return err
				}
			}
		}
	}
	var other sync.WaitGroup
	var err error
	if len(all) > 2*portion {
		other.Go(func() { err = work() })
	}
	mine := work()
	other.Wait()
	return errors.Join(mine, err)
}

// held is a ruleset that one run uses.
type held struct {
	*ruleset
	of *session
	// certain: it was built for this run, as far as anybody can tell. Some
	// directories change all the time, and it is not built a third time.
	certain bool
}

// errStale says that a carved directory has changed since the rules were made.
var errStale = errors.New("the files beside the hidden ones have changed")

// hold takes the session's rules for a run. With check they are of the files as
// they are now.
func (s *session) hold(check bool) (*held, error) {
	r, err := s.acquire(nil)
	if err != nil {
		return nil, err
	}
	h := &held{ruleset: r, of: s}
	if check && !h.fresh() {
		if err := h.renew(); err != nil {
			h.release()
			return nil, err
		}
	}
	return h, nil
}

func (h *held) release() { h.of.release(h.ruleset) }

// fresh says whether the rules are of the files as they are now.
func (h *held) fresh() bool { return h.certain || h.ruleset.fresh() }

// renew builds the rules again.
func (h *held) renew() error {
	old := h.ruleset
	next, err := h.of.acquire(old)
	if err != nil {
		return err
	}
	h.ruleset, h.certain = next, true
	h.of.release(old)
	return nil
}

// acquire returns a ruleset for one run: the session's, or one that is built now
// when there is none, or that one is known to be stale.
func (s *session) acquire(stale *ruleset) (*ruleset, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("session is closed")
	}
	if s.rules != nil && s.rules == stale {
		s.retire()
	}
	if s.rules == nil {
		c, stamps := layout.Survey(s.profile, "/dev")
		if inside := layout.InsideWritable(s.profile, c.Hidden); !slices.Equal(inside, s.inside) {
			return nil, fmt.Errorf("%s is below a writable directory now", strings.Join(inside, ", "))
		}
		r, err := s.build(c, stamps)
		if err != nil {
			return nil, err
		}
		s.rules = r
	}
	s.rules.users++
	return s.rules, nil
}

func (s *session) release(r *ruleset) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.users--; r.users == 0 && r.stale {
		_ = unix.Close(r.fd)
	}
}

// retire lets go of the current ruleset; runs that start with it keep it open.
func (s *session) retire() {
	r := s.rules
	s.rules = nil
	if r == nil {
		return
	}
	if r.stale = true; r.users == 0 {
		_ = unix.Close(r.fd)
	}
}
