package sbx

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// tempIdle is how long a private temp directory is kept after its last use:
// agents write a file in one command and read it in a later one, the same day.
const tempIdle = 24 * time.Hour

// private are sbx's own directories for one workspace and user. Only temp and
// cache are writable from inside; dir, which holds the lock and the stamps, is not.
type private struct {
	dir   string
	lock  *os.File
	used  time.Time // as the lock file says
	fresh bool      // made for this run only, removed afterwards

	run *private // of this run alone, for its temp directory; see renew

	told *told // of the engine; may be nil
}

// told is what an engine knows to have been said in a private directory. It is safe
// for concurrent use.
type told struct {
	mu   sync.Mutex
	have map[string]bool
}

// maxTold bounds it: past that, it begins anew.
const maxTold = 256

func (t *told) knows(what string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.have[what]
}

func (t *told) add(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.have == nil || len(t.have) >= maxTold {
		t.have = map[string]bool{}
	}
	t.have[what] = true
}

func (p *private) temp() string {
	if p.run != nil {
		return p.run.temp()
	}
	return filepath.Join(p.dir, "tmp")
}

func (p *private) cache() string { return filepath.Join(p.dir, "cache") }

// privateBase is a directory that may hold private directories.
type privateBase struct {
	path   string
	prefix string // of the directory's name
	parent bool   // path lies in a directory of the caller's own
}

// privateBases lists the candidates, best first. Root never uses the home of
// the user it runs a command for: that user could replace what root made.
func (e *Engine) privateBases(id *sandbox.Identity) []privateBase {
	uid := callerUID()
	if id != nil {
		return []privateBase{{path: "/var/cache/sbx", prefix: strconv.FormatUint(uint64(id.UID), 10) + "-"}}
	}
	var bases []privateBase
	if xdg := e.environ.get("XDG_CACHE_HOME"); filepath.IsAbs(xdg) {
		bases = append(bases, privateBase{path: filepath.Join(realPath(xdg), "sbx"), parent: true})
	}
	if filepath.IsAbs(e.home) {
		bases = append(bases, privateBase{path: filepath.Join(realPath(filepath.Join(e.home, ".cache")), "sbx"), parent: true})
	}
	if uid == 0 {
		bases = append(bases, privateBase{path: "/var/cache/sbx", prefix: "0-"})
	}
	return append(bases, privateBase{path: filepath.Join(realPath(e.tempDir()), "sbx-"+strconv.FormatUint(uint64(uid), 10))})
}

// openPrivate makes or finds the private directories of a workspace and holds
// them until close. writable lists what commands may change: a private
// directory in there could be replaced by a link to anywhere.
func (e *Engine) openPrivate(workspace string, id *sandbox.Identity, writable []string) (*private, error) {
	name := workspaceName(workspace)
	var first error
	for _, base := range e.surroundingsOf(id).bases {
		if inAny(base.path, writable) {
			continue
		}
		p, err := base.open(base.prefix+name, workspace, id)
		if err == nil {
			p.told = &e.told
			return p, nil
		}
		if first == nil {
			first = err
		}
	}
	if p, err := e.openFresh(id, writable); err == nil {
		return p, nil
	}
	return nil, fmt.Errorf("make private directories: %w", first)
}

