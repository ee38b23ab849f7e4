package bwrap

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/sbx-run/sbx/sandbox/layout"
)

// bwrap is told paths, and other commands may be at work in the same directories
// meanwhile: a path that was a directory when it was looked at can be a symbolic
// link when it is mounted. So what was made is looked at before the command
// starts. A mount of the host that its user cannot reach bwrap leaves as it is.

// mount is what counts of one line of mountinfo (proc_pid_mountinfo(5)).
type mount struct {
	path     string
	tree     string // which tree it shows: device and directory
	writable bool
}

// check compares the mounts of a process with the layout.
func check(mounts []mount, s scene) error {
	return compare(mounts, s, sync.OnceValue(func() []mount { return mountsOf(layout.MountInfo()) }))
}

// changedError says that what was made is not what was to be made: it is tried
// again. A file that is replaced loses what was mounted on it.
type changedError struct{ path, why string }

func (e *changedError) Error() string {
	return fmt.Sprintf("%q %s: somebody changes the directories meanwhile", e.path, e.why)
}

// compare is pure. outside are the mounts of the host.
func compare(mounts []mount, s scene, outside func() []mount) error {
	at := map[string]int{}
	for _, m := range mounts {
		at[m.path]++
	}
	for _, m := range mounts {
		if m.writable && !mayWrite(s.spots, m.path) && (at[m.path] > 1 || m.path == "/" || !slices.Contains(outside(), m)) {
			return &changedError{m.path, "is writable in what bwrap has made, and must not be"}
		}
	}
	for _, spot := range s.spots {
		if spot.Kind == layout.View && spot.Text == "" || spot.Kind == layout.Guard && s.isLink(spot.Path) {
			continue // it may be absent, or is no mount
		}
		if at[spot.Path] == 0 {
			return &changedError{spot.Path, "has nothing mounted on it"}
		}
		if spot.Text != "" || spot.Own() {
			continue
		}
		if got, want := uppermost(mounts, spot.Path).tree, treeOf(outside(), spot.Source()); got != want {
			return &changedError{spot.Path, "shows another directory"}
		}
	}
	return nil
}

// uppermost is the mount that is seen at a mount point.
func uppermost(mounts []mount, name string) (top mount) {
	for _, m := range mounts {
		if m.path == name {
			top = m
		}
	}
	return top
}

// treeOf is the tree that a path is the top of.
func treeOf(mounts []mount, name string) string {
	var nearest mount
	for _, m := range mounts { // later ones lie upon earlier ones
		if layout.IsBelow(name, m.path) && len(m.path) >= len(nearest.path) {
			nearest = m
		}
	}
	device, root, _ := strings.Cut(nearest.tree, " ")
	return device + " " + path.Join(root, strings.TrimPrefix(name, strings.TrimSuffix(nearest.path, "/")))
}

// mayWrite says whether a mount at a path may be writable: where the nearest
// spot at or above it is, or is the run's own.
func mayWrite(spots []layout.Spot, name string) bool {
	nearest := layout.Nearest(spots, name)
	if nearest == nil {
		return false
	}
	switch nearest.Kind {
	case layout.Bind, layout.Pin, layout.Cover, layout.Mask:
		return true
	case layout.Shut:
		return name == ptsDir
	case layout.View:
		return layout.IsBelow(name, "/dev") && slices.Contains([]string{nearest.Path}, name)
	}
	return false
}

// writable lists where the command may write. /dev, which bwrap makes, stands for the
// devices in it; there is nothing to write in what is masked.
func writable(mounts []mount, spots []layout.Spot) []string {
	var list []string
	if dev := layout.Nearest(spots, "/dev"); dev != nil && dev.Path == "/dev" && dev.Kind == layout.Shut {
		list = append(list, dev.Path)
	}
	for _, m := range mounts {
		if m.writable && mayWrite(spots, m.path) && layout.Nearest(spots, m.path).Kind != layout.Mask {
			list = append(list, m.path)
		}
	}
	return list
}

// mountsOf reads mountinfo.
func mountsOf(text string) []mount {
	var list []mount
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 6 {
			continue
		}
		list = append(list, mount{layout.Unescape(fields[4]), fields[2] + " " + layout.Unescape(fields[3]), !slices.Contains(strings.Split(fields[5], ","), "ro")})
	}
	return list
}
