// Package protect finds the files of a workspace that programs outside read or
// run later: git's configuration and hooks, the settings of agents and editors,
// start files of shells. Before a run it lists those that exist, for a backend to
// keep as they are; after it, it reports what appeared or changed.
//
// It goes by fixed names and by what git itself goes by, so that its time does
// not grow with the workspace; what else is found is found in directories that
// changed during the run, within a time limit.
package protect

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// Options are the owner's words on it. Paths are absolute or relative to the
// workspace.
type Options struct {
	Protect   []string // further files and directories
	Unprotect []string // taken out of the list, with all below
	Strict    bool     // take back what appears
	// Memory spares reading what earlier searches have read; nil: nothing is kept.
	Memory *Memory
}

// Limit is how long the search for what appeared may take.
const Limit = 50 * time.Millisecond

// Watch is the state before one run.
type Watch struct {
	base      string // the workspace
	workspace string // the same; "" when it is not writable
	options   Options
	before    *finder
	open      []string
	start     clock
}

// NameError is a path that cannot be protected or taken out of the list.
type NameError struct {
	Option string // "protect" or "unprotect"
	Path   string // as it was given
	Why    string
}

func (e *NameError) Error() string { return fmt.Sprintf("%s %q: %s", e.Option, e.Path, e.Why) }

// Find looks at the directories that a command may write to. All are absolute and
// without links; the workspace is the first unless it is read-only. It must be
// called for each run.
func Find(p sandbox.Profile, o Options) (*Watch, error) {
	w := &Watch{options: o, base: p.Workspace, start: now()}
	var roots []string
	if !p.ReadOnly {
		w.workspace = p.Workspace
		roots = append(roots, p.Workspace)
	}
	for _, dir := range p.Write {
		if lookAt(dir).dir() {
			roots = append(roots, dir)
		}
	}
	var free []string
	for _, given := range o.Unprotect {
		path := joined(p.Workspace, given)
		if path == p.Workspace {
			return nil, &NameError{"unprotect", given, "that is the workspace: name the files that may change"}
		}
		free = append(free, path)
		if real, _ := follow(p.Workspace, given, nil); real != path {
			free = append(free, real)
		}
	}
	w.before = newFinder(roots, free)
	w.before.start, w.before.memory = w.start, cmp.Or(o.Memory, new(Memory))
	w.before.home = p.Home
	if p.Identity != nil {
		w.before.home = p.Identity.Home
	}
	if err := w.search(w.before); err != nil {
		return nil, err
	}
	for i, given := range o.Unprotect {
		if err := w.release(given, joined(p.Workspace, o.Unprotect[i])); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// search fills a finder.
func (w *Watch) search(f *finder) error {
	for _, given := range w.options.Protect {
		real, _ := f.look(w.base, given, subject{kind: sandbox.TrustNamed, guard: true, why: whyNamed})
		if slices.ContainsFunc(f.roots, func(root string) bool { return within(root, real) }) {
			return &NameError{"protect", given, "nothing would stay writable: use --read-only, or name what is in it"}
		}
	}
	if path := itself(); path != "" && f.inRoots(path) {
		f.look(filepath.Dir(path), filepath.Base(path), subject{kind: sandbox.TrustSettings, guard: true, why: whyItself})
	}
	for _, root := range f.roots {
		t := f.top(root)
		for _, n := range t.names {
			f.look(root, filepath.FromSlash(n.path), subject{kind: n.kind, guard: n.guard, why: n.why})
		}
		f.repository(root, t)
	}
	if f.err != nil {
		return fmt.Errorf("look for protected files: %w", f.err)
	}
	return nil
}

// itself is the program that confines: a command that could replace it would not
// be confined the next time.
var itself = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return real
})

// release checks a path that was taken out of the list. One that lies in a
// protected directory becomes writable on its own, and has to exist for that.
func (w *Watch) release(given, path string) error {
	for above := filepath.Dir(path); w.before.inRoots(above); above = filepath.Dir(above) {
		it := w.before.items[above]
		if it == nil || !it.guard || !it.stamp.dir() {
			continue
		}
		if !lookAt(path).exists {
			return &NameError{"unprotect", given, "it does not exist, and " + above + " is protected as a whole: take that out of the list"}
		}
		real, p := follow(w.before.roots[0], path, nil)
		if real != path || !p.exists {
			return &NameError{"unprotect", given, "it leads to " + real + ": name that"}
		}
		w.open = append(w.open, path)
		return nil
	}
	return nil
}