// open makes or finds the directories of a workspace. Meanwhile somebody may take away
// what is there (Orphan): then it is made anew.
func (b privateBase) open(name, workspace string, id *sandbox.Identity) (p *private, err error) {
	for range 3 {
		if p, err = b.tryOpen(name, workspace, id); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return p, err
}

func (b privateBase) tryOpen(name, workspace string, id *sandbox.Identity) (*private, error) {
	uid := callerUID()
	mode := os.FileMode(0o700)
	if id != nil || b.prefix != "" {
		mode = 0o755 // the user it is for must be able to pass through
	}
	if b.parent {
		parent := filepath.Dir(b.path)
		info, err := os.Stat(parent)
		if errors.Is(err, fs.ErrNotExist) {
			if err := os.MkdirAll(parent, 0o700); err != nil {
				return nil, err
			}
			info, err = os.Stat(parent)
		}
		if err != nil || identify(info).uid != uid {
			return nil, fmt.Errorf("use %q: it belongs to another user", parent)
		}
	}
	p := &private{dir: filepath.Join(b.path, name)}
	for _, dir := range [...]string{b.path, p.dir} {
		if err := ownDir(dir, uid, mode); err != nil {
			return nil, err
		}
	}
	if err := p.fill(id); err != nil {
		return nil, err
	}
	return p, p.hold(workspace)
}

// fill makes the two directories that are writable from inside.
func (p *private) fill(id *sandbox.Identity) error {
	uid := callerUID()
	for _, dir := range [...]string{p.temp(), p.cache()} {
		info, err := os.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			if err := makeFor(dir, id); err != nil {
				return err
			}
			info, err = os.Lstat(dir)
		}
		if err != nil {
			return err
		}
		want := uid
		if id != nil {
			want = id.UID
		}
		if !info.IsDir() || identify(info).uid != want {
			return fmt.Errorf("use %q: it is not a directory of uid %d", dir, want)
		}
		if info.Mode().Perm() != 0o700 { // an earlier command may have changed it
			if err := os.Chmod(dir, 0o700); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeFor makes a directory of id's. It appears with its owner, because another
// run may look at it at once. Nobody else can write where it is made.
func makeFor(dir string, id *sandbox.Identity) error {
	if id == nil {
		return ignoreExists(os.Mkdir(dir, 0o700))
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), "new-") // 0700
	if err != nil {
		return err
	}
	if err = os.Lchown(temp, int(id.UID), int(id.GID)); err == nil {
		err = os.Rename(temp, dir)
	}
	if err != nil {
		_ = os.Remove(temp)
	}
	return ignoreExists(err)
}

func ignoreExists(err error) error {
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) {
		return nil
	}
	return err
}

// ownDir makes dir, or checks that what stands there is a directory of uid
// that nobody else can write to. It does not follow a link.
func ownDir(dir string, uid uint32, mode os.FileMode) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.Mkdir(dir, mode); err == nil || !errors.Is(err, fs.ErrExist) {
			return err
		}
		info, err = os.Lstat(dir) // somebody else made it meanwhile
	}
	if err != nil {
		return err
	}
	if !info.IsDir() || identify(info).uid != uid || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("use %q: it is not a directory that only uid %d can change", dir, uid)
	}
	return nil
}

// hold takes a shared lock for the time of a run, and empties the temp
// directory first when nobody used it for tempIdle.
func (p *private) hold(workspace string) error {
	lock, err := openLock(filepath.Join(p.dir, "lock"))
	if err != nil {
		return err
	}
	info, err := lock.Stat()
	if err == nil && time.Since(info.ModTime()) > tempIdle && lockAlone(lock) {
		err = p.empty()
	}
	if err == nil {
		err = lockShared(lock)
	}
	if err == nil && !hasName(lock) { // whoever held it has removed the directory
		err = fs.ErrNotExist
	}
	if err != nil {
		lock.Close()
		return fmt.Errorf("hold %q: %w", p.dir, err)
	}
	p.lock, p.used = lock, info.ModTime()
	p.note(workspace, info.Size())
	p.touch()
	return nil
}

// touch notes the use, to the minute.
func (p *private) touch() {
	if now := time.Now(); now.Sub(p.used) > time.Minute {
		p.used = now
		_ = os.Chtimes(p.lock.Name(), now, now) // only the age of the temp directory depends on it
	}
}

// empty removes what is in the temp directory. It stays below it whatever
// links the commands left there.
func (p *private) empty() error {
	root, err := os.OpenRoot(p.temp())
	if err != nil {
		return err
	}
	defer root.Close()
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	for _, name := range names {
		_ = root.RemoveAll(name) // what cannot be removed is the owner's to keep
	}
	return err
}

// close ends the hold.
func (p *private) close() {
	if p.run != nil {
		p.run.close()
	}
	if p.fresh {
		removeTree(p.dir)
	} else if p.lock != nil {
		p.touch()
	}
	if p.lock != nil {
		p.lock.Close()
	}
}

// firstTime reports whether the set of names was never given before for this
// workspace, and remembers it.
func (p *private) firstTime(names string) bool {
	if p.fresh {
		return true
	}
	if p.told != nil && p.told.knows(p.dir+"\x00"+names) {
		return false
	}
	sum := sha256.Sum256([]byte(names))
	stamp := filepath.Join(p.dir, "gaps-"+hex.EncodeToString(sum[:8]))
	if _, err := os.Lstat(stamp); err == nil {
		if p.told != nil {
			p.told.add(p.dir + "\x00" + names)
		}
		return false
	}
	f, err := os.OpenFile(stamp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return !os.IsExist(err)
	}
	f.Close()
	return true
}

func inAny(path string, dirs []string) bool {
	for _, d := range dirs {
		if within(path, d) {
			return true
		}
	}
	return false
}
