package changes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A store is a directory of the caller's that no command can write. It holds a
// directory for each preview that is kept and for each apply that goes on:
//
//	lock            held while one is applied or discarded
//	ID/preview.json what the preview is
//	ID/journal.json how far an apply may be
//	ID/0, ID/1 …    the layers of the roots

const (
	previewFile = "preview.json"
	journalFile = "journal.json"
	stagePrefix = ".sbx-preview-"
)

// stageOf is the directory of new content in one root.
type stageOf struct {
	Name  string    `json:"name,omitempty"`
	Ino   uint64    `json:"ino,omitempty"`
	Links []prelink `json:"links,omitempty"`
}

// journal is what an apply needs to go on.
type journal struct {
	Stages []stageOf `json:"stages"`
}

// record is a Changes as it is kept.
type record struct {
	Version   int       `json:"version"`
	Made      time.Time `json:"made"`
	Command   string    `json:"command"`
	Roots     []rawPath `json:"roots"`
	Entries   []entryOf `json:"entries"`
	Conflicts []entryOf `json:"conflicts,omitempty"`
	Full      bool      `json:"full,omitempty"`
	Owner     *Owner    `json:"owner,omitempty"`
	Plan      plan      `json:"plan"`
	Layers    []string  `json:"layers,omitempty"` // below the directory of the preview
	journal
}

// entryOf is an Entry or a Conflict without loss.
type entryOf struct {
	Entry
	Root, Path, Target, Link rawPath
	Why                      string `json:"why,omitempty"`
}

const recordVersion = 1

func (c *Changes) record(made time.Time, command string) record {
	r := record{Version: recordVersion, Made: made, Command: command, Full: c.Full, Owner: c.owner, Plan: c.plan}
	for _, root := range c.Roots {
		r.Roots = append(r.Roots, rawPath(root))
	}
	for _, e := range c.Entries {
		r.Entries = append(r.Entries, entryOf{Entry: e, Root: rawPath(e.Root), Path: rawPath(e.Path), Target: rawPath(e.Target), Link: rawPath(e.Link)})
	}
	for _, f := range c.Conflicts {
		r.Conflicts = append(r.Conflicts, entryOf{Root: rawPath(f.Root), Path: rawPath(f.Path), Why: f.Why})
	}
	return r
}

func (r *record) changes() *Changes {
	c := &Changes{State: Kept, Full: r.Full, owner: r.Owner, plan: r.Plan, Entries: []Entry{}}
	for _, root := range r.Roots {
		c.Roots = append(c.Roots, string(root))
	}
	for _, e := range r.Entries {
		full := e.Entry
		full.Root, full.Path, full.Target, full.Link = string(e.Root), string(e.Path), string(e.Target), string(e.Link)
		c.Entries = append(c.Entries, full)
	}
	for _, f := range r.Conflicts {
		c.Conflicts = append(c.Conflicts, Conflict{string(f.Root), string(f.Path), f.Why})
	}
	c.count()
	return c
}

func stageName(dir string) string {
	if dir == "" {
		return fmt.Sprintf("%s%d", stagePrefix, os.Getpid())
	}
	return stagePrefix + filepath.Base(dir)
}

