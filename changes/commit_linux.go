package changes

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// commit carries out the plan. What was done already is found done.
func (a *applier) commit() error {
	for i := range a.plan.Ops {
		o := &a.plan.Ops[i]
		if o.Do == adjust && o.Was.dir() && o.Was.Mode&0o300 != 0o300 {
			// The command opened the directory, or the user's own rights are
			// missing there: the changes in it need them.
			if err := a.openUp(o); err != nil {
				return fmt.Errorf("%q: %w", o.Path, err)
			}
		}
	}
	if err := a.linkStaying(); err != nil {
		return err
	}
	for i := range a.plan.Ops {
		o := &a.plan.Ops[i]
		if err := a.do(o, strconv.Itoa(i)); err != nil {
			var conflict *ConflictError
			if errors.As(err, &conflict) {
				return err
			}
			if errors.Is(err, unix.EXDEV) {
				err = errors.New("the file system cannot move this directory: it is an overlay, and the directory is in a lower layer of it")
			}
			return fmt.Errorf("%s %q: %w", o.Do, o.Path, err)
		}
	}
	return a.sync()
}

func (a *applier) sync() error {
	for _, fd := range a.roots {
		if err := unix.Syncfs(fd); err != nil {
			return fmt.Errorf("write to disk: %w", err)
		}
	}
	return nil
}

func (a *applier) openUp(o *op) error {
	dir, name, err := a.at(o)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	now, err := stateAt(dir, name)
	if err != nil {
		return err
	}
	if now.Ino != o.Was.Ino || now.perm() != o.Was.perm() { // done already, or a conflict that comes up later
		return nil
	}
	return setMode(dir, name, o.Was.perm()|0o700)
}

// linkStaying makes the hard links to files that stay.
func (a *applier) linkStaying() error {
	for i, st := range a.Stages {
		for _, l := range st.Links {
			top, _, _ := strings.Cut(string(l.Name), "/")
			n, err := strconv.Atoi(top)
			if err != nil || n < 0 || n >= len(a.plan.Ops) {
				return fmt.Errorf("journal: link %q belongs to no act", l.Name)
			}
			if done, err := a.done(&a.plan.Ops[n]); done || err != nil {
				if err != nil {
					return err
				}
				continue
			}
			if err := a.linkOne(i, l); err != nil && err != unix.EEXIST {
				return fmt.Errorf("link to %q: %w", l.To, err)
			}
		}
	}
	return nil
}

func (a *applier) linkOne(i int, l prelink) error {
	from, fname, err := parentOf(a.roots[i], string(l.To))
	if err != nil {
		return err
	}
	defer unix.Close(from)
	to, tname, err := parentOf(a.stage[i], string(l.Name))
	if err != nil {
		return err
	}
	defer unix.Close(to)
	was, err := stateAt(to, ".")
	if err != nil {
		return err
	}
	if err := unix.Linkat(from, fname, to, tname, 0); err != nil {
		return err
	}
	return setTimes(to, ".", was.Atime, was.Mtime) // the directory was finished
}

// done says whether an op that stages something is done.
func (a *applier) done(o *op) (bool, error) {
	dir, name, err := a.at(o)
	if absent(err) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	defer unix.Close(dir)
	now, err := stateAt(dir, name)
	if absent(err) {
		return false, nil
	}
	return err == nil && now.Ino == o.Staged, err
}

func (a *applier) conflictAt(o *op, why string) error {
	return &ConflictError{[]Conflict{{a.Roots[o.Root], string(o.Path), why}}}
}

// do carries out one op.
func (a *applier) do(o *op, staged string) error {
	dir, name, err := a.at(o)
	if absent(err) {
		return a.conflictAt(o, "its directory is no longer there")
	} else if err != nil {
		return err
	}
	defer unix.Close(dir)
	stage := a.stage[o.Root]
	switch o.Do {
	case put:
		return a.put(o, dir, name, stage, staged)
	case swap:
		return a.swap(o, dir, name, stage, staged)
	case remove:
		return a.remove(o, dir, name, stage, staged)
	}
	return a.adjust(o, dir, name, o.Then)
}

func (a *applier) put(o *op, dir int, name string, stage int, staged string) error {
	now, err := stateAt(dir, name)
	if err == nil && now.Ino == o.Staged {
		return o.lastMode(dir, name)
	} else if err == nil {
		return a.conflictAt(o, "somebody else made it since")
	} else if !absent(err) {
		return err
	}
	if err := moveNew(stage, staged, dir, name); err == unix.EEXIST {
		return a.conflictAt(o, "somebody else made it since")
	} else if err != nil {
		return err
	}
	return o.lastMode(dir, name)
}

