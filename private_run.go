package sbx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// runPrefix begins the name of a directory that is for one run. It holds a lock
// for the time of the run, so that one that was killed can be told from a live one.
const runPrefix = "run-"

// unlocked is how long a directory without a lock may be one that is being made.
const unlocked = 10 * time.Second

// renew gives the run a temp directory of its own, and removes those of runs
// that are no more.
func (p *private) renew(id *sandbox.Identity) error {
	if p.fresh {
		return nil
	}
	p.reap()
	const tries = 3 // another run may take one without a lock for a dead one's
	var err error
	for range tries {
		if err = p.makeRun(id); err == nil {
			return nil
		}
	}
	return err
}

func (p *private) makeRun(id *sandbox.Identity) error {
	dir, err := os.MkdirTemp(p.dir, runPrefix)
	if err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_EXCL|os.O_RDWR|noFollow, 0o600)
	if err != nil {
		_ = os.RemoveAll(dir)
		return err
	}
	held := lockAlone(lock)
	if _, err = os.Lstat(lock.Name()); err == nil && !held {
		err = errors.New("lock " + lock.Name() + ": somebody else holds it")
	}
	if err == nil && id != nil { // the user it is for must be able to pass through
		err = os.Chmod(dir, 0o755)
	}
	if err == nil {
		err = makeFor(filepath.Join(dir, "tmp"), id)
	}
	if err != nil {
		lock.Close()
		_ = os.RemoveAll(dir)
		return err
	}
	p.run, p.runLock = dir, lock
	return nil
}

// endRun removes the directory of the run.
func (p *private) endRun() {
	if p.run == "" {
		return
	}
	if root, err := os.OpenRoot(p.dir); err == nil {
		removeTree(root, filepath.Base(p.run))
		root.Close()
	}
	p.runLock.Close()
}

// reap removes the directories of runs that are no more.
func (p *private) reap() {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), runPrefix) || !e.IsDir() {
			continue
		}
		dir := filepath.Join(p.dir, e.Name())
		lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|noFollow, 0)
		if errors.Is(err, fs.ErrNotExist) {
			if info, ierr := e.Info(); ierr != nil || time.Since(info.ModTime()) < unlocked {
				continue
			}
		} else if err != nil || !lockAlone(lock) {
			lock.Close()
			continue
		}
		if root, err := os.OpenRoot(p.dir); err == nil {
			removeTree(root, e.Name())
			root.Close()
		}
		if lock != nil {
			lock.Close()
		}
	}
}

// removeTree removes a directory, also where a command took its own rights away.
// It stays below root whatever links there are.
func removeTree(root *os.Root, name string) {
	if root.RemoveAll(name) == nil {
		return
	}
	_ = fs.WalkDir(root.FS(), filepath.ToSlash(name), func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = root.Chmod(path, 0o700)
		}
		return nil
	})
	_ = root.RemoveAll(name)
}
