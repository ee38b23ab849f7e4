package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Host is where control groups are looked for. The zero value is this host;
// tests build a tree of their own.
type Host struct {
	root string // stands before every path
	self string // instead of /proc/self: where mountinfo and cgroup are read
	// What a kernel does to a directory, where root is not one's.
	mkdir, rmdir func(dir string) error
}

// Controller is what counts and limits one resource.
type Controller string

// The controllers that this package knows, in the words of the kernel.
const (
	Memory Controller = "memory"
	PIDs   Controller = "pids"
	CPU    Controller = "cpuacct" // counts; in version 2 every group does
)

// place is a directory in which a group can be made that has some controllers.
type place struct {
	dir         string
	v2          bool
	controllers []Controller
}

// mounted is one mounted hierarchy.
type mounted struct {
	at, top     string // where, and which group is shown there
	v2          bool
	controllers []string // version 1
}

// places finds where the groups of some controllers are to be made. Those of
// version 2 share one place, for a process can be in one group of it only.
func (h Host) places(wanted []Controller) ([]place, error) {
	own, mounts := h.ownGroups(), h.mounts()
	var list []place
	rest := wanted
	for _, m := range mounts {
		var here []Controller
		for _, c := range rest {
			if !m.v2 && slices.Contains(m.controllers, string(c)) {
				here = append(here, c)
			}
		}
		if len(here) == 0 {
			continue
		}
		if dir, ok := m.dir(own[string(here[0])]); ok {
			list = append(list, place{dir, false, here})
			rest = slices.DeleteFunc(slices.Clone(rest), func(c Controller) bool { return slices.Contains(here, c) })
		}
	}
	for _, m := range mounts {
		if !m.v2 || len(rest) == 0 {
			continue
		}
		if dir, ok := m.dir(own[""]); ok {
			if dir, ok = h.delegated(dir, m.at, rest); ok {
				list = append(list, place{dir, true, rest})
				rest = nil
			}
		}
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("find control groups: none for %v", rest)
	}
	return list, nil
}

func (h Host) selfDir() string {
	if h.self != "" {
		return h.self
	}
	return h.root + "/proc/self"
}

// mounts reads /proc/self/mountinfo.
func (h Host) mounts() []mounted {
	text, _ := os.ReadFile(h.selfDir() + "/mountinfo")
	var list []mounted
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		dash := slices.Index(fields, "-")
		if dash < 5 || len(fields) < dash+4 {
			continue
		}
		kind, options := fields[dash+1], fields[dash+3]
		if kind == "cgroup" || kind == "cgroup2" {
			list = append(list, mounted{unescape(fields[4]), unescape(fields[3]), kind == "cgroup2", strings.Split(options, ",")})
		}
	}
	return list
}

// unescape undoes the octal escapes of mountinfo.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// ownGroups reads which group this process is in, by controller; "" is the one
// of version 2.
func (h Host) ownGroups() map[string]string {
	text, _ := os.ReadFile(h.selfDir() + "/cgroup")
	own := map[string]string{}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for c := range strings.SplitSeq(parts[1], ",") {
			own[c] = parts[2]
		}
	}
	return own
}

// dir is where a group is seen; false when it lies outside of what is mounted.
func (m mounted) dir(group string) (string, bool) {
	if !strings.HasPrefix(group, "/") || strings.Contains(group, "/..") {
		return "", false
	}
	if m.top != "/" {
		rest, ok := strings.CutPrefix(group, m.top)
		if !ok || rest != "" && rest[0] != '/' {
			return "", false
		}
		group = rest
	}
	return filepath.Join(m.at, group), true
}

// delegated goes up from a group of version 2 to the first that hands the
// controllers to its children: one that holds processes itself cannot. A group
// that has a limit is not left, for what leaves it gets rid of the limit.
func (h Host) delegated(dir, top string, wanted []Controller) (string, bool) {
	for {
		text, _ := os.ReadFile(h.root + filepath.Join(dir, "cgroup.subtree_control"))
		handed := strings.Fields(string(text))
		if !slices.ContainsFunc(wanted, func(c Controller) bool { return c != CPU && !slices.Contains(handed, string(c)) }) {
			return dir, true
		}
		if dir == top || h.limited(dir) {
			return "", false
		}
		dir = filepath.Dir(dir)
	}
}

// limited says whether a group of version 2 has a limit of its own.
func (h Host) limited(dir string) bool {
	for _, file := range []string{"memory.max", "memory.high", "memory.swap.max", "pids.max", "cpu.max", "io.max"} {
		text, err := os.ReadFile(h.root + filepath.Join(dir, file))
		words := strings.Fields(string(text))
		if err == nil && len(words) > 0 && words[0] != "max" {
			return true
		}
	}
	return false
}