// moveNew renames to a name that must be free.
func moveNew(from int, fname string, to int, tname string) error {
	err := unix.Renameat2(from, fname, to, tname, unix.RENAME_NOREPLACE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	// A file system that cannot promise that: look, then rename.
	if _, err := stateAt(to, tname); err == nil {
		return unix.EEXIST
	} else if !absent(err) {
		return err
	}
	return unix.Renameat(from, fname, to, tname)
}

// lastMode takes away from a directory the rights it needed to be moved.
func (o *op) lastMode(dir int, name string) error {
	if o.Then == nil || !o.Then.dir() || o.Then.Mode&0o700 == 0o700 {
		return nil
	}
	return setMode(dir, name, o.Then.perm())
}

// loosen gives a directory the rights it needs to be moved.
func loosen(dir int, name string, s *state) error {
	if !s.dir() || s.Mode&0o700 == 0o700 {
		return nil
	}
	return setMode(dir, name, s.perm()|0o700)
}

const suffixOld = ".old"

func (a *applier) swap(o *op, dir int, name string, stage int, staged string) error {
	now, err := stateAt(dir, name)
	if err == nil && now.Ino == o.Staged {
		return o.lastMode(dir, name)
	}
	if err != nil && !absent(err) {
		return err
	}
	if absent(err) { // between the two renames of a file system without exchange
		if _, oerr := stateAt(stage, staged+suffixOld); oerr == nil {
			if err := moveNew(stage, staged, dir, name); err != nil {
				return err
			}
			return o.lastMode(dir, name)
		}
	}
	if why, err := o.differsAt(dir, name, false); err != nil || why != "" {
		if err == nil {
			err = a.conflictAt(o, why)
		}
		return err
	}
	if err := loosen(dir, name, o.Was); err != nil {
		return err
	}
	err = unix.Renameat2(stage, staged, dir, name, unix.RENAME_EXCHANGE)
	if err == unix.EINVAL || err == unix.ENOSYS {
		if err = moveNew(dir, name, stage, staged+suffixOld); err == nil {
			err = moveNew(stage, staged, dir, name)
		}
	} else if err == nil {
		if old, oerr := stateAt(stage, staged); oerr != nil || !a.sameMoved(o, old) {
			return errors.Join(a.conflictAt(o, "it was changed since"), unix.Renameat2(stage, staged, dir, name, unix.RENAME_EXCHANGE))
		}
	}
	if err != nil {
		return err
	}
	return o.lastMode(dir, name)
}

// sameMoved compares what was moved away with what was recorded: the rename has
// changed its ctime, and loosen its mode. On an overlay it has copied the file up,
// which may give it other numbers.
func (a *applier) sameMoved(o *op, now *state) bool {
	was := *o.Was
	if a.onOverlay(o) {
		was.Dev, was.Ino = now.Dev, now.Ino
	}
	if was.dir() && was.Mode&0o700 != 0o700 {
		was.Mode |= 0o700
	}
	return same(now, &was, false)
}

func (a *applier) remove(o *op, dir int, name string, stage int, staged string) error {
	now, err := stateAt(dir, name)
	if _, oerr := stateAt(stage, staged); oerr == nil && absent(err) {
		return nil // done
	}
	if absent(err) {
		return a.conflictAt(o, "it was removed since")
	} else if err != nil {
		return err
	}
	if why, err := o.differsAt(dir, name, false); err != nil || why != "" {
		if err == nil {
			err = a.conflictAt(o, why)
		}
		return err
	}
	if err := loosen(dir, name, now); err != nil {
		return err
	}
	if err := moveNew(dir, name, stage, staged); err != nil {
		return err
	}
	if old, err := stateAt(stage, staged); err != nil || !a.sameMoved(o, old) {
		return errors.Join(a.conflictAt(o, "it was changed since"), moveNew(stage, staged, dir, name))
	}
	return nil
}

// adjust gives a file or directory the mode, owner, times and attributes of to.
func (a *applier) adjust(o *op, dir int, name string, to *state) error {
	now, err := stateAt(dir, name)
	if absent(err) {
		return a.conflictAt(o, "it was removed since")
	} else if err != nil {
		return err
	}
	other := now.Ino != o.Was.Ino || now.Dev != o.Was.Dev
	if other && !a.onOverlay(o) || now.dir() != o.Was.dir() || !now.dir() && now.Size != o.Was.Size {
		return a.conflictAt(o, "it was changed since")
	}
	if now.dir() {
		// A directory needs the rights to be looked into while it is changed; the
		// last step takes them away.
		if err := loosen(dir, name, now); err != nil {
			return err
		}
	}
	return finishAt(dir, name, to)
}

// undo takes back what commit did, last first.
func (a *applier) undo() error {
	var failed error
	note := func(o *op, err error) {
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("take back %q: %w", o.Path, err))
		}
	}
	for i := range a.plan.Ops { // the rights that the changes needed
		if o := &a.plan.Ops[i]; o.Do == adjust && o.Was.dir() && (o.Was.Mode&0o300 != 0o300 || o.Then.Mode&0o300 != 0o300) {
			note(o, a.withRights(o))
		}
	}
	for i := len(a.plan.Ops) - 1; i >= 0; i-- {
		if o := &a.plan.Ops[i]; o.Do != adjust {
			note(o, a.undoOne(o, strconv.Itoa(i)))
		}
	}
	for i := range a.plan.Ops { // as commit has them: inner ones first
		if o := &a.plan.Ops[i]; o.Do == adjust {
			note(o, a.undoAdjust(o))
		}
	}
	return failed
}

