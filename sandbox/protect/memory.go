package protect

import (
	"runtime"
	"strings"
	"sync"
	"time"
)

// Memory is what searches have read and nobody has changed since: names in
// directories, and what the user's own configurations say. It goes by the times of
// change that the kernel keeps, which no program can set, and believes them only
// where they tell every change: see recall. It is safe for concurrent use. The
// zero value is empty.
type Memory struct {
	mu    sync.Mutex
	have  map[string]memo
	trees map[string]branches // of workspaces; what is in one does not change
}

// memo is what was read of one path, and when.
type memo struct {
	stamp stamp // before it was read
	read  clock
	top   top
	says  []setting
}

const (
	// calm is for how long a file must have been left alone before it was read, for
	// the next change to have another time: file systems count in steps of up to a
	// second, from a clock that is behind by some milliseconds.
	calm = 2 * time.Second
	// maxMemos bounds a memory: past it, it begins anew.
	maxMemos = 1 << 12
	// maxBranches bounds what is remembered of one workspace, and maxTrees the
	// number of workspaces: some megabytes each, at most.
	maxBranches = 1 << 14
	maxTrees    = 16
)

// branch is one directory of a workspace as the scan saw it.
type branch struct {
	path      string
	stamp     stamp // before it was listed
	read      clock
	dirs      []string // paths of the directories in it
	git, bare bool     // .git is in it; the names that make a git directory are
}

// branches are those of a workspace, by path.
type branches map[string]*branch

func (m *Memory) tree(top string) branches {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.trees[top]
}

// keepTree remembers all of a workspace in place of what was known of it.
func (m *Memory) keepTree(top string, all branches) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.trees[top]; m.trees == nil || !known && len(m.trees) >= maxTrees {
		m.trees = map[string]branches{}
	}
	m.trees[top] = all
}

// recall gives what was read of a path that is now as p says. A change after the
// reading would have given the file a time of at least the reading's, and p has the
// one of before, which was older by calm: that holds unless the clock was set back
// meanwhile, and then nothing is recalled.
func (m *Memory) recall(path string, p stamp, at clock) (memo, bool) {
	if m == nil {
		return memo{}, false
	}
	m.mu.Lock()
	have, ok := m.have[path]
	m.mu.Unlock()
	return have, ok && have.stamp == p && have.read.steadyUntil(at)
}

// keep remembers what was read after at of a path that was as p says. It does not
// where a change could go unseen.
func (m *Memory) keep(path string, p stamp, at clock, what memo) bool {
	if m == nil || !p.calm(at) || !tellsChanges(path) {
		return false
	}
	what.stamp, what.read = p, at
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.have == nil || len(m.have) >= maxMemos {
		m.have = map[string]memo{}
	}
	m.have[path] = what
	return true
}

// top is what a writable directory holds, as far as it is looked for.
type top struct {
	names     []name // of names, those that are there, perhaps
	git, head bool   // .git is there, or HEAD
	stamp     stamp  // before it was listed
	kept      bool   // it was as remembered, or is remembered now
}

// manyNames is how many a directory may have to be listed: to look for each fixed
// name takes as long.
const manyNames = 512

// top lists a writable directory.
func (f *finder) top(root string) top {
	p := lookAt(root)
	have, kept := f.memory.recall(root, p, f.start)
	t := have.top
	if !kept {
		t = listTop(root)
		kept = f.memory.keep(root, p, f.start, memo{top: t})
	}
	t.stamp, t.kept = p, kept
	f.tops[root] = t
	return t
}

// listTop compares in small letters, because some file systems do not tell them
// apart. A directory with too many names, or that cannot be listed, may hold all.
// On systems whose rules for names go further there are always too many.
func listTop(dir string) top {
	all := top{names: names(), git: true, head: true}
	if runtime.GOOS != "linux" {
		return all
	}
	list, err := entries(dir, manyNames)
	if err != nil || len(list) == manyNames {
		return all
	}
	there := make(map[string]bool, len(list))
	for _, name := range list {
		there[strings.ToLower(name)] = true
	}
	t := top{git: there[".git"], head: there["head"]}
	for _, n := range all.names {
		if first, _, _ := strings.Cut(n.path, "/"); there[strings.ToLower(first)] {
			t.names = append(t.names, n)
		}
	}
	return t
}
