package changes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Read compares layers with the real directories. The run must be over. The
// layers belong to the result from then on, also with an error.
func Read(layers []Layer, o Options) (*Changes, error) {
	c := &Changes{State: Pending, Entries: []Entry{}, owner: o.Owner, store: o.Store, dir: o.Dir}
	for _, l := range layers {
		c.Roots = append(c.Roots, l.Root)
		c.layers = append(c.layers, l.Dir)
	}
	err := as(o.Owner, func() error {
		for i, l := range layers {
			if err := readLayer(c, i, l, o); err != nil {
				return fmt.Errorf("read changes of %q: %w", l.Root, err)
			}
		}
		return nil
	})
	if err != nil {
		return c, err
	}
	for _, l := range layers {
		c.Full = c.Full || usedUp(int(l.Dir.Fd()))
	}
	c.settle()
	c.Protect(o.Protect, o.Except)
	return c, nil
}

// usedUp says that a layer in memory has no room left.
func usedUp(layer int) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(layer, &st) == nil && st.Type == unix.TMPFS_MAGIC && (st.Bavail == 0 || st.Ffree == 0)
}

// settle puts everything in order: what appears before what goes away, so that
// a reader finds either, and directories last and inside out, because their
// times change with what is in them.
func (c *Changes) settle() {
	rank := map[verb]int{put: 0, swap: 1, remove: 2, adjust: 3}
	slices.SortStableFunc(c.plan.Ops, func(a, b op) int {
		if a.Do != b.Do {
			return rank[a.Do] - rank[b.Do]
		}
		if a.Do == adjust {
			return strings.Count(string(b.Path), "/") - strings.Count(string(a.Path), "/") + dots(a.Path) - dots(b.Path)
		}
		return 0
	})
	slices.SortStableFunc(c.Entries, func(a, b Entry) int {
		if a.Root != b.Root {
			return slices.Index(c.Roots, a.Root) - slices.Index(c.Roots, b.Root)
		}
		return strings.Compare(a.Path, b.Path)
	})
	c.count()
}

// dots puts the root behind what lies in it.
func dots(p rawPath) int {
	if p == "." {
		return 1
	}
	return 0
}

// reader reads one layer.
type reader struct {
	*Changes
	index        int
	name         string // of the root
	upper, lower int
	mount        uint64 // that the root is in
	began        int64
	copied       *Snapshot
	linked       map[uint64][]int  // entries of the layer's files with several names
	modes        map[string]uint32 // true modes of what had to be opened up
	todo         []string          // directories that exist on both sides
	parted       []string          // files with other names that were removed or changed
	moved        []string          // files that came by copying, from elsewhere
}

func readLayer(c *Changes, index int, l Layer, o Options) error {
	lower, err := unix.Open(l.Root, dirFlags, 0)
	if err != nil {
		return err
	}
	defer unix.Close(lower)
	r := &reader{
		Changes: c, index: index, name: l.Root, upper: int(l.Dir.Fd()), lower: lower,
		began: o.Began.UnixNano(), copied: l.Copy, linked: map[uint64][]int{}, modes: map[string]uint32{}, todo: []string{"."},
	}
	base, err := stateAt(lower, ".")
	if err != nil {
		return err
	}
	if l.Ino != 0 && (base.Ino != l.Ino || base.Dev != l.Dev) {
		return errors.New("it is another directory now")
	}
	c.plan.Bases = append(c.plan.Bases, *base)
	if r.mount, err = mountAt(lower, "."); err != nil {
		return err
	}
	for len(r.todo) > 0 {
		path := r.todo[len(r.todo)-1]
		r.todo = r.todo[:len(r.todo)-1]
		if err := r.both(path); err != nil {
			if errors.Is(err, errDeep) || errors.Is(err, unix.EACCES) {
				r.conflict(path, whyUnread(err))
				continue
			}
			return fmt.Errorf("%q: %w", path, err)
		}
	}
	r.hardLinks()
	r.linkNames()
	return nil
}

func whyUnread(err error) string {
	if errors.Is(err, errDeep) {
		return "it lies too deep to be carried over"
	}
	return "it cannot be read: " + err.Error()
}

func (r *reader) conflict(path, why string) {
	r.Conflicts = append(r.Conflicts, Conflict{Root: r.name, Path: path, Why: why})
}

func (r *reader) entry(e Entry) {
	e.Root = r.name
	r.Entries = append(r.Entries, e)
}

func (r *reader) op(o op) {
	o.Root = r.index
	r.plan.Ops = append(r.plan.Ops, o)
}

