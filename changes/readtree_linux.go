package changes

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// gone handles a path that the command removed.
func (r *reader) gone(low int, name, path string) error {
	was, err := stateAt(low, name)
	if absent(err) {
		return nil // somebody else removed it too
	} else if err != nil {
		return err
	}
	if mounted, err := r.mounted(low, name, path); mounted || err != nil {
		return err
	}
	tree, err := r.record(low, name, path, was, true)
	if err != nil {
		return err
	}
	r.op(op{Do: remove, Path: rawPath(path), Was: was, Tree: tree})
	return nil
}

// record notes all that lies at and below a real path that goes away.
func (r *reader) record(low int, name, path string, was *state, list bool) ([]below, error) {
	r.leaves(path, was, list)
	if !was.dir() {
		return nil, nil
	}
	tree, err := treeBelow(low, name)
	if err != nil {
		return nil, err
	}
	for _, b := range tree {
		r.leaves(join(path, string(b.Path)), &b.Was, list)
	}
	return tree, nil
}

func (r *reader) leaves(path string, was *state, list bool) {
	r.touched(path, was)
	if was.file() && was.Links > 1 {
		r.parted = append(r.parted, path)
	}
	if list {
		r.entry(Entry{Path: path, Kind: Deleted, Type: was.typeName(), OldSize: was.fileSize(), Mode: was.perm(), Target: string(was.Target)})
	}
}

// treeBelow lists what lies below a real directory.
func treeBelow(dir int, name string) ([]below, error) {
	top, err := openBelow(dir, name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(top)
	var tree []below
	for todo := []string{""}; len(todo) > 0; {
		path := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		fd, err := openBelow(top, path, unix.O_RDONLY|unix.O_DIRECTORY)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", join(name, path), err)
		}
		list, err := names(fd)
		for _, n := range list {
			var s *state
			if s, err = stateAt(fd, n); err != nil {
				break
			}
			tree = append(tree, below{rawPath(join(path, n)), *s})
			if s.dir() {
				todo = append(todo, join(path, n))
			}
		}
		_ = unix.Close(fd)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", join(name, path), err)
		}
	}
	return tree, nil
}

// fresh handles a path that is not there on the real side.
func (r *reader) fresh(up, low int, name, path string, then *state) error {
	if why, err := r.vanished(up, low, name, path, then); err != nil {
		return err
	} else if why != "" {
		r.conflict(path, why)
		return nil
	}
	if err := r.appears(up, name, path, then, Created, nil); err != nil {
		return err
	}
	r.op(op{Do: put, Path: rawPath(path), Then: then})
	return nil
}

// vanished says why a file without a real counterpart may have had one.
func (r *reader) vanished(up, low int, name, path string, then *state) (string, error) {
	const why = "the file itself was removed while the command ran"
	if r.copied != nil {
		if r.copied.from(path, then.Ino) {
			return why, nil
		}
		return "", nil
	}
	if !hasMark(up, name, "origin", "") {
		return "", nil
	}
	if then.dir() { // an overlay that does not rename directories
		return why, nil
	}
	dir, err := stateAt(low, ".")
	if err != nil {
		return "", err
	}
	if dir.Ctime > r.began {
		return "it may have been removed while the command ran: something else changed in its directory", nil
	}
	return "", nil
}

// replace handles a path where another file, or a file of another type, is.
func (r *reader) replace(up, low int, name, path string, was, then *state) error {
	if !r.permitted(path, was, then) {
		return nil
	}
	o := op{Do: swap, Path: rawPath(path), Was: was, Then: then}
	var err error
	if o.Tree, err = r.record(low, name, path, was, false); err != nil {
		return err
	}
	old := map[string]*state{}
	for i := range o.Tree {
		old[join(path, string(o.Tree[i].Path))] = &o.Tree[i].Was
	}
	old[path] = was
	if err = r.appears(up, name, path, then, Changed, old); err != nil {
		return err
	}
	for p, s := range old { // what appears has taken its own out
		r.entry(Entry{Path: p, Kind: Deleted, Type: s.typeName(), OldSize: s.fileSize(), Mode: s.perm(), Target: string(s.Target)})
	}
	r.op(o)
	return nil
}

// appears lists what the layer has at and below a path. old is what was there
// before; what is found is taken out of it.
func (r *reader) appears(up int, name, path string, top *state, kind Kind, old map[string]*state) error {
	if err := r.shows(up, name, path, top, old); err != nil || !top.dir() {
		return err
	}
	for todo := []string{path}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		dir, err := r.openUpper(at)
		if err != nil {
			return err
		}
		list, err := names(dir)
		for _, n := range list {
			var s *state
			p := join(at, n)
			if s, err = r.look(dir, n, p); err != nil {
				break
			}
			if r.copied == nil && s.whiteout() {
				continue
			}
			if err = r.shows(dir, n, p, s, old); err != nil {
				break
			}
			if s.dir() {
				todo = append(todo, p)
			}
		}
		_ = unix.Close(dir)
		if err != nil {
			return err
		}
	}
	return nil
}

// shows lists one path of the layer.
func (r *reader) shows(dir int, name, path string, s *state, old map[string]*state) error {
	e := Entry{Path: path, Kind: Created, Type: s.typeName(), Size: s.fileSize(), Mode: s.perm(), Target: string(s.Target)}
	was := old[path]
	if was != nil {
		delete(old, path)
		e.Kind, e.OldSize, e.OldMode = Changed, was.fileSize(), was.perm()
		if was.typeName() != e.Type {
			e.OldType = was.typeName()
		} else if s.dir() {
			e.Kind = Metadata
		}
	}
	if len(path) > maxPath {
		return errDeep
	}
	if e.Type == "device" {
		r.conflict(path, "it is a device")
	}
	if s.file() {
		if !r.permitted(path, was, s) {
			return nil
		}
		if _, elsewhere := r.origin(dir, name, path, nil, s); elsewhere && was == nil {
			r.moved = append(r.moved, path)
		}
		if s.Links > 1 {
			r.linked[s.Ino] = append(r.linked[s.Ino], len(r.Entries)) // the entry that follows
		}
	}
	if e.Kind == Metadata && was.perm() == s.perm() {
		return nil // the same directory, made anew
	}
	r.entry(e)
	return nil
}

// linkNames says in the entries which of the layer's files are one: other names of
// a file that stays, or of the first name of a new one.
func (r *reader) linkNames() {
	for ino, list := range r.linked {
		first, rest := r.Entries[list[0]].Path, list[1:]
		for _, a := range r.plan.Links {
			if a.Root == r.index && a.Ino == ino {
				first, rest = string(a.Path), list
			}
		}
		for _, i := range rest {
			r.Entries[i].Link = first
		}
	}
}

// hardLinks finds links that would be lost: a file with several names was
// removed, and a copy of some real file appeared elsewhere. It was moved, then,
// and its other names would no longer be the same file.
func (r *reader) hardLinks() {
	if len(r.parted) == 0 {
		return
	}
	for _, path := range r.moved {
		r.conflict(path, fmt.Sprintf("it was moved, perhaps from %q, which has other names (hard links) that would be another file afterwards", r.parted[0]))
	}
}
