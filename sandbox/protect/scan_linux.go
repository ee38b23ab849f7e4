package protect

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// scan walks over the directories of the workspace, those near the top first, and
// looks into those that changed since the start: for links that leave the
// workspace, set-id files, and repositories, whose hooks and configuration are
// looked at wherever they are.
func (r *report) scan(known *finder, end time.Time) {
	if r.still(known) {
		return
	}
	s := &scanner{report: r, known: known, end: end, start: r.watch.start, buffer: make([]byte, 32<<10)}
	if why := s.walk(r.watch.workspace); why != "" && r.trust.Incomplete == "" {
		r.trust.Incomplete = why
	}
}

// still says that no name came or went in a workspace without directories in it. A
// repository's file may have changed without that.
func (r *report) still(known *finder) bool {
	t, start := known.tops[r.watch.workspace], r.watch.start
	return t.kept && !t.git && t.stamp.leaf() && !t.stamp.since(start) && start.steadyUntil(known.start)
}

type scanner struct {
	*report
	known  *finder
	start  clock
	end    time.Time
	buffer []byte
	todo   []found // directories that are to be looked at
	dev    uint64
	other  string // a directory on another file system
	late   bool   // the time is over

	before branches  // what was remembered of directories
	now    []*branch // and what will be
	anew   int       // those of them that were listed
	keeps  bool      // times tell every change here
	branch *branch   // of the directory that is listed
	walls  []*item   // protected directories
}

// found is a directory as it was a moment ago.
type found struct {
	path  string
	stamp stamp
}

// walk says why it did not see everything.
func (s *scanner) walk(top string) string {
	var fs unix.Statfs_t
	if err := unix.Statfs(top, &fs); err != nil {
		return err.Error()
	}
	if slices.Contains(remote(), int64(fs.Type)) {
		return "the workspace lies on a file system with a clock of its own"
	}
	p := lookAt(top)
	s.dev, s.keeps = p.dev, tellsChanges(top)
	s.before = s.known.memory.tree(top)
	for _, it := range s.known.items {
		if it.guard && it.stamp.dir() && within(it.path, top) {
			s.walls = append(s.walls, it)
		}
	}
	defer s.remember(top)
	s.todo = append(s.todo, found{top, p})
	for i := 0; i < len(s.todo); i++ {
		if at := s.todo[i]; !s.again(at) {
			s.directory(at.path)
		}
		if s.late {
			return fmt.Sprintf("the time for it was over after %d directories", i)
		}
	}
	switch {
	case !s.start.steady():
		return "the clock was set during the run"
	case s.other != "":
		return s.other + " lies on another file system"
	}
	return ""
}

// remote lists file systems whose times are not this host's.
func remote() []int64 {
	return []int64{unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC, unix.V9FS_MAGIC, unix.CEPH_SUPER_MAGIC, unix.AFS_SUPER_MAGIC}
}

// directory looks at the entries of one. Links are not followed: what runs
// meanwhile may have put one there.
func (s *scanner) directory(dir string) {
	fd, err := openDir(dir)
	if err != nil {
		s.unread(dir, err)
		return
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return
	}
	changed := stampOf(&st).since(s.start)
	guarded := s.inGuarded(dir)
	s.branch = &branch{path: dir, stamp: stampOf(&st), read: s.known.start}
	s.anew++
	var bare int
	for {
		n, err := unix.Getdents(fd, s.buffer)
		if err != nil || n <= 0 {
			break
		}
		if s.late = time.Now().After(s.end); s.late {
			return
		}
		for rest := s.buffer[:n]; len(rest) > 0; {
			size := binary.NativeEndian.Uint16(rest[16:]) // linux_dirent64.d_reclen
			kind, name := rest[18], unix.ByteSliceToString(rest[19:size])
			rest = rest[size:]
			switch name {
			case ".", "..":
				continue
			case ".git":
				s.branch.git = true
				s.repository(dir, changed)
				continue
			case "HEAD", "objects", "refs", "config":
				bare++
			}
			s.entry(fd, dir, name, kind, changed, guarded)
		}
	}
	s.branch.bare = bare == 4
	s.bare(dir, changed)
	if guarded == nil {
		s.keep()
	}
}

// bare looks at a directory that has the names of a git directory.
func (s *scanner) bare(dir string, changed bool) {
	if s.branch.bare && isGitDir(dir) && !s.known.gitDirs[dir] {
		s.gitDir(dir, dir, "", changed)
	}
}

