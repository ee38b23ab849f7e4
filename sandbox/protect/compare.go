package protect

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
)

// shared reports protected files with a further name. Where that is, only a walk
// over the whole file system could tell.
func (r *report) shared() {
	for path, it := range r.watch.before.items {
		if !it.guard {
			continue
		}
		if it.stamp.regular() && it.stamp.links > 1 {
			r.add(sandbox.TrustFinding{Path: path, Kind: it.kind, Change: sandbox.TrustShared, Why: whyShared})
		}
		for name, p := range it.entries {
			if p.regular() && p.links > 1 {
				r.add(sandbox.TrustFinding{Path: filepath.Join(path, name), Kind: it.kind, Change: sandbox.TrustShared, Why: whyShared})
			}
		}
	}
}

// sample says that git does not run a hook of that name.
func sample(it *item, name string) bool {
	return it.kind == sandbox.TrustHook && strings.HasSuffix(name, ".sample")
}

// compare reports what is different.
func (r *report) compare(before, after *finder) {
	for _, path := range slices.Sorted(maps.Keys(after.items)) {
		it := after.items[path]
		was := before.items[path]
		switch {
		case was == nil && it.worktree != "" && r.usualWorktree(it.worktree):
		case was == nil && perEntry(it.kind) && it.stamp.dir():
			r.entries(it, &item{})
		case was == nil:
			r.item(it, sandbox.TrustAppeared)
		case !was.stamp.same(it.stamp) && (was.guard || it.stamp.link()):
			r.item(it, sandbox.TrustChanged)
		default:
			r.entries(it, was)
		}
	}
	for path, was := range before.items {
		if after.items[path] == nil && was.guard {
			r.item(was, sandbox.TrustRemoved)
		}
	}
}

func (r *report) item(it *item, change sandbox.TrustChange) {
	r.add(sandbox.TrustFinding{Path: it.path, Kind: it.kind, Change: change, To: target(it.path, it.stamp), Why: it.why})
}

// entries reports what is different in a directory. In one that is only watched,
// to change a file is usual work.
func (r *report) entries(it, was *item) {
	for _, name := range slices.Sorted(maps.Keys(it.entries)) {
		p := it.entries[name]
		had, known := was.entries[name]
		change := sandbox.TrustAppeared
		switch {
		case known && had.same(p), known && !it.guard:
			continue
		case known:
			change = sandbox.TrustChanged
		}
		path := filepath.Join(it.path, name)
		r.add(sandbox.TrustFinding{Path: path, Kind: it.kind, Change: change, To: target(path, p), Why: it.why})
	}
}

// usualWorktree says that a linked worktree is what `git worktree add` makes: its
// configuration and hooks are those of the repository, which is known and
// protected.
func (r *report) usualWorktree(dir string) bool {
	f := newFinder(nil, nil)
	git, p := follow(dir, strings.TrimSpace(f.read(filepath.Join(dir, "commondir"))), nil)
	if !p.dir() || git != filepath.Dir(filepath.Dir(dir)) || !r.watch.before.gitDirs[git] {
		return false
	}
	file, fp := follow(dir, strings.TrimSpace(f.read(filepath.Join(dir, "gitdir"))), nil)
	if !fp.regular() {
		return false
	}
	text, ok := strings.CutPrefix(f.read(file), "gitdir:")
	back, _ := follow(filepath.Dir(file), strings.TrimSpace(text), nil)
	return ok && back == dir
}
