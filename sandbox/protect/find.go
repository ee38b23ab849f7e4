package protect

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
)

// maxItems bounds what is protected in one run: each costs a mount.
const maxItems = 4096

// maxLinks is the kernel's own limit on symbolic links in one path.
const maxLinks = 40

// item is one file, directory or symbolic link that was found.
type item struct {
	path  string // no link in its ancestors
	kind  sandbox.TrustKind
	guard bool
	why   string
	stamp stamp
	// entries are the names in a directory; nil for all else.
	entries map[string]stamp
	// worktree is the directory of a linked worktree that it leads to or lies in.
	worktree string
}

// finder looks for what is trusted. It goes by names, and reads a file only
// where it says where to look next.
type finder struct {
	roots     []string // writable directories, without links
	unprotect []string // absolute and clean
	used      []string // those of them that took something out
	home      string   // of the user whose git it is; may be empty
	items     map[string]*item
	gitDirs   map[string]bool
	err       error
	start     clock          // of this search
	memory    *Memory        // may be nil
	tops      map[string]top // of roots
	// user is what the user's own configurations say, which no command can write.
	user map[string][]setting
}

func newFinder(roots, unprotect []string) *finder {
	return &finder{
		roots: roots, unprotect: unprotect, items: map[string]*item{}, gitDirs: map[string]bool{},
		tops: map[string]top{}, user: map[string][]setting{},
	}
}

// inRoots says whether a path lies strictly below a writable directory.
func (f *finder) inRoots(path string) bool {
	return slices.ContainsFunc(f.roots, func(root string) bool { return path != root && within(path, root) })
}

// within reports whether path is dir or lies below it. Both are clean and absolute.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// subject is why a file is looked for.
type subject struct {
	kind     sandbox.TrustKind
	guard    bool
	why      string
	origin   string // the name that led to it: taking that out of the list takes all out
	worktree string
}

// look follows rest from the real directory at, notes the links on the way and
// what is there in the end, and returns that.
func (f *finder) look(at, rest string, s subject) (string, stamp) {
	if s.origin == "" {
		s.origin = joined(at, rest)
	}
	real, p := follow(at, rest, func(link string, p stamp) { f.note(link, p, s) })
	if p.exists {
		f.note(real, p, s)
	}
	return real, p
}

// joined is what rest means in a directory.
func joined(at, rest string) string {
	if filepath.IsAbs(rest) {
		return filepath.Clean(rest)
	}
	return filepath.Join(at, rest)
}

// begin is where an absolute path begins, and the rest of it.
func begin(path string) (root, rest string) {
	volume := filepath.VolumeName(path)
	return volume + string(filepath.Separator), path[len(volume):]
}

// follow resolves rest from the real directory at. What it returns has no link
// in it, and need not exist. link, unless nil, is called for each link on the way.
func follow(at, rest string, link func(path string, p stamp)) (string, stamp) {
	if filepath.IsAbs(rest) {
		at, rest = begin(rest)
	}
	todo := strings.Split(rest, string(filepath.Separator))
	var p stamp
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at, p = filepath.Dir(at), stamp{}
			continue
		}
		next := filepath.Join(at, part)
		p = lookAt(next)
		if !p.link() {
			if !p.exists || len(todo) > 0 && !p.dir() {
				return filepath.Join(append([]string{next}, todo...)...), stamp{}
			}
			at = next
			continue
		}
		if link != nil {
			link(next, p)
		}
		target, err := os.Readlink(next)
		if links++; err != nil || links > maxLinks {
			return next, stamp{}
		}
		if filepath.IsAbs(target) {
			at, target = begin(target)
		}
		p = stamp{}
		todo = append(strings.Split(target, string(filepath.Separator)), todo...)
	}
	if !p.exists {
		p = lookAt(at)
	}
	return at, p
}

// note takes up a path unless the owner took it out.
func (f *finder) note(path string, p stamp, s subject) {
	if !f.inRoots(path) || f.free(path) || f.free(s.origin) {
		return
	}
	if have := f.items[path]; have != nil {
		have.guard = have.guard || s.guard
		return
	}
	if up := f.items[filepath.Dir(path)]; up != nil && up.guard && s.guard {
		return // with the directory that it lies in
	}
	if len(f.items) == maxItems {
		f.err = fmt.Errorf("more than %d files to protect, %s is one too many: take a directory out of the list (--unprotect)", maxItems, path)
		return
	}
	it := &item{path: path, kind: s.kind, guard: s.guard, why: s.why, stamp: p, worktree: s.worktree}
	f.items[path] = it
	if !p.dir() {
		return
	}
	it.entries = map[string]stamp{}
	for _, name := range f.list(path) {
		if sample(it, name) {
			continue
		}
		at := filepath.Join(path, name)
		ep := lookAt(at)
		it.entries[name] = ep
		if ep.link() && s.guard { // hooks are often links to scripts of the project
			f.look(path, name, subject{kind: s.kind, guard: true, why: s.why, origin: at})
		}
	}
}

// free says that the owner took a path, or a directory that it lies in, out of
// the list.
func (f *finder) free(path string) bool {
	for _, u := range f.unprotect {
		if within(path, u) {
			if !slices.Contains(f.used, u) {
				f.used = append(f.used, u)
			}
			return true
		}
	}
	return false
}

// list gives the names in a directory. Too many to look at are an error: what is
// not looked at is not protected.
func (f *finder) list(dir string) []string {
	list, err := entries(dir, maxItems)
	if err == nil && len(list) == maxItems {
		f.err = fmt.Errorf("more than %d files in %s, which is protected: take it out of the list (--unprotect)", maxItems-1, dir)
	}
	slices.Sort(list)
	return list
}

// guarded lists what has to stay as it is, sorted.
func (f *finder) guarded() []string {
	list := []string{}
	for path, it := range f.items {
		if it.guard {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return list
}

// maxRead bounds the files of git that are read.
const maxRead = 8 << 20

var errTooLarge = errors.New("larger than 8 MiB, so it was not read for what it names; make it smaller")

// read gives the text of a small regular file; "" for anything else. To open a
// device may do something.
func (f *finder) read(path string) string {
	if !lookAt(path).regular() {
		return ""
	}
	text, err := contents(path, maxRead)
	if errors.Is(err, errTooLarge) {
		f.err = fmt.Errorf("read %s: %w", path, err)
	}
	return string(text)
}
