package sbx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// Where no directory can be kept, as in a container with a read-only root, a run
// gets private directories of its own, which go with it.

// freshPrefix begins their names.
const freshPrefix = "sbx-run-"

// freshBases are tried in turn. Containers with a read-only root still have the
// second one.
func (e *Engine) freshBases() []string { return []string{realPath(e.tempDir()), "/dev/shm"} }

// openFresh makes private directories for one run. In the second base a command
// of the tier landlock can reach them by name; what is made is used by descriptor
// and without following links, and nothing else is kept there.
func (e *Engine) openFresh(id *sandbox.Identity, writable []string) (*private, error) {
	var failed error
	for _, base := range e.freshBases() {
		if inAny(base, writable) {
			continue
		}
		reapFresh(base)
		p, err := makeFresh(base, id)
		if err == nil {
			return p, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

func makeFresh(base string, id *sandbox.Identity) (*private, error) {
	if making := gate(base); making != nil {
		defer making.Close()
		if err := lockShared(making); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp(base, freshPrefix) // 0700
	if err != nil {
		return nil, err
	}
	p := &private{dir: dir, fresh: true}
	if id != nil {
		err = os.Chmod(dir, 0o711) // the user it is for must be able to pass through
	}
	if err == nil {
		err = p.mark()
	}
	if err == nil {
		err = p.fill(id)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// mark says that somebody uses the directory: the lock ends with the process.
// The file gets its name when it is locked, so that nobody finds it free.
func (p *private) mark() error {
	lock, err := os.OpenFile(filepath.Join(p.dir, "new"), os.O_CREATE|os.O_EXCL|os.O_RDWR|noFollow, 0o600)
	if err != nil {
		return err
	}
	p.lock = lock
	if err := lockShared(lock); err != nil {
		return err
	}
	return os.Rename(lock.Name(), filepath.Join(p.dir, "lock"))
}

// gate is a file that is locked by those who make a directory in base: when nobody
// does, one without a lock was left by a run that was killed. In a directory that
// others can write to there is none, because they could hold it for ever.
func gate(base string) *os.File {
	info, err := os.Lstat(base)
	if err != nil || identify(info).uid != callerUID() || info.Mode().Perm()&0o022 != 0 {
		return nil
	}
	making, err := os.OpenFile(filepath.Join(base, "making"), os.O_CREATE|os.O_RDWR|noFollow, 0o600)
	if err != nil {
		return nil
	}
	return making
}

// youngAge is how long a directory without a lock is left alone where there is no
// gate: it may be one that is being made.
const youngAge = time.Minute

// reapFresh removes what runs left whose sbx was killed. It touches no directory
// that is in use, and none of another user.
func reapFresh(base string) {
	for _, dir := range abandonedIn(base) {
		removeTree(dir)
	}
}

// abandonedIn lists such directories.
func abandonedIn(base string) []string {
	making := gate(base)
	nobodyMakes := making != nil && lockAlone(making)
	var dead []string
	entries, _ := os.ReadDir(base)
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), freshPrefix) {
			continue
		}
		dir := filepath.Join(base, entry.Name())
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() || identify(info).uid != callerUID() {
			continue
		} else if abandoned(dir, info, nobodyMakes) {
			dead = append(dead, dir)
		}
	}
	if making != nil {
		making.Close() // the others need not wait for what follows
	}
	return dead
}

func abandoned(dir string, info os.FileInfo, nobodyMakes bool) bool {
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|noFollow|noWait, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nobodyMakes || time.Since(info.ModTime()) > youngAge
	}
	if err != nil {
		return false
	}
	defer lock.Close()
	return lockAlone(lock)
}

// Abandoned lists the directories of runs whose sbx was killed.
func (e *Engine) Abandoned() []string {
	var dead []string
	for _, base := range e.freshBases() {
		dead = append(dead, abandonedIn(base)...)
	}
	return dead
}

// RemoveAbandoned removes what Abandoned lists.
func (e *Engine) RemoveAbandoned() error {
	for _, base := range e.freshBases() {
		reapFresh(base)
	}
	if left := e.Abandoned(); len(left) > 0 {
		return fmt.Errorf("remove %q: it is still there", left[0])
	}
	return nil
}
