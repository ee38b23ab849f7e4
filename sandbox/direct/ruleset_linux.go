package direct

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// place is a path that the profile names, held open so that a later run cannot
// be led to another directory of the same name.
type place struct {
	path     string
	fd       int
	dev, ino uint64
	dir      bool
}

func openPlace(name string) (place, error) {
	fd, err := openExact(name)
	if err != nil {
		return place{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return place{}, fmt.Errorf("stat %q: %w", name, err)
	}
	return place{name, fd, st.Dev, st.Ino, st.Mode&unix.S_IFMT == unix.S_IFDIR}, nil
}

// protectedPlace notes what is protected: it may be a symbolic link itself.
func protectedPlace(name string) (place, error) {
	above, err := openExact(path.Dir(name))
	if err != nil {
		return place{}, err
	}
	defer unix.Close(above)
	var st unix.Stat_t
	if err := unix.Fstatat(above, path.Base(name), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return place{}, fmt.Errorf("stat %q: %w", name, err)
	}
	return place{path: name, fd: -1, dev: st.Dev, ino: st.Ino, dir: st.Mode&unix.S_IFMT == unix.S_IFDIR}, nil
}

// same refuses a path that names something else now.
func (p place) same() error {
	var st unix.Stat_t
	if err := unix.Lstat(p.path, &st); err != nil {
		return fmt.Errorf("stat %q: %w", p.path, err)
	}
	if st.Dev != p.dev || st.Ino != p.ino {
		return fmt.Errorf("%q is not what it was when the session was opened", p.path)
	}
	return nil
}

// allow grants rights on the place.
func (p place) allow(ruleset int, rights uint64) error {
	if !p.dir {
		rights &= fileRights
	}
	if err := allow(ruleset, p.fd, rights); err != nil {
		return fmt.Errorf("add landlock rule %q: %w", p.path, err)
	}
	return nil
}

// ruleset is a built Landlock ruleset and what it was built from.
type ruleset struct {
	fd     int
	hidden []string
	stamps []stamp
	read   []grant // trees that may be read, and
	masks  []grant // what was left out of them
	users  int
	stale  bool
}

// stamp tells whether a carved directory is still as it was listed.
type stamp struct {
	path         string
	dev, ino     uint64
	mtime, ctime unix.Timespec
}

// coarse is the longest step of a file system's clock. A directory that changed
// so shortly before it was listed may change again without a new time.
const coarse = 20 * time.Millisecond

func stampOf(name string) stamp {
	var st unix.Stat_t
	if unix.Lstat(name, &st) != nil {
		return stamp{path: name}
	}
	return stamp{name, st.Dev, st.Ino, st.Mtim, st.Ctim}
}

func (r *ruleset) fresh() bool { return unchanged(r.stamps) }

func unchanged(stamps []stamp) bool {
	return !slices.ContainsFunc(stamps, func(s stamp) bool { return stampOf(s.path) != s })
}

// survey reads the file system: what is hidden, and what lies beside it.
// extra are hidden, too.
func survey(p sandbox.Profile, extra ...string) (carving, []stamp) {
	now := time.Now()
	c := carve(newDisk(), append(hiddenPaths(p), extra...))
	stamps := make([]stamp, 0, len(c.carved))
	for _, dir := range c.carved {
		at := stampOf(dir)
		// A directory that changed just now gets a stamp that never matches.
		if now.Sub(time.Unix(at.mtime.Unix())) < coarse {
			at.ino = 0
		}
		stamps = append(stamps, at)
	}
	return c, stamps
}

// build makes a ruleset of what survey found.
func (s *session) build(c carving, stamps []stamp) (*ruleset, error) {
	fd, err := createRuleset(s.abi, s.decision)
	if err != nil {
		return nil, err
	}
	if err := s.grant(fd, c); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	hidden := slices.DeleteFunc(slices.Clone(c.hidden), func(h string) bool { return h == "/dev" })
	slices.Sort(hidden)
	return &ruleset{fd: fd, hidden: hidden, stamps: stamps, read: c.grants, masks: c.masks}, nil
}

// rulebook says what the rules of a run refuse.
func (s *session) rulebook(r *ruleset) grantRules {
	g := grantRules{read: slices.Clone(r.read), frozen: frozenOf(s.profile)}
	for _, m := range r.masks {
		g.masks = append(g.masks, m.path)
	}
	for _, d := range devices() {
		at := d.where()
		g.read = append(g.read, grant{path: at})
		if d.write {
			g.write = append(g.write, at)
		}
	}
	for _, p := range s.read {
		g.read = append(g.read, grant{p.path, p.dir})
	}
	for _, p := range s.write {
		g.write = append(g.write, p.path)
	}
	return g
}

// where is the node itself: in containers /dev/ptmx is a link.
func (d device) where() string {
	if real, err := os.Readlink(d.path); err == nil {
		return path.Join("/dev", real)
	}
	return d.path
}

func (s *session) grant(fd int, reading carving) error {
	handled := s.decision.handled
	for _, g := range reading.grants {
		if err := allowPath(fd, g.path, readRights&handled, g.dir); err != nil {
			return err
		}
	}
	for _, d := range devices() {
		rights := uint64(readFile | ioctlDev)
		if d.write {
			rights |= writeFile
		}
		at := d.where()
		dir := isDir(at)
		if dir && d.path == "/dev/shm" {
			rights = writeRights | readRights
		}
		if err := allowPath(fd, at, rights&handled, dir); err != nil {
			return err
		}
	}
	for _, p := range s.read {
		if err := p.allow(fd, readRights&handled); err != nil {
			return err
		}
	}
	for _, p := range s.write {
		if err := p.allow(fd, (writeRights|readRights)&handled); err != nil {
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
		c, stamps := survey(s.profile, "/dev")
		if inside := insideWritable(s.profile, c.hidden); !slices.Equal(inside, s.inside) {
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

// insideWritable lists the hidden paths that a write rule would open again.
func insideWritable(p sandbox.Profile, hidden []string) []string {
	return slices.DeleteFunc(lateWritable(p, hidden), func(h string) bool { return !slices.ContainsFunc(named(h), exists) })
}

// lateWritable also lists those that do not exist yet: no rule could refuse
// them when they appear.
func lateWritable(p sandbox.Profile, hidden []string) []string {
	var late []string
	for _, h := range hidden {
		if slices.ContainsFunc(writable(p), func(w string) bool { return isBelow(h, w) && h != w }) {
			late = append(late, h)
		}
	}
	return late
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
