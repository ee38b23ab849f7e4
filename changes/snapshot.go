package changes

import (
	"path"
	"slices"
)

// Snapshot is what a copy of a directory held when it was made.
type Snapshot struct {
	inode map[string]uint64   // of the copy, by path
	known map[uint64]bool     // those inodes
	below map[string][]string // names by directory, sorted when asked for
}

func newSnapshot() *Snapshot {
	return &Snapshot{inode: map[string]uint64{}, known: map[uint64]bool{}, below: map[string][]string{}}
}

func (s *Snapshot) add(name string, ino uint64) {
	s.inode[name], s.known[ino] = ino, true
	if name != "." {
		dir := path.Dir(name)
		s.below[dir] = append(s.below[dir], path.Base(name))
	}
}

// from says whether an inode of the copy is the one made for the path.
func (s *Snapshot) from(name string, ino uint64) bool {
	have, ok := s.inode[name]
	return ok && have == ino
}

// knows says whether an inode of the copy was made for any path.
func (s *Snapshot) knows(ino uint64) bool { return s.known[ino] }

// namesIn lists what the directory held.
func (s *Snapshot) namesIn(dir string) []string {
	list := s.below[dir]
	slices.Sort(list)
	return list
}
