package sbx

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Private directories are kept for the next command of their workspace. When there is
// no such workspace any more, nothing comes for them.

// Orphan is the private directory of a workspace that is gone, and that nobody holds.
type Orphan struct {
	Dir       string
	Workspace string // "": nobody knows; it was never written down
	Used      time.Time
}

// goneName begins the name of one that is being removed.
const goneName = "gone-"

// workspaceName is the name of the private directory of a workspace, behind the prefix
// of the place.
func workspaceName(workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	return hex.EncodeToString(sum[:8])
}

// note writes down, in the file that is locked, whose directory this is. size is that of
// the file.
func (p *private) note(workspace string, size int64) {
	if text := workspace + "\n"; size != int64(len(text)) {
		_, _ = p.lock.WriteAt([]byte(text), 0) // a full disk: the next run does it
	}
}

// maxNoted bounds what is read of such a file: the longest path of Linux.
const maxNoted = 4096

// Orphans lists what is the caller's own and nobody's any more: directories of
// workspaces that are gone, and, as unknown, those of which nothing says whose they are
// and that were not used for a day. One that holds a preview is neither.
func (e *Engine) Orphans() (gone, unknown []Orphan) {
	seen := map[string]bool{}
	for _, base := range e.survey().bases {
		entries, err := os.ReadDir(base.path)
		if err != nil || seen[base.path] || !ownedDir(base.path) {
			continue
		}
		seen[base.path] = true
		for _, entry := range entries {
			if !isPrivateName(entry.Name()) {
				continue
			}
			o, lock, err := openOrphan(filepath.Join(base.path, entry.Name()))
			if err != nil {
				continue
			}
			lock.Close()
			if o.Workspace != "" || strings.HasPrefix(entry.Name(), goneName) {
				gone = append(gone, o)
			} else if time.Since(o.Used) > tempIdle {
				unknown = append(unknown, o)
			}
		}
	}
	return gone, unknown
}

var errInUse = errors.New("it is in use")

// openOrphan looks at a private directory and locks it; an error says that it is none,
// or somebody's.
func openOrphan(dir string) (Orphan, *os.File, error) {
	o := Orphan{Dir: dir}
	p := private{dir: dir}
	if !ownedDir(dir) {
		return o, nil, errInUse
	}
	if list, err := os.ReadDir(p.store()); err == nil && len(list) > 0 {
		return o, nil, errInUse // the only copy of somebody's work
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|noFollow|noWait, 0)
	if err != nil {
		return o, nil, err
	}
	info, err := lock.Stat()
	if err == nil && info.Mode().IsRegular() && lockAlone(lock) {
		o.Used = info.ModTime()
		text, rerr := io.ReadAll(io.LimitReader(lock, maxNoted+1))
		ws, whole := strings.CutSuffix(string(text), "\n")
		name := filepath.Base(dir)
		switch {
		case rerr != nil:
		case strings.HasPrefix(name, goneName):
			return o, lock, nil
		case !whole || !strings.HasSuffix("-"+name, "-"+workspaceName(ws)):
			return o, lock, nil
		case isGone(ws, o.Used):
			o.Workspace = ws
			return o, lock, nil
		}
	}
	lock.Close()
	return o, nil, errInUse
}

// isGone says whether there is no such directory any more. One on a disk that is not
// attached, or in a container with this home, looks the same: where the directory above
// is the root, is not there either, or is empty like a mount point, only what was not
// used for a day is taken for gone. Its temp directory would be emptied then anyway.
func isGone(workspace string, used time.Time) bool {
	if !filepath.IsAbs(workspace) {
		return false
	}
	if _, err := os.Lstat(workspace); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if time.Since(used) > tempIdle {
		return true
	}
	above := filepath.Dir(workspace)
	around, err := os.Open(above)
	if err != nil || above == "/" {
		return false
	}
	defer around.Close()
	names, _ := around.Readdirnames(1)
	return len(names) > 0
}

// Size adds up the files of the directory, until the deadline: false says that there are
// more. The zero time is none.
func (o Orphan) Size(deadline time.Time) (bytes int64, whole bool) {
	err := filepath.WalkDir(o.Dir, func(_ string, d fs.DirEntry, err error) error {
		if !deadline.IsZero() && time.Now().After(deadline) {
			return fs.SkipAll
		}
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				bytes += info.Size()
			}
		}
		return nil // what cannot be read is not counted
	})
	return bytes, err == nil && (deadline.IsZero() || !time.Now().After(deadline))
}

// RemoveOrphans removes those of a list that are still what they were.
func (e *Engine) RemoveOrphans(list []Orphan) error {
	var errs []error
	for _, o := range list {
		if err := o.remove(); err != nil {
			errs = append(errs, fmt.Errorf("remove %q: %w", o.Dir, err))
		}
	}
	return errors.Join(errs...)
}

// remove moves the directory away before it takes it apart, so that a run that begins
// meanwhile makes a new one; who has waited for the lock finds it without a name.
func (o Orphan) remove() error {
	if _, err := os.Lstat(o.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil // somebody else was faster
	}
	now, lock, err := openOrphan(o.Dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if now.Workspace != o.Workspace {
		return errInUse
	}
	dir := o.Dir
	if name := filepath.Base(dir); !strings.HasPrefix(name, goneName) {
		dir = filepath.Join(filepath.Dir(dir), goneName+name)
		removeTree(dir) // of a removal that was killed
		if err := os.Rename(o.Dir, dir); err != nil {
			return err
		}
	}
	removeTree(dir)
	if _, err := os.Lstat(dir); err == nil {
		return errors.New("it is still there")
	}
	return nil
}

// isPrivateName says whether private directories are called so.
func isPrivateName(name string) bool {
	name = name[strings.LastIndexByte(name, '-')+1:]
	raw, err := hex.DecodeString(name)
	return err == nil && len(raw) == 8
}
