package bwrap

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/bound"
	"github.com/sbx-run/sbx/sandbox/layout"
)

// scene is what the options of one run depend on beside the profile and the
// facts.
type scene struct {
	spots   []layout.Spot
	links   []layout.Link // made again in /run
	isLink  func(string) bool
	private []string // files of /proc that tell about the host
	dir     string
	files   files
}

// files are the descriptors that bwrap reads and writes.
type files struct {
	filter int   // the filter of system calls
	status int   // what it tells
	texts  []int // of the spots with a text, in their order
}

// options is what bwrap reads from --args, one group for each thing it does, in
// the order in which it does them. It is pure.
func options(p sandbox.Profile, f facts, s scene) [][]string {
	list := [][]string{{"--unshare-user"}, {"--unshare-ipc"}, {"--unshare-pid"}, {"--unshare-uts"}, {"--unshare-cgroup-try"}}
	if p.Network != sandbox.NetworkHost {
		list = append(list, []string{"--unshare-net"})
	}
	if !f.nested {
		list = append(list, []string{"--disable-userns"})
	}
	list = append(list, []string{"--die-with-parent"}, []string{"--as-pid-1"}, []string{"--cap-drop", "ALL"})
	if len(s.spots) == 0 || s.spots[0].Path != "/" {
		list = append(list, []string{"--ro-bind", "/", "/"})
	}
	list = append(list, mounts(p, s)...)
	if !f.noProc {
		list = append(list, []string{"--proc", "/proc"})
		for _, name := range s.private {
			list = append(list, []string{"--ro-bind", nothing, name})
		}
		list = append(list, []string{"--remount-ro", "/proc"})
	}
	for _, spot := range s.spots {
		if spot.Kind == layout.Shut && spot.Path != ptsDir {
			list = append(list, []string{"--remount-ro", spot.Path})
		}
	}
	list = append(list, []string{"--seccomp", strconv.Itoa(s.files.filter)}, []string{"--json-status-fd", strconv.Itoa(s.files.status)})
	return append(list, []string{"--chdir", s.dir})
}

const (
	// nothing covers a file: without a capability for devices it cannot be opened.
	nothing = "/dev/null"
	ptsDir  = "/dev/pts"
)

// mounts are the options that lay the spots out.
func mounts(p sandbox.Profile, s scene) [][]string {
	var list [][]string
	texts := s.files.texts
	for _, spot := range s.spots {
		at := spot.Path
		switch {
		case at == "/dev" && spot.Kind == layout.Shut:
			list = append(list, []string{"--dev", at})
		case at == ptsDir, ofDev(spot), spot.Kind == layout.Guard && s.isLink(at):
		case at == "/dev/console":
			list = append(list, []string{"--dev-bind", spot.Source(), at})
		case spot.Kind == layout.Mask && !spot.Dir:
			list = append(list, []string{"--ro-bind", nothing, at})
		case spot.Kind == layout.Mask:
			list = append(list, []string{"--perms", "0000", "--tmpfs", at})
		case spot.Own():
			list = append(list, tmpfs(p, spot))
			if at == "/run" {
				for _, l := range s.links {
					list = append(list, []string{"--symlink", l.To, path.Join(at, l.Name)})
				}
			}
		case spot.Text != "":
			list = append(list, []string{"--perms", "0444", "--ro-bind-data", strconv.Itoa(texts[0]), at})
			texts = texts[1:]
		case spot.Kind == layout.View:
			list = append(list, []string{"--ro-bind-try", spot.Source(), at})
		case spot.Kind == layout.Guard:
			list = append(list, []string{"--ro-bind", spot.Source(), at})
		case layout.IsBelow(at, "/dev"):
			list = append(list, []string{"--dev-bind", spot.Source(), at})
		default:
			list = append(list, []string{"--bind", spot.Source(), at})
		}
	}
	return list
}

// tmpfs is an empty directory of the run's own.
func tmpfs(p sandbox.Profile, s layout.Spot) []string {
	option := []string{"--perms", "0" + strconv.FormatUint(uint64(s.Mode), 8)}
	if size := bound.TempSize(p.Limits); size > 0 && s.Kind == layout.Cover {
		option = append(option, "--size", strconv.FormatInt(size, 10))
	}
	return append(option, "--tmpfs", s.Path)
}

// ofDev says that a spot is a device that bwrap makes by itself.
func ofDev(s layout.Spot) bool {
	return s.Kind == layout.View && slices.ContainsFunc(layout.Devices(), func(d layout.Device) bool { return d.Path == s.Path })
}

// text is what bwrap reads: options that end with NUL each.
func text(list [][]string) []byte {
	var b []byte
	for _, option := range list {
		for _, word := range option {
			b = append(append(b, word...), 0)
		}
	}
	return b
}

// steps is a list of options for people. Of descriptors it shows that they are
// ones.
func steps(list [][]string) []string {
	var lines []string
	for _, option := range list {
		switch option[0] {
		case "--seccomp", "--json-status-fd":
			lines = append(lines, option[0]+" FD")
		default:
			lines = append(lines, strings.Join(option, " "))
		}
	}
	return lines
}
