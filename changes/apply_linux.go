package changes

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// An apply goes in four steps. Everything is checked against what was recorded.
// All new content is made ready in a directory of its own at the top of each
// root, on the same file system. The journal is written. Then every path is
// changed by one rename, exchange or removal, which is checked again; what was
// there moves to where the new content was. A failure before the end takes all
// of it back; after a crash the journal says how to go on or to go back.

// applier applies one plan.
type applier struct {
	*Changes
	journal
	roots []int // descriptors
	stage []int // of the directories of new content; -1: none
}

// Apply makes the changes real, or changes nothing: a *ConflictError says that
// something is in the way. After another error the state says whether what was
// done was taken back. An apply that was cut off is found in the store by List.
func (c *Changes) Apply() error {
	switch c.State {
	case Pending, Kept:
	case Unfinish:
		return c.resume()
	default:
		return fmt.Errorf("apply changes: they are %s", c.State)
	}
	if len(c.Conflicts) > 0 {
		return &ConflictError{c.Conflicts}
	}
	if len(c.layers) == 0 {
		return ErrGone
	}
	unlock, err := c.lock()
	if err != nil {
		return fmt.Errorf("apply changes: %w", err)
	}
	defer unlock()
	a, dir, err := c.ready()
	if err != nil {
		return wrapApply(err)
	}
	defer a.close()
	return a.carryOut(dir)
}

// ready does everything that comes before the first change, and gives the
// directory of the journal.
func (c *Changes) ready() (*applier, string, error) {
	dir, err := c.journalDir()
	if err != nil {
		return nil, "", err
	}
	a := &applier{Changes: c}
	err = as(c.owner, func() error {
		if err := a.open(); err != nil {
			return err
		}
		if err := a.check(); err != nil {
			return err
		}
		if err := a.prepare(stageName(dir)); err != nil {
			return errors.Join(err, a.clear())
		}
		return nil
	})
	if err == nil {
		if err = a.write(dir); err != nil {
			err = errors.Join(err, as(c.owner, a.clear))
		}
	}
	if err != nil {
		a.close()
		c.forget(dir)
	}
	return a, dir, err
}

// carryOut changes everything, or takes back what it changed.
func (a *applier) carryOut(dir string) error {
	if err := as(a.owner, a.commit); err != nil {
		return a.takeBack(dir, err)
	}
	return a.finish(dir)
}

func wrapApply(err error) error {
	var conflict *ConflictError
	if errors.As(err, &conflict) {
		return conflict
	}
	return fmt.Errorf("apply changes: %w", err)
}

// takeBack undoes what was done before err.
func (a *applier) takeBack(dir string, err error) error {
	if uerr := as(a.owner, func() error { return errors.Join(a.undo(), a.clear()) }); uerr != nil {
		a.State, a.dir = Unfinish, dir
		return fmt.Errorf("%w; and it could not be taken back: %w", wrapApply(err), uerr)
	}
	a.forget(dir)
	return wrapApply(err)
}

// finish removes what is no longer needed.
func (a *applier) finish(dir string) error {
	a.State = Applied
	err := as(a.owner, a.clear)
	if dir != "" && err == nil {
		err = removeStored(dir)
	}
	if err != nil {
		return fmt.Errorf("changes are applied, but clean up: %w", err)
	}
	return nil
}

// resume goes on with an apply that was cut off.
func (c *Changes) resume() error {
	unlock, err := c.lock()
	if err != nil {
		return fmt.Errorf("resume apply: %w", err)
	}
	defer unlock()
	a, err := c.reopen()
	if err != nil {
		return fmt.Errorf("resume apply: %w", err)
	}
	defer a.close()
	if err := as(c.owner, a.commit); err != nil {
		return fmt.Errorf("resume apply, discard takes it back: %w", err)
	}
	return a.finish(c.dir)
}

// Discard drops the changes. Where an apply was cut off, what it did is undone.
func (c *Changes) Discard() error {
	switch c.State {
	case Applied, Discarded:
		return fmt.Errorf("discard changes: they are %s", c.State)
	case Unfinish:
		unlock, err := c.lock()
		if err != nil {
			return fmt.Errorf("discard changes: %w", err)
		}
		defer unlock()
		a, err := c.reopen()
		if err != nil {
			return fmt.Errorf("discard changes: %w", err)
		}
		defer a.close()
		if err := as(c.owner, func() error { return errors.Join(a.undo(), a.clear()) }); err != nil {
			return fmt.Errorf("discard changes: %w", err)
		}
	}
	c.State = Discarded
	if c.dir != "" {
		if err := removeStored(c.dir); err != nil {
			return fmt.Errorf("discard changes: %w", err)
		}
	}
	return c.Close()
}

// open opens the roots, which must be the directories they were.
func (a *applier) open() error {
	for i, name := range a.Roots {
		fd, err := unix.Open(name, dirFlags, 0)
		if err != nil {
			return fmt.Errorf("open %q: %w", name, err)
		}
		a.roots, a.stage = append(a.roots, fd), append(a.stage, -1)
		now, err := stateAt(fd, ".")
		if err != nil {
			return fmt.Errorf("stat %q: %w", name, err)
		}
		if was := a.plan.Bases[i]; now.Dev != was.Dev || now.Ino != was.Ino {
			return &ConflictError{[]Conflict{{name, ".", "it is another directory now"}}}
		}
	}
	return nil
}