// openUpper opens a directory of the layer. The command may have taken its own
// rights to it away; the layer is ours, so they are given back, and the true
// mode is remembered.
func (r *reader) openUpper(path string) (int, error) {
	if path == "." {
		return unix.Openat(r.upper, ".", dirFlags, 0)
	}
	return openBelow(r.upper, path, unix.O_RDONLY|unix.O_DIRECTORY)
}

// look gives the state of a name in the layer, and makes it readable.
func (r *reader) look(dir int, name, path string) (*state, error) {
	s, err := stateAt(dir, name)
	if err != nil {
		return nil, err
	}
	need := uint32(0)
	switch {
	case s.dir():
		need = 0o700
	case s.file():
		need = 0o400
	}
	if s.Mode&need != need {
		if err := setMode(dir, name, s.perm()|need); err != nil {
			return nil, err
		}
		r.modes[path] = s.perm()
		r.plan.Modes = append(r.plan.Modes, modeOf{r.index, rawPath(path), s.perm()})
	}
	s.Mode = s.Mode&^0o7777 | r.trueMode(path, s.perm())
	if s.dir() || s.file() {
		if s.Attrs, err = attrsAt(dir, name); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// both compares a directory that exists on both sides.
func (r *reader) both(path string) error {
	up, err := r.openUpper(path)
	if err != nil {
		return err
	}
	defer unix.Close(up)
	low, err := openDir(r.lower, path)
	if err != nil {
		return err
	}
	defer unix.Close(low)
	list, err := names(up)
	if err != nil {
		return err
	}
	before := len(r.plan.Ops)
	for _, name := range list {
		if err := r.one(up, low, name, join(path, name)); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
	if r.copied != nil {
		for _, name := range r.copied.namesIn(path) {
			if _, there := slices.BinarySearch(list, name); !there {
				if err := r.gone(low, name, join(path, name)); err != nil {
					return err
				}
			}
		}
	}
	inside := slices.ContainsFunc(r.plan.Ops[before:], func(o op) bool { return o.Do != adjust })
	return r.directory(up, low, path, inside)
}

func openDir(root int, path string) (int, error) {
	if path == "." {
		path = ""
	}
	return openBelow(root, path, unix.O_PATH|unix.O_DIRECTORY)
}

// directory compares the two sides of a directory itself. inside says that
// something in it will change, and its times with it.
func (r *reader) directory(up, low int, path string, inside bool) error {
	then, err := r.look(up, ".", path)
	if err != nil {
		return err
	}
	was, err := stateAt(low, ".")
	if err != nil {
		return err
	}
	if was.Attrs, err = attrsAt(low, "."); err != nil {
		return err
	}
	if path == "." { // the layer's top was made by us
		then.UID, then.GID = was.UID, was.GID
	}
	differs := !sameMeta(was, then)
	if !differs && !inside && was.Mtime == then.Mtime {
		return nil
	}
	if differs {
		r.entry(Entry{Path: path, Kind: Metadata, Type: "directory", Mode: then.perm(), OldMode: was.perm()})
	}
	r.op(op{Do: adjust, Path: rawPath(path), Was: was, Then: then})
	return nil
}

// trueMode is the mode that a path of the layer had for the command.
func (r *reader) trueMode(path string, have uint32) uint32 {
	if mode, known := r.modes[path]; known {
		return mode
	}
	return have
}

// sameMeta compares what an adjust carries over, times aside.
func sameMeta(a, b *state) bool {
	if a.perm() != b.perm() || a.UID != b.UID || a.GID != b.GID || len(a.Attrs) != len(b.Attrs) {
		return false
	}
	for k, v := range a.Attrs {
		if w, ok := b.Attrs[k]; !ok || string(v) != string(w) {
			return false
		}
	}
	return true
}

// one compares one name of the layer with the real one.
func (r *reader) one(up, low int, name, path string) error {
	then, err := r.look(up, name, path)
	if err != nil {
		return err
	}
	if r.copied == nil && (then.whiteout() || then.file() && then.Size == 0 && hasMark(up, name, "whiteout", "")) {
		return r.gone(low, name, path)
	}
	was, err := stateAt(low, name)
	if absent(err) {
		return r.fresh(up, low, name, path, then)
	} else if err != nil {
		return err
	}
	if mounted, err := r.mounted(low, name, path); mounted || err != nil {
		return err
	}
	opaque := then.dir() && r.copied == nil && hasMark(up, name, "opaque", "y")
	replaced := r.copied != nil && then.dir() && !r.copied.from(path, then.Ino)
	switch {
	case then.dir() && was.dir() && !opaque && !replaced:
		r.todo = append(r.todo, path)
		return nil
	case then.file() && was.file():
		return r.file(up, low, name, path, was, then)
	case then.is(unix.S_IFLNK) && was.is(unix.S_IFLNK) && then.Target == was.Target && then.Mtime == was.Mtime && sameMeta(was, then):
		return nil
	case then.Mode == was.Mode && !then.dir() && !was.is(unix.S_IFLNK) && then.Mtime == was.Mtime && sameMeta(was, then):
		return nil // a fifo or socket that is the same
	}
	return r.replace(up, low, name, path, was, then)
}

// file compares two regular files.
func (r *reader) file(up, low int, name, path string, was, then *state) (err error) {
	if was.Attrs, err = attrsAt(low, name); err != nil {
		return err
	}
	same := false
	if was.Size == then.Size {
		if same, err = r.compare(up, low, name, was, then); err != nil {
			return err
		}
	}
	meta := sameMeta(was, then) && was.Mtime == then.Mtime
	inPlace, elsewhere := r.origin(up, name, path, was, then)
	switch {
	case same && meta:
		r.anchor(path, then)
		return nil
	case was.Links > 1 && inPlace:
		r.entry(Entry{Path: path, Kind: Changed, Type: "file", Size: then.Size, OldSize: was.Size, Mode: then.perm(), OldMode: was.perm()})
		r.conflict(path, fmt.Sprintf("it has %d names (hard links), and the change would reach only this one", was.Links))
		return nil
	case same && !elsewhere:
		if !r.permitted(path, was, then) {
			return nil
		}
		r.touched(path, was)
		r.anchor(path, then)
		r.entry(Entry{Path: path, Kind: Metadata, Type: "file", Size: then.Size, OldSize: was.Size, Mode: then.perm(), OldMode: was.perm()})
		r.op(op{Do: adjust, Path: rawPath(path), Was: was, Then: then})
		return nil
	}
	if elsewhere {
		r.moved = append(r.moved, path)
	}
	return r.replace(up, low, name, path, was, then)
}

// compare compares the content; what cannot be read is not the same.
func (r *reader) compare(up, low int, name string, was, then *state) (bool, error) {
	a, err := openFile(up, name, then.Ino)
	if err != nil {
		return false, err
	}
	defer unix.Close(a)
	b, err := openFile(low, name, was.Ino)
	if err != nil {
		return false, nil
	}
	defer unix.Close(b)
	return sameContent(a, b)
}

// anchor remembers that a file of the layer is a file that stays: its other
// names become hard links to that.
func (r *reader) anchor(path string, then *state) {
	if then.Links > 1 {
		r.plan.Links = append(r.plan.Links, anchor{r.index, then.Ino, rawPath(path)})
	}
}

// origin says whether a file of the layer is a copy of the real file of that
// name, or of a real file of another name.
//
// An overlay copies a file up before it is changed, linked or renamed. It marks
// the copy, except where the file has several names: then nothing tells copy and
// new file apart but their times. A copy has the time of reading that the real
// file had, which is before its own birth; sbx mounts the overlay so that reading
// does not change it.
func (r *reader) origin(up int, name, path string, was, then *state) (inPlace, elsewhere bool) {
	if r.copied != nil {
		here := r.copied.from(path, then.Ino)
		return here, !here && r.copied.knows(then.Ino)
	}
	if hasMark(up, name, "origin", "") { // of a file with one name
		return was != nil && was.Links == 1, false
	}
	if copy := r.isCopy(up, name, then); was != nil && was.Links > 1 {
		return copy, false
	} else {
		return false, copy
	}
}

func (r *reader) isCopy(up int, name string, then *state) bool {
	var st unix.Statx_t
	err := unix.Statx(up, name, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st)
	if err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return true // it may be one
	}
	// The clock of files ticks every few milliseconds. What was read just before it was
	// copied has the time of the copy's birth as that of its last reading, too; a new
	// file is not older than its birth.
	born := st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	return then.Atime < born || then.Atime == born && then.Mtime < born
}

// permitted refuses set-id bits that were not there: the system-call filter
// lets no command make such a file.
func (r *reader) permitted(path string, was, then *state) bool {
	const setID = unix.S_ISUID | unix.S_ISGID
	if then.dir() || then.Mode&setID == 0 || was != nil && was.file() && was.Mode&setID == then.Mode&setID {
		return true
	}
	r.conflict(path, "it would be a set-id program")
	return false
}

// mounted says, and notes, that something else is mounted at a path.
func (r *reader) mounted(low int, name, path string) (bool, error) {
	mount, err := mountAt(low, name)
	if err != nil || mount == r.mount {
		return false, err
	}
	r.conflict(path, "something else is mounted there")
	return true, nil
}

// touched notes a real file that changed while the command ran.
func (r *reader) touched(path string, s *state) {
	if s.Ctime > r.began && !s.dir() {
		r.conflict(path, "the file itself was changed while the command ran")
	}
}