// Unknown lists what was taken out of the list and never was on it, as it was
// given: a misspelt name, perhaps.
func (w *Watch) Unknown() []string {
	var list []string
	for _, given := range w.options.Unprotect {
		path := joined(w.base, given)
		real, _ := follow(w.base, given, nil)
		if !slices.Contains(w.before.used, path) && !slices.Contains(w.before.used, real) && !slices.Contains(w.open, path) && !w.known(path) {
			list = append(list, given)
		}
	}
	return list
}

// known says that a path has to do with a name that is looked for.
func (w *Watch) known(path string) bool {
	switch filepath.Base(path) {
	case ".git", "config", "config.worktree", "commondir", "gitdir", "hooks", "modules", "worktrees":
		return true
	}
	related := func(n string) bool {
		at := filepath.Join(w.base, filepath.FromSlash(n))
		return within(path, at) || within(at, path)
	}
	return slices.ContainsFunc(names(), func(n name) bool { return related(n.path) }) || slices.ContainsFunc(w.options.Protect, related)
}

// Paths lists what has to stay as it is; it is not nil. See
// sandbox.Profile.Protect.
func (w *Watch) Paths() []string { return w.before.guarded() }

// Open lists paths in protected directories that the owner made writable.
func (w *Watch) Open() []string { return w.open }

// Report looks again, after the run. It gives up the search through directories
// that changed when limit is over; the fixed names are always looked at. With
// Options.Strict, what appeared is taken back.
func (w *Watch) Report(limit time.Duration) *sandbox.Trust {
	end := time.Now().Add(limit)
	r := &report{watch: w, seen: map[string]bool{}}
	if w.untouched() {
		return r.done()
	}
	r.shared()
	after := newFinder(w.before.roots, w.before.unprotect)
	after.home, after.start, after.memory, after.user = w.before.home, now(), w.before.memory, w.before.user
	if err := w.search(after); err != nil {
		r.trust.Incomplete = err.Error()
	}
	r.compare(w.before, after)
	if w.workspace != "" {
		r.scan(after, end)
	}
	return r.done()
}

// untouched says that nothing can have come or changed that would be reported: no
// file was of interest, and the writable directories have the names that they had
// and no directories in them.
func (w *Watch) untouched() bool {
	f := w.before
	if len(f.items) > 0 || len(f.gitDirs) > 0 || len(w.options.Protect) > 0 || !w.start.steady() {
		return false
	}
	return !slices.ContainsFunc(f.roots, func(root string) bool {
		t := f.tops[root]
		return !t.kept || t.git || !t.stamp.leaf() || lookAt(root) != t.stamp
	})
}

// Locked lists protected configurations of git that somebody tried to replace: a
// lock came and went beside them. git does not say that they are protected.
func (w *Watch) Locked() []string {
	var list []string
	for path, it := range w.before.items {
		if it.kind == sandbox.TrustGitConfig && it.guard && filepath.Base(path) == "config" && changedSince(filepath.Dir(path), w.start) {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return list
}

// Worktrees lists the directories that hold what git knows of linked worktrees, as
// far as they are protected.
func (w *Watch) Worktrees() []string {
	var list []string
	for path, it := range w.before.items {
		if dir := filepath.Dir(filepath.Dir(path)); it.guard && filepath.Base(dir) == "worktrees" && filepath.Base(path) == "commondir" && !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	slices.Sort(list)
	return list
}

// maxFindings bounds a report.
const maxFindings = 64

// report gathers findings.
type report struct {
	watch *Watch
	trust sandbox.Trust
	seen  map[string]bool
}

func (r *report) add(f sandbox.TrustFinding) {
	if key := string(f.Change) + f.Path; r.seen[key] {
		return
	} else {
		r.seen[key] = true
	}
	if r.watch.options.Strict && f.Change == sandbox.TrustAppeared {
		f.Undone = r.watch.undo(f)
	}
	if len(r.trust.Findings) == maxFindings {
		r.trust.More++
		return
	}
	r.trust.Findings = append(r.trust.Findings, f)
}

func (r *report) done() *sandbox.Trust {
	if r.trust.Findings == nil {
		r.trust.Findings = []sandbox.TrustFinding{}
	}
	slices.SortStableFunc(r.trust.Findings, func(a, b sandbox.TrustFinding) int { return strings.Compare(a.Path, b.Path) })
	return &r.trust
}