func (a *applier) close() {
	for _, fd := range append(a.roots, a.stage...) {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// check compares every path with what was recorded.
func (a *applier) check() error {
	var found []Conflict
	for i := range a.plan.Ops {
		o := &a.plan.Ops[i]
		why, err := a.differs(o, true)
		if err != nil {
			return fmt.Errorf("%q: %w", o.Path, err)
		}
		if why != "" {
			found = append(found, Conflict{a.Roots[o.Root], string(o.Path), why})
		}
	}
	if len(found) > 0 {
		return &ConflictError{found}
	}
	return nil
}

// differs says why what is at the path of an op is not what was recorded.
func (a *applier) differs(o *op, ctime bool) (string, error) {
	dir, name, err := a.at(o)
	if absent(err) || err == unix.ELOOP || err == unix.EXDEV {
		return "its directory is no longer there", nil
	} else if err != nil {
		return "", err
	}
	defer unix.Close(dir)
	return o.differsAt(dir, name, ctime)
}

func (o *op) differsAt(dir int, name string, ctime bool) (string, error) {
	now, err := stateAt(dir, name)
	switch {
	case absent(err) && o.Was == nil:
		return "", nil
	case absent(err):
		return "it was removed since", nil
	case err != nil:
		return "", err
	case o.Was == nil:
		return "somebody else made it since", nil
	case !same(now, o.Was, ctime):
		return "it was changed since", nil
	}
	if o.Do == adjust || !now.dir() {
		return "", nil
	}
	tree, err := treeBelow(dir, name)
	if err != nil {
		return "", err
	}
	was := make(map[rawPath]*state, len(o.Tree))
	for i := range o.Tree {
		was[o.Tree[i].Path] = &o.Tree[i].Was
	}
	for i := range tree {
		before := was[tree[i].Path]
		if before == nil {
			return fmt.Sprintf("%q was made in it since", tree[i].Path), nil
		}
		if !same(&tree[i].Was, before, ctime) {
			return fmt.Sprintf("%q in it was changed since", tree[i].Path), nil
		}
	}
	if len(tree) != len(o.Tree) {
		return "something in it was removed since", nil
	}
	return "", nil
}

// same compares with what was recorded. ctime is off where sbx itself may have
// renamed or linked the file since.
func same(now, was *state, ctime bool) bool {
	if now.Dev != was.Dev || now.Ino != was.Ino || now.Mode != was.Mode || now.UID != was.UID || now.GID != was.GID {
		return false
	}
	if now.dir() {
		return true
	}
	return now.Size == was.Size && now.Mtime == was.Mtime && now.Target == was.Target && (!ctime || now.Ctime == was.Ctime)
}

// at opens the directory of an op's path.
func (a *applier) at(o *op) (int, string, error) {
	return (&copier{}).open(a.roots[o.Root], string(o.Path))
}

// prepare makes everything new ready.
func (a *applier) prepare(name string) error {
	copiers := make([]*copier, len(a.roots))
	for i := range a.plan.Ops {
		o := &a.plan.Ops[i]
		if a.stage[o.Root] < 0 {
			if err := a.makeStage(o.Root, name); err != nil {
				return err
			}
			copiers[o.Root] = a.copier(o.Root)
		}
		if o.Do != put && o.Do != swap {
			continue
		}
		c, staged := copiers[o.Root], strconv.Itoa(i)
		had := len(c.links)
		if err := c.tree(string(o.Path), staged); err != nil {
			return err
		}
		at, where := a.stage[o.Root], staged
		if len(c.links) > had && string(c.links[had].Name) == staged {
			at, where = a.roots[o.Root], string(c.links[had].To)
		}
		s, err := stateBelow(at, where)
		if err != nil {
			return err
		}
		o.Staged = s.Ino
	}
	for i, c := range copiers {
		if c == nil {
			continue
		}
		a.Stages[i].Links = c.links
		if err := unix.Syncfs(a.stage[i]); err != nil {
			return fmt.Errorf("write to disk: %w", err)
		}
	}
	return nil
}

// makeStage makes the directory of new content in one root.
func (a *applier) makeStage(i int, name string) error {
	for len(a.Stages) < len(a.roots) {
		a.Stages = append(a.Stages, stageOf{})
	}
	if err := unix.Mkdirat(a.roots[i], name, 0o700); err != nil {
		return fmt.Errorf("make %q in %q: %w", name, a.Roots[i], err)
	}
	fd, err := openBelow(a.roots[i], name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	a.stage[i] = fd
	s, err := stateAt(fd, ".")
	if err != nil {
		return err
	}
	a.Stages[i].Name, a.Stages[i].Ino = name, s.Ino
	return setAttrs(fd, ".", nil) // no access list that the content would inherit
}

func (a *applier) copier(i int) *copier {
	modes, links := map[string]uint32{}, map[uint64]string{}
	for _, m := range a.plan.Modes {
		if m.Root == i {
			modes[string(m.Path)] = m.Mode
		}
	}
	for _, l := range a.plan.Links {
		if l.Root == i {
			links[l.Ino] = string(l.Path)
		}
	}
	return &copier{
		src: int(a.layers[i].Fd()), dst: a.stage[i], names: map[uint64]string{}, files: maxFiles, bytes: unlimited,
		mode:  func(path string) (uint32, bool) { m, ok := modes[path]; return m, ok },
		skip:  (*state).whiteout,
		stays: func(ino uint64) (string, bool) { p, ok := links[ino]; return p, ok },
	}
}

// maxFiles bounds what is carried over; the layer's own size bounds it before.
const maxFiles = 1 << 24
