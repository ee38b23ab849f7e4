package protect

import "time"

// again looks at a directory that was listed for an earlier run and has not changed
// since: its names are the same, so that only the directories in it, and
// repositories, can have changed. It says whether it did. In a protected one each
// file is looked at.
func (s *scanner) again(at found) bool {
	b, ok := s.before[at.path]
	if !ok || b.stamp != at.stamp || at.stamp.since(s.start) || !b.read.steadyUntil(s.known.start) || s.inGuarded(at.path) != nil {
		return false
	}
	if s.late = time.Now().After(s.end); s.late {
		return true
	}
	s.branch = b
	s.keep()
	if b.git {
		s.repository(at.path, false)
	}
	s.bare(at.path, false)
	for _, path := range b.dirs {
		if p := lookAt(path); p.dir() {
			s.descend(path, p)
		}
	}
	return true
}

// keep remembers the directory that was listed, where a change could not go unseen.
func (s *scanner) keep() {
	if s.keeps && len(s.now) < maxBranches && s.branch.stamp.calm(s.branch.read) {
		s.now = append(s.now, s.branch)
	}
}

// remember keeps what was seen for the next run. Where the time was over, what was
// not reached is as before: the next scan comes further.
func (s *scanner) remember(top string) {
	if s.anew == 0 {
		return
	}
	all := make(branches, len(s.now))
	for _, b := range s.now {
		all[b.path] = b
	}
	if s.late {
		for path, b := range s.before {
			if _, seen := all[path]; !seen && len(all) < maxBranches {
				all[path] = b
			}
		}
	}
	s.known.memory.keepTree(top, all)
}