func openDir(dir string) (int, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
	fd, err := unix.Openat2(unix.AT_FDCWD, dir, &unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err == unix.ENOSYS || err == unix.EPERM { // a container's filter
		fd, err = unix.Open(dir, flags|unix.O_NOFOLLOW, 0)
	}
	return fd, err
}

// unread notes a directory that could not be looked at.
func (s *scanner) unread(dir string, err error) {
	if err != unix.ENOENT && err != unix.ELOOP && err != unix.ENOTDIR && s.trust.Incomplete == "" {
		s.trust.Incomplete = fmt.Sprintf("look at %s: %v", dir, err)
	}
}

// inGuarded says that a directory is protected, or lies in one.
func (s *scanner) inGuarded(dir string) *item {
	for _, it := range s.walls {
		if within(dir, it.path) {
			return it
		}
	}
	return nil
}

func (s *scanner) entry(fd int, dir, name string, kind byte, changed bool, guarded *item) {
	isDir := kind == unix.DT_DIR || kind == unix.DT_UNKNOWN
	if !isDir && guarded == nil && (!changed || kind != unix.DT_LNK && kind != unix.DT_REG) {
		return
	}
	var st unix.Stat_t
	if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return
	}
	p, path := stampOf(&st), dir+"/"+name
	switch {
	case p.dir():
		s.branch.dirs = append(s.branch.dirs, path)
		s.descend(path, p)
	case !p.since(s.start):
	case p.link():
		s.link(path)
	case p.setID():
		s.add(sandbox.TrustFinding{Path: path, Kind: sandbox.TrustSetID, Change: sandbox.TrustAppeared, Why: whySetID})
	case guarded != nil && filepath.Dir(path) != guarded.path: // its own entries were compared
		s.add(sandbox.TrustFinding{Path: path, Kind: guarded.kind, Change: changeOf(path, s.start), Why: guarded.why})
	}
}

// descend puts a directory on the list. One without directories in it that did
// not change needs no look.
func (s *scanner) descend(path string, p stamp) {
	switch {
	case s.known.gitDirs[path]:
	case p.dev != s.dev:
		s.other = path
	case p.leaf() && !p.since(s.start) && s.inGuarded(path) == nil:
	default:
		s.todo = append(s.todo, found{path, p})
	}
}

// link reports one that leads out of the writable directories.
func (s *scanner) link(path string) {
	real, _ := follow(filepath.Dir(path), filepath.Base(path), nil)
	if slices.ContainsFunc(s.known.roots, func(root string) bool { return within(real, root) }) {
		return
	}
	s.add(sandbox.TrustFinding{Path: path, Kind: sandbox.TrustLink, Change: sandbox.TrustAppeared, To: target(path, lookAt(path)), Why: whyLink})
}

// repository looks at a repository that is not the workspace's own. changed says
// that a name in its directory came or went.
func (s *scanner) repository(dir string, changed bool) {
	path := filepath.Join(dir, ".git")
	dot, p := follow(dir, ".git", nil)
	at := lookAt(path)
	switch {
	case s.known.gitDirs[dot], s.known.items[path] != nil:
	case at.link() && at.since(s.start):
		s.foundRepository(path, path)
	case p.dir():
		s.gitDir(dot, path, dir, changed && p.since(s.start))
	case p.regular() && p.since(s.start):
		f := newFinder(s.known.roots, nil)
		f.gitFile(dot, dir)
		if it := f.items[dot]; it == nil || it.worktree == "" || !s.usualWorktree(it.worktree) {
			s.foundRepository(path, dot)
		}
	}
}

// foundRepository reports the one at path, for a file that is new or changed.
func (s *scanner) foundRepository(path, file string) {
	s.add(sandbox.TrustFinding{
		Path: path, Kind: sandbox.TrustRepository, Change: changeOf(file, s.start), To: target(path, lookAt(path)), Why: whyNested,
	})
}

// gitDir reports what changed in a git directory that nobody protects, and all
// that is not harmless in one that was moved to its place, perhaps.
func (s *scanner) gitDir(dir, path, top string, moved bool) {
	f := newFinder(s.known.roots, nil)
	f.gitDir(dir, top)
	if f.err != nil && s.trust.Incomplete == "" {
		s.trust.Incomplete = f.err.Error()
	}
	for at, it := range f.items {
		switch {
		case s.known.items[at] != nil:
		case it.kind == sandbox.TrustHook && it.stamp.dir():
			for name, p := range it.entries {
				if hook := filepath.Join(at, name); p.since(s.start) {
					s.add(sandbox.TrustFinding{Path: hook, Kind: it.kind, Change: changeOf(hook, s.start), To: target(hook, p), Why: it.why})
				} else if moved {
					s.foundRepository(path, path)
				}
			}
		case it.stamp.since(s.start):
			s.foundRepository(path, at)
		case moved && !harmless(f.read(at)):
			s.foundRepository(path, path)
		}
	}
}

// changeOf tells a new file from an old one that changed, where the file system
// knows when a file was made.
func changeOf(path string, start clock) sandbox.TrustChange {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st)
	if err == nil && st.Mask&unix.STATX_BTIME != 0 && st.Btime.Sec*1e9+int64(st.Btime.Nsec) < start.files {
		return sandbox.TrustChanged
	}
	return sandbox.TrustAppeared
}

// target is where a link leads, as it says.
func target(path string, p stamp) string {
	if !p.link() {
		return ""
	}
	to := make([]byte, unix.PathMax)
	n, err := unix.Readlink(path, to)
	if err != nil {
		return ""
	}
	return string(to[:n])
}