// lock keeps others from applying at the same time. Without a store there is no
// lock.
func (c *Changes) lock() (func(), error) {
	if c.store == "" {
		return func() {}, nil
	}
	f, err := os.OpenFile(filepath.Join(c.store, "lock"), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if err == unix.EWOULDBLOCK {
			err = errors.New("another preview of this workspace is being applied or discarded")
		}
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// journalDir is where the journal of an apply goes.
func (c *Changes) journalDir() (string, error) {
	if c.dir != "" || c.store == "" {
		return c.dir, nil
	}
	return NewDir(c.store)
}

// NewDir makes the directory of a new preview in the store. Its base name is the
// ID.
func NewDir(store string) (string, error) {
	return os.MkdirTemp(store, "p")
}

// forget removes the journal of an apply that did not happen.
func (c *Changes) forget(dir string) {
	if dir == "" {
		return
	}
	if dir != c.dir {
		_ = os.RemoveAll(dir)
		return
	}
	_ = os.Remove(filepath.Join(dir, journalFile))
}

// write writes the journal. From then on the apply can go on after a crash.
func (a *applier) write(dir string) error {
	if dir == "" {
		return nil
	}
	r := a.record(time.Now(), "")
	r.journal = a.journal
	return writeRecord(filepath.Join(dir, journalFile), &r)
}

func writeRecord(name string, r *record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	temp := name + ".new"
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(temp, name)
	}
	if err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

func readRecord(name string) (*record, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("read %q: %w", name, err)
	}
	if r.Version != recordVersion {
		return nil, fmt.Errorf("read %q: it is of another version of sbx", name)
	}
	if len(r.Plan.Bases) != len(r.Roots) {
		return nil, fmt.Errorf("read %q: it does not say what its directories were", name)
	}
	return &r, nil
}

// reopen opens what an apply that was cut off needs.
func (c *Changes) reopen() (*applier, error) {
	r, err := readRecord(filepath.Join(c.dir, journalFile))
	if err != nil {
		return nil, err
	}
	c.plan = r.Plan
	a := &applier{Changes: c, journal: r.journal}
	err = as(c.owner, func() error {
		if err := a.open(); err != nil {
			return err
		}
		for i, st := range a.Stages {
			if st.Name == "" || i >= len(a.roots) {
				continue
			}
			fd, err := openBelow(a.roots[i], st.Name, unix.O_RDONLY|unix.O_DIRECTORY)
			if err != nil {
				return fmt.Errorf("open %q in %q: %w", st.Name, c.Roots[i], err)
			}
			a.stage[i] = fd
			if now, err := stateAt(fd, "."); err != nil || now.Ino != st.Ino {
				return fmt.Errorf("%q in %q is not what sbx made", st.Name, c.Roots[i])
			}
		}
		return nil
	})
	if err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

// Keep stores the changes for later. Layers in memory are copied to the disk, at
// most limit bytes of them. command says in a few words what ran.
func (c *Changes) Keep(command string, limit int64) error {
	if c.store == "" {
		return errors.New("keep changes: there is no place to keep them in")
	}
	dir, err := c.journalDir()
	if err != nil {
		return fmt.Errorf("keep changes: %w", err)
	}
	if err := c.keep(dir, command, limit); err != nil {
		if dir != c.dir {
			_ = removeStored(dir)
		}
		return fmt.Errorf("keep changes: %w", err)
	}
	c.ID, c.State, c.dir = filepath.Base(dir), Kept, dir
	return nil
}

func (c *Changes) keep(dir, command string, limit int64) error {
	r := c.record(time.Now(), command)
	r.Plan.Links = slices.Clone(r.Plan.Links)
	for i, l := range c.layers {
		name, err := filepath.Rel(dir, l.Name())
		if err != nil || !filepath.IsLocal(name) {
			name = fmt.Sprint(i)
			if err := c.copyLayer(i, filepath.Join(dir, name), &r.Plan, limit); err != nil {
				return err
			}
		} else if err := unix.Syncfs(int(l.Fd())); err != nil {
			return err
		}
		r.Layers = append(r.Layers, name)
	}
	return writeRecord(filepath.Join(dir, previewFile), &r)
}

// copyLayer copies what is new of a layer. The plan has the rest.
func (c *Changes) copyLayer(i int, to string, plan *plan, limit int64) error {
	if err := MakeLayer(to, c.owner); err != nil {
		return err
	}
	if c.owner != nil { // who must be able to pass through
		if err := os.Chmod(filepath.Dir(to), 0o711); err != nil {
			return err
		}
	}
	return as(c.owner, func() error {
		dst, err := unix.Open(to, dirFlags, 0)
		if err != nil {
			return err
		}
		defer unix.Close(dst)
		inodes := map[string]uint64{}
		cp := &copier{
			src: int(c.layers[i].Fd()), dst: dst, names: map[uint64]string{}, files: maxFiles, bytes: limit,
			mode: asItIs, skip: (*state).whiteout, made: func(path string, ino uint64) { inodes[path] = ino },
		}
		if err := cp.tree(".", "."); err != nil {
			return err
		}
		for n := range plan.Links { // they are known by their inodes
			if l := &plan.Links[n]; l.Root == i {
				l.Ino = inodes[string(l.Path)]
			}
		}
		return nil
	})
}

// MakeLayer makes an empty directory for a layer; owner nil: the caller's.
func MakeLayer(dir string, owner *Owner) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if owner == nil {
		return nil
	}
	return os.Lchown(dir, int(owner.UID), int(owner.GID))
}

// List gives the previews of a store, oldest first. What cannot be read is left
// out: it was not finished.
func List(store string) ([]Stored, error) {
	entries, err := os.ReadDir(store)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var list []Stored
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), "p") {
			continue
		}
		dir := filepath.Join(store, e.Name())
		s := Stored{ID: e.Name(), State: Unfinish}
		r, err := readRecord(filepath.Join(dir, journalFile))
		if err != nil {
			s.State = Kept
			if r, err = readRecord(filepath.Join(dir, previewFile)); err != nil {
				continue
			}
		}
		c := r.changes()
		s.Made, s.Command, s.Roots, s.Totals = r.Made, r.Command, c.Roots, c.Totals
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Stored) int { return a.Made.Compare(b.Made) })
	return list, nil
}

// Load opens a preview that was kept, or an apply that was cut off.
func Load(store, id string) (*Changes, error) {
	if id == "" || id != filepath.Base(id) || !strings.HasPrefix(id, "p") {
		return nil, fmt.Errorf("%w %q", ErrNoPreview, id)
	}
	dir := filepath.Join(store, id)
	r, err := readRecord(filepath.Join(dir, journalFile))
	if err == nil {
		c := r.changes()
		c.ID, c.State, c.store, c.dir = id, Unfinish, store, dir
		return c, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if r, err = readRecord(filepath.Join(dir, previewFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w %q", ErrNoPreview, id)
	} else if err != nil {
		return nil, err
	}
	c := r.changes()
	c.ID, c.store, c.dir = id, store, dir
	for _, name := range r.Layers {
		if !filepath.IsLocal(name) {
			return nil, fmt.Errorf("read preview %q: layer %q lies elsewhere", id, name)
		}
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_DIRECTORY, 0)
		if err != nil {
			_ = c.Close()
			return nil, fmt.Errorf("read preview %q: %w", id, err)
		}
		c.layers = append(c.layers, f)
	}
	return c, nil
}

// Expire removes previews that were made before a moment, and what was left by a
// run that was cut off before then. An apply that was cut off stays.
func Expire(store string, before time.Time) error {
	entries, err := os.ReadDir(store)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	var failed error
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !e.IsDir() || !strings.HasPrefix(e.Name(), "p") || !info.ModTime().Before(before) {
			continue
		}
		dir := filepath.Join(store, e.Name())
		if _, err := os.Lstat(filepath.Join(dir, journalFile)); err == nil {
			continue
		}
		failed = errors.Join(failed, removeStored(dir))
	}
	return failed
}

// removeStored removes a preview's directory, whatever modes a command left in
// the layers.
func removeStored(dir string) error {
	parent, err := unix.Open(filepath.Dir(dir), dirFlags, 0)
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	return removeTree(parent, filepath.Base(dir))
}
