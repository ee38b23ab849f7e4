package layout

import (
	"path"
	"slices"
	"strings"
)

// One tree can be mounted twice: /home on a large disk that is mounted elsewhere,
// too, the disk's root of systems that are images, a bind mount. A path that is
// hidden by its name is then open by the other one.

// mounted is what counts of one line of mountinfo (proc_pid_mountinfo(5)): at
// which path the part of a file system is seen that begins at root.
type mounted struct{ device, root, at string }

// mountTable is the mounts of a process.
type mountTable struct {
	at    map[string]mounted   // by mount point, the uppermost of each
	twice map[string][]mounted // by device: those that may be second names of one another
}

// tableOf reads a mountinfo.
func tableOf(text string) mountTable {
	t := mountTable{at: map[string]mounted{}}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[3][0] != '/' { // a namespace has no path
			continue
		}
		m := mounted{fields[2], Unescape(fields[3]), Unescape(fields[4])}
		t.at[m.at] = m
	}
	devices := map[string][]mounted{}
	for _, m := range t.at {
		if m.at == "/" || !t.samePlace(m) {
			devices[m.device] = append(devices[m.device], m)
		}
	}
	for device, list := range devices {
		if len(list) > 1 {
			if t.twice == nil {
				t.twice = map[string][]mounted{}
			}
			t.twice[device] = list
		}
	}
	return t
}

// samePlace says that a directory is mounted on itself, which gives it no other
// name.
func (t mountTable) samePlace(m mounted) bool {
	above := t.of(path.Dir(m.at))
	return above.device == m.device && inside(above, m.at) == m.root
}

// of is the mount that a path lies in.
func (t mountTable) of(name string) mounted {
	for {
		if m, ok := t.at[name]; ok || name == "/" {
			return m
		}
		name = path.Dir(name)
	}
}

// inside is the path of a file in its file system.
func inside(m mounted, name string) string {
	return path.Join(m.root, strings.TrimPrefix(name, strings.TrimSuffix(m.at, "/")))
}

// aliases lists the other names of hidden paths, whose last element may be a
// pattern, and the places where a part of what is hidden is mounted.
func (t mountTable) aliases(paths []string) []string { return t.names(paths, true) }

// names is aliases with or without those places.
func (t mountTable) names(paths []string, parts bool) []string {
	if t.twice == nil {
		return nil
	}
	var more []string
	known := make(map[string]bool, len(paths))
	for _, name := range paths {
		known[name] = true
	}
	for _, name := range paths {
		m := t.of(name)
		real := inside(m, name)
		for _, other := range t.twice[m.device] {
			to := ""
			switch {
			case IsBelow(real, other.root):
				to = path.Join(other.at, strings.TrimPrefix(real, strings.TrimSuffix(other.root, "/")))
			case parts && partOf(other.root, real):
				to = other.at
			}
			if to != "" && !known[to] {
				known[to] = true
				more = append(more, to)
			}
		}
	}
	slices.Sort(more)
	return more
}

// partOf says whether root lies below what a hidden path, perhaps a pattern, means.
func partOf(root, hidden string) bool {
	depth := strings.Count(hidden, "/")
	for i, r := range root {
		if r == '/' && i > 0 {
			if depth--; depth == 0 {
				return matches(hidden, root[:i])
			}
		}
	}
	return false
}