func (a *applier) withRights(o *op) error {
	dir, name, err := a.at(o)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	now, err := stateAt(dir, name)
	if err != nil || now.Ino != o.Was.Ino {
		return err
	}
	return loosen(dir, name, now)
}

func (a *applier) undoAdjust(o *op) error {
	dir, name, err := a.at(o)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return a.adjust(o, dir, name, o.Was)
}

// undoOne goes by what is where: what was moved away is moved back, and never
// thrown away for being another file than was expected.
func (a *applier) undoOne(o *op, staged string) error {
	dir, name, err := a.at(o)
	if absent(err) {
		return nil // then nothing of ours is there
	} else if err != nil {
		return err
	}
	defer unix.Close(dir)
	stage := a.stage[o.Root]
	now, err := stateAt(dir, name)
	if err != nil && !absent(err) {
		return err
	}
	there := err == nil
	ours := there && o.Staged != 0 && now.Ino == o.Staged
	held, herr := stateAt(stage, staged)
	_, oerr := stateAt(stage, staged+suffixOld)
	if ours {
		if err := loosen(dir, name, now); err != nil {
			return err
		}
	}
	switch {
	case o.Do == put && ours:
		return moveNew(dir, name, stage, staged)
	case o.Do == put, o.Do == swap && !ours && herr == nil && held.Ino == o.Staged && oerr != nil:
		return nil // not done
	case o.Do == swap && ours && herr == nil:
		err = unix.Renameat2(stage, staged, dir, name, unix.RENAME_EXCHANGE)
	case o.Do == swap && ours && oerr == nil:
		if err = moveNew(dir, name, stage, staged); err == nil {
			err = moveNew(stage, staged+suffixOld, dir, name)
		}
	case o.Do == swap && !there && oerr == nil:
		err = moveNew(stage, staged+suffixOld, dir, name)
	case o.Do == remove && !there && herr == nil:
		err = moveNew(stage, staged, dir, name)
	case o.Do == remove && herr != nil:
		return nil // not done
	default:
		return errors.New("something else is there now; what was there is kept beside it")
	}
	if err != nil || !o.Was.dir() || o.Was.Mode&0o700 == 0o700 {
		return err
	}
	return setMode(dir, name, o.Was.perm())
}

// onOverlay says that the root is on an overlay itself, as in a container.
func (a *applier) onOverlay(o *op) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(a.roots[o.Root], &st) == nil && st.Type == unix.OVERLAYFS_SUPER_MAGIC
}

// clear removes the directories of new content, with what was moved away, and
// gives the roots their times back.
func (a *applier) clear() error {
	var failed error
	for i, st := range a.Stages {
		if st.Name == "" || a.stage[i] < 0 {
			continue
		}
		if now, err := stateAt(a.roots[i], st.Name); err != nil || now.Ino != st.Ino {
			failed = errors.Join(failed, fmt.Errorf("%q in %q is not what sbx made", st.Name, a.Roots[i]))
			continue
		}
		if err := removeTree(a.roots[i], st.Name); err != nil {
			failed = errors.Join(failed, fmt.Errorf("remove %q in %q: %w", st.Name, a.Roots[i], err))
		}
		times := a.plan.Bases[i]
		for _, o := range a.plan.Ops {
			if o.Do == adjust && o.Root == i && o.Path == "." && a.State == Applied {
				times = *o.Then
			}
		}
		if err := setTimes(a.roots[i], ".", times.Atime, times.Mtime); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
