package hook

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Place says whose settings are meant.
type Place struct {
	Project bool   // the project's, below Dir; else the user's
	Dir     string // where the user stands, absolute
	Home    string // absolute
	Getenv  func(string) string
}

// Change is an edit of a settings file, not yet made.
type Change struct {
	Path string // as the agent knows it
	// Notes are for the user: what else it takes for the hook to run.
	Notes []string

	target   string // what is written: Path without symbolic links
	old, new []byte
	existed  bool
	remove   bool
	mode     fs.FileMode
}

// maxSettings bounds a settings file.
const maxSettings = 4 << 20

// Install works out the change that makes the agent ask sbx, an absolute path,
// before each command. Flags are those of the hook.
func (p Protocol) Install(place Place, sbx string, flags []string) (*Change, error) {
	if runtime.GOOS == "windows" {
		return nil, errors.ErrUnsupported
	}
	if !filepath.IsAbs(sbx) || strings.ContainsAny(sbx, "\x00\n") {
		return nil, fmt.Errorf("install hook of %q: want an absolute path on one line", sbx)
	}
	c, d, err := p.open(place)
	if err != nil {
		return nil, err
	}
	for _, e := range p.settings.entries(true) {
		if p.wants(e, flags) {
			err = d.install(e, p.commandLine(sbx, flags, e))
		} else {
			err = d.removeAll(e.event)
		}
		if err != nil {
			return nil, fmt.Errorf("edit %q: %w", c.Path, err)
		}
	}
	if c.new = d.src; !c.existed {
		c.new = append(c.new, '\n')
	}
	c.note(d)
	return c, c.sound()
}

// wants reports whether an entry belongs to an installation with these flags.
func (p Protocol) wants(e entry, flags []string) bool {
	for _, f := range flags {
		if f == confineFlag {
			return true
		}
	}
	return !e.confine
}

// Uninstall works out the change that takes the hook out again, with all that
// was put in with it.
func (p Protocol) Uninstall(place Place) (*Change, error) {
	c, d, err := p.open(place)
	if err != nil {
		return nil, err
	}
	entries := p.settings.entries(true)
	for i := len(entries) - 1; i >= 0; i-- { // the last one put in first
		if err := d.removeAll(entries[i].event); err != nil {
			return nil, fmt.Errorf("edit %q: %w", c.Path, err)
		}
	}
	c.new, c.remove = d.src, d.gone && c.existed
	if c.remove {
		c.new = nil
	}
	return c, c.sound()
}

// sound makes sure that an edit left a file that can be read.
func (c *Change) sound() error {
	if _, err := (&document{src: c.new}).parse(); err != nil {
		return fmt.Errorf("edit %q: the result does not parse, so nothing is written: %w", c.Path, err)
	}
	return nil
}

func (c *Change) note(d *document) {
	if d.p.settings.note != "" && !c.Empty() {
		c.Notes = append(c.Notes, d.p.settings.note)
	}
	root, err := d.parse()
	if err != nil || root == nil {
		return
	}
	if off := root.member("disableAllHooks"); off != nil && string(d.src[off.start:off.end]) == "true" {
		c.Notes = append(c.Notes, `"disableAllHooks" is true in this file: no hook runs.`)
	}
}

// open finds and reads the settings file.
func (p Protocol) open(place Place) (*Change, *document, error) {
	c := &Change{mode: 0o600}
	var err error
	if c.Path, err = p.path(place); err != nil {
		return nil, nil, err
	}
	if place.Project {
		c.mode = 0o644
	}
	if c.target, err = target(c.Path); err != nil {
		return nil, nil, err
	}
	if err := place.permits(c.Path, c.target); err != nil {
		return nil, nil, err
	}
	info, err := os.Stat(c.target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, &document{p: p}, nil
	case err != nil:
		return nil, nil, err
	case !info.Mode().IsRegular():
		return nil, nil, fmt.Errorf("read %q: it is no regular file", c.Path)
	case info.Size() > maxSettings:
		return nil, nil, fmt.Errorf("read %q: it is larger than %d MiB", c.Path, maxSettings>>20)
	}
	c.existed, c.mode = true, info.Mode().Perm()
	if c.old, err = os.ReadFile(c.target); err != nil {
		return nil, nil, err
	}
	d := &document{p: p, src: c.old}
	if _, err := d.parse(); err != nil {
		return nil, nil, fmt.Errorf("read %q: %w", c.Path, err)
	}
	return c, d, nil
}

