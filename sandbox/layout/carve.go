package layout

import (
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// A Landlock rule grants everything below a path and nothing takes it back. To
// hide a path, its parent is not granted but all that lies beside it: the
// parent is carved. What appears beside it later is not granted until the
// ruleset is built again, so a secret that is written tomorrow is hidden, too.

// Carving is the result: paths whose trees may be read.
type Carving struct {
	Grants []Grant
	Masks  []Grant  // hidden paths that exist, without links in them: what a mount has to cover
	carved []string // directories that were listed; a change in one makes the carving stale
	Hidden []string // as they were given, and where symbolic links among them lead
}

// Grant is one path of a Carving.
type Grant struct {
	Path string
	Dir  bool
}

// entry is one name in a directory.
type entry struct {
	name string
	kind fileKind
}

type fileKind uint8

const (
	file fileKind = iota
	dir
	link
)

// tree is the file system, or a table in tests.
type tree interface {
	list(dir string) []entry // nil when it cannot be listed
	readlink(name string) (string, error)
}

// LongestChain is the kernel's own limit on symbolic links in one path.
const LongestChain = 40

// carve grants reading of everything but the hidden paths. They are absolute
// and clean, and their last element may be a pattern of path.Match. A hidden
// path that is a symbolic link, or leads through one, is hidden where it really
// is, too: home directories are kept in dotfiles repositories.
func carve(newTree func() tree, hidden []string) Carving {
	listed := &listings{of: map[string][]entry{}}
	for round := 1; ; round++ {
		c := carver{tree: newTree(), listed: listed, plan: plant(hidden)}
		c.all(newTree)
		more := c.follow(hidden)
		// What needs more links than that, as a ring does, is a name of nothing. All
		// else stays hidden: whoever can write where a hidden path leads can make rings.
		if len(more) == 0 || round > LongestChain {
			c.out.Hidden = hidden
			return c.out
		}
		hidden = append(slices.Clone(hidden), more...)
	}
}

// carver carves one directory and what lies below it.
type carver struct {
	tree   tree
	listed *listings
	plan   trie
	out    Carving
	links  []string // symbolic links that hidden paths lead through
	// apart: directories directly below are left for carvers of their own.
	apart bool
	below []*carver
	at    string
	node  int
}

// listings is what was read already: most of it is walked through twice. It is
// safe for concurrent use.
type listings struct {
	mu sync.Mutex
	of map[string][]entry
}

func (l *listings) list(t tree, at string) []entry {
	l.mu.Lock()
	entries, ok := l.of[at]
	l.mu.Unlock()
	if !ok {
		entries = t.list(at)
		l.mu.Lock()
		l.of[at] = entries
		l.mu.Unlock()
	}
	return entries
}

// all carves the root directory: what is in it first, then each of the trees, two
// at a time, because reading directories is most of the time.
func (c *carver) all(newTree func() tree) {
	c.at, c.apart = "/", true
	c.walk(c.at, 0)
	var next atomic.Int32
	work := func(t tree) {
		for i := int(next.Add(1)) - 1; i < len(c.below); i = int(next.Add(1)) - 1 {
			b := c.below[i]
			b.tree = t
			b.walk(b.at, b.node)
		}
	}
	var other sync.WaitGroup
	if len(c.below) > 1 {
		other.Go(func() { work(newTree()) })
	}
	work(c.tree)
	other.Wait()
	for _, b := range c.below {
		c.out.Grants, c.out.Masks = append(c.out.Grants, b.out.Grants...), append(c.out.Masks, b.out.Masks...)
		c.out.carved, c.links = append(c.out.carved, b.out.carved...), append(c.links, b.links...)
	}
}

// beside is path.Join of a clean directory and one name.
func beside(at, name string) string {
	if at == "/" {
		return "/" + name
	}
	return at + "/" + name
}

func (c *carver) walk(at string, node int) {
	if c.plan[node].child == 0 {
		c.out.Grants = append(c.out.Grants, Grant{at, true})
		return
	}
	c.out.carved = append(c.out.carved, at)
	for _, e := range c.listed.list(c.tree, at) {
		next, hides := c.plan.find(node, e.name)
		switch {
		case e.kind == link:
			if hides || next != 0 {
				c.links = append(c.links, beside(at, e.name))
			}
			// What any other link points to has its own rule.
		case hides:
			c.out.Masks = append(c.out.Masks, Grant{beside(at, e.name), e.kind == dir})
		case e.kind == dir && next != 0 && c.apart:
			c.below = append(c.below, &carver{listed: c.listed, plan: c.plan, at: beside(at, e.name), node: next})
		case e.kind == dir && next != 0:
			c.walk(beside(at, e.name), next)
		default:
			c.out.Grants = append(c.out.Grants, Grant{beside(at, e.name), e.kind == dir})
		}
	}
}

// follow rewrites hidden paths that lead through links, and returns those that
// are new.
func (c *carver) follow(hidden []string) []string {
	var more []string
	for _, l := range c.links {
		target, err := c.tree.readlink(l)
		if err != nil {
			continue
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(l), target)
		}
		for _, h := range hidden {
			to := ""
			if rest, below := strings.CutPrefix(h, l+"/"); below {
				to = path.Join(target, rest)
			} else if matches(h, l) {
				to = path.Clean(target)
			}
			if to != "" && !slices.Contains(hidden, to) && !slices.Contains(more, to) {
				more = append(more, to)
			}
		}
	}
	return more
}

// matches says whether a hidden path, perhaps a pattern, means this one.
func matches(hidden, at string) bool {
	if hidden == at {
		return true
	}
	ok, err := path.Match(path.Base(hidden), path.Base(at))
	return ok && err == nil && path.Dir(hidden) == path.Dir(at)
}

// trie holds the hidden paths by element. Node 0 is the root directory.
type trie []node

type node struct {
	name        string
	pattern     bool
	hidden      bool
	child, next int // 0: none
}

func plant(hidden []string) trie {
	t := make(trie, 1, 256)
	for _, h := range hidden {
		at := 0
		for name := range strings.SplitSeq(strings.TrimPrefix(h, "/"), "/") {
			at = t.step(at, name)
		}
		t[at].hidden = at != 0
	}
	return t
}

// step finds or adds the child of that name.
func (t *trie) step(at int, name string) int {
	for n := (*t)[at].child; n != 0; n = (*t)[n].next {
		if (*t)[n].name == name {
			return n
		}
	}
	*t = append(*t, node{name: name, pattern: strings.ContainsRune(name, '*'), next: (*t)[at].child})
	(*t)[at].child = len(*t) - 1
	return len(*t) - 1
}

// find returns the node of a name, or 0, and whether the name is hidden.
func (t trie) find(at int, name string) (next int, hides bool) {
	for n := t[at].child; n != 0; n = t[n].next {
		if t[n].name == name {
			next = n
			hides = hides || t[n].hidden
		} else if t[n].pattern && t[n].hidden {
			if ok, err := path.Match(t[n].name, name); ok && err == nil {
				hides = true
			}
		}
	}
	return next, hides
}
