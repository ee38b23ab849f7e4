package direct

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// A Landlock rule grants everything below a path and nothing takes it back. To
// hide a path, its parent is not granted but all that lies beside it: the
// parent is carved. What appears beside it later is not granted until the
// ruleset is built again, so a secret that is written tomorrow is hidden, too.

// carving is the result: paths whose trees may be read.
type carving struct {
	grants []grant
	carved []string // directories that were listed; a change in one makes the carving stale
}

type grant struct {
	path string
	dir  bool
}

// tree lists directories; the file system, or a table in tests.
type tree interface {
	list(dir string) ([]fs.DirEntry, error)
}

// carve grants reading below dir except for the hidden paths. They are
// absolute and clean, and their last element may be a pattern.
func carve(t tree, dir string, hidden []string) carving {
	var c carving
	c.walk(t, dir, hidden)
	return c
}

func (c *carving) walk(t tree, dir string, hidden []string) {
	below := within(dir, hidden)
	if len(below) == 0 {
		c.grants = append(c.grants, grant{dir, true})
		return
	}
	c.carved = append(c.carved, dir)
	entries, err := t.list(dir)
	if err != nil {
		return // it cannot be listed, so nothing beside the secret is granted
	}
	for _, e := range entries {
		at := path.Join(dir, e.Name())
		switch {
		case covers(below, at):
		case e.Type()&fs.ModeSymlink != 0: // what it points to has its own rule
		case e.IsDir():
			c.walk(t, at, below)
		default:
			c.grants = append(c.grants, grant{at, false})
		}
	}
}

// within keeps the hidden paths that lie below dir.
func within(dir string, hidden []string) []string {
	prefix := dir
	if prefix != "/" {
		prefix += "/"
	}
	var below []string
	for _, h := range hidden {
		if strings.HasPrefix(h, prefix) {
			below = append(below, h)
		}
	}
	return below
}

// covers says whether one of the hidden paths is this one.
func covers(hidden []string, at string) bool {
	return slices.ContainsFunc(hidden, func(h string) bool {
		if h == at {
			return true
		}
		if !strings.ContainsRune(h, '*') || path.Dir(h) != path.Dir(at) {
			return false
		}
		ok, err := path.Match(path.Base(h), path.Base(at))
		return ok && err == nil
	})
}

// resolver follows symbolic links, so that a home directory kept in a dotfiles
// repository is hidden where it really is. It remembers what it met: the paths
// of the table share their parents.
type resolver struct {
	readlink func(string) (string, error)
	known    map[string]string
}

// longestChain is the kernel's own limit on symbolic links in one path.
const longestChain = 40

// resolve returns the path without symbolic links. What does not exist stays
// as it is written.
func (r *resolver) resolve(name string) string { return r.follow(name, longestChain) }

func (r *resolver) follow(name string, links int) string {
	if name == "/" || name == "." || links == 0 {
		return name
	}
	if to, ok := r.known[name]; ok {
		return to
	}
	at := path.Join(r.follow(path.Dir(name), links), path.Base(name))
	if target, err := r.readlink(at); err == nil {
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(at), target)
		}
		at = r.follow(path.Clean(target), links-1)
	}
	r.known[name] = at
	return at
}
