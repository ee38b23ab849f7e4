package direct

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox/layout"
)

// allowPlace grants rights on a place.
func allowPlace(ruleset int, p layout.Place, rights uint64) error {
	if !p.Dir {
		rights &= fileRights
	}
	if err := allow(ruleset, p.FD, rights); err != nil {
		return fmt.Errorf("add landlock rule %q: %w", p.Path, err)
	}
	return nil
}

// ruleset is a built Landlock ruleset and what it was built from.
type ruleset struct {
	fd     int
	hidden []string
	stamps []layout.Stamp
	read   []layout.Grant // trees that may be read, and
	masks  []layout.Grant // what was left out of them
	users  int
	stale  bool
}

func (r *ruleset) fresh() bool { return layout.Unchanged(r.stamps) }

// build makes a ruleset of what survey found.
func (s *session) build(c layout.Carving, stamps []layout.Stamp) (*ruleset, error) {
	fd, err := createRuleset(s.abi, s.decision)
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
	rules := &granter{ruleset: fd}
	defer rules.close()
	for _, g := range reading.Grants {
		if err := rules.path(g.Path, readRights&handled, g.Dir); err != nil {
			return err
		}
	}
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

// acquire returns a ruleset for one run, built again when a carved directory
// has changed since.
func (s *session) acquire() (*ruleset, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("session is closed")
	}
	if s.rules != nil && !s.rules.fresh() {
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