// path is where the agent looks for its settings.
func (p Protocol) path(place Place) (string, error) {
	s := p.settings
	if place.Project {
		if !filepath.IsAbs(place.Dir) {
			return "", fmt.Errorf("settings of the project %q: want an absolute path", place.Dir)
		}
		return filepath.Join(place.Dir, s.home.folder, s.file), nil
	}
	if s.home.variable != "" && place.Getenv != nil {
		if dir := place.Getenv(s.home.variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, s.file), nil
		}
	}
	if !filepath.IsAbs(place.Home) {
		return "", errors.New("settings of the user: the home directory is not known (HOME)")
	}
	return filepath.Join(place.Home, s.home.folder, s.file), nil
}

// target follows symbolic links, also those of folders; the file itself may be
// missing, but not what a link points to.
func target(path string) (string, error) {
	if info, err := os.Lstat(path); err == nil {
		resolved, err := filepath.EvalSymlinks(path)
		if err != nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", fmt.Errorf("read %q: it is a symbolic link to nothing", path)
		}
		return resolved, err
	}
	dir := filepath.Dir(path)
	if _, err := os.Lstat(dir); err == nil {
		resolved, err := filepath.EvalSymlinks(dir)
		return filepath.Join(resolved, filepath.Base(path)), err
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	return filepath.Join(parent, filepath.Base(dir), filepath.Base(path)), err
}

// permits refuses a link that leads from the user's settings into the project,
// where an agent may write, and one that leads out of the project.
func (place Place) permits(path, target string) error {
	dir, err := filepath.EvalSymlinks(place.Dir)
	if err != nil {
		return fmt.Errorf("settings %q: %w", path, err)
	}
	if place.Project {
		if !within(target, dir) {
			return fmt.Errorf("settings %q: a link leads out of the project, to %q", path, target)
		}
		return nil
	}
	home, err := filepath.EvalSymlinks(place.Home)
	if err != nil {
		home = place.Home
	}
	linked := target != filepath.Join(home, strings.TrimPrefix(path, filepath.Clean(place.Home)))
	if linked && target != path && within(target, dir) && !within(home, dir) {
		return fmt.Errorf("settings %q: a link leads into this directory, to %q; for the project's own settings say --project", path, target)
	}
	return nil
}

// Removes reports whether the file goes: nothing but the hook was in it.
func (c *Change) Removes() bool { return c.remove }

// Empty reports whether there is nothing to do.
func (c *Change) Empty() bool {
	return !c.remove && bytes.Equal(c.old, c.new) && (c.existed || len(c.new) == 0)
}

// Apply makes the change, in one step: an agent that reads the file meanwhile
// sees the old or the new one.
func (c *Change) Apply() error {
	if c.Empty() {
		return nil
	}
	now, err := os.ReadFile(c.target)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !c.existed:
	case err != nil:
		return err
	case !c.existed || !bytes.Equal(now, c.old):
		return fmt.Errorf("write %q: it was changed meanwhile; try again", c.Path)
	}
	if c.remove {
		return os.Remove(c.target)
	}
	if err := os.MkdirAll(filepath.Dir(c.target), 0o755); err != nil {
		return err
	}
	return c.write()
}

func (c *Change) write() (err error) {
	f, err := os.CreateTemp(filepath.Dir(c.target), "."+filepath.Base(c.target)+".sbx-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if c.existed {
		if err := keepOwner(f, c.target); err != nil {
			return err
		}
	}
	if err := f.Chmod(c.mode); err != nil {
		return err
	}
	if _, err := f.Write(c.new); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), c.target)
}
