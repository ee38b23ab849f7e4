//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sbx-run/sbx/sandbox/layout"
)

// spot is one place that the tier full shows the command other than the host's.
type spot struct {
	kind spotKind
	path string
	from string // of writable, shown and guarded: what is there
	dir  bool
}

// spotKind is also the letter that bench/floor knows the kind by.
type spotKind byte

const (
	writable  spotKind = 'w'
	guarded   spotKind = 'g' // the host's, read-only, below a writable one
	shown     spotKind = 'v' // the host's, read-only, in a cover
	cover     spotKind = 'c' // an empty directory of the command's own
	shut      spotKind = 's' // the same, read-only
	hidden    spotKind = 'h'
	terminals spotKind = 'p'
)

// mount is one line of mountinfo, see proc_pid_mountinfo(5).
type mount struct {
	id, parent         int
	device, root, path string
	readOnly           bool
	fs                 string
}

// layout finds out what tier full mounts, by looking from inside: other tools
// are then compared with what is really made, not with what a plan says.
func (o options) layout() ([]spot, error) {
	inside, err := o.mountsUnder(o.sbx, "exec", "--tier", "full", "--workspace", o.workspace(), "--")
	if err != nil {
		return nil, err
	}
	outside, err := o.mountsUnder()
	if err != nil {
		return nil, err
	}
	spots, err := spotsOf(inside, outside)
	return slices.DeleteFunc(spots, fleeting), err
}

// fleeting says that a hidden path is so new that somebody's test may have made
// it, and may remove it before the other tools have covered it, which fail then.
func fleeting(s spot) bool {
	var st syscall.Stat_t
	return s.kind == hidden && (syscall.Lstat(s.path, &st) != nil || time.Since(time.Unix(st.Ctim.Unix())) < 10*time.Minute) &&
		!isBelow(s.path, "/proc")
}

// mountsUnder lists the mounts that a command sees that wrapper starts.
func (o options) mountsUnder(wrapper ...string) ([]mount, error) {
	argv := append(wrapper, "/bin/cat", "/proc/self/mountinfo")
	var out, said bytes.Buffer
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = o.env(), o.workspace(), &out, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, said.String())
	}
	var list []mount
	for line := range strings.Lines(out.String()) {
		m, err := parseMount(line)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

func parseMount(line string) (mount, error) {
	before, after, ok := strings.Cut(line, " - ")
	fields, rest := strings.Fields(before), strings.Fields(after)
	if !ok || len(fields) < 6 || len(rest) < 1 {
		return mount{}, fmt.Errorf("mountinfo: %q", line)
	}
	id, err1 := strconv.Atoi(fields[0])
	parent, err2 := strconv.Atoi(fields[1])
	return mount{
		id: id, parent: parent, device: fields[2], root: layout.Unescape(fields[3]), path: layout.Unescape(fields[4]),
		readOnly: slices.Contains(strings.Split(fields[5], ","), "ro"), fs: rest[0],
	}, errors.Join(err1, err2)
}

// spotsOf lists what is mounted inside and not outside, and can be seen,
// parents before children.
func spotsOf(inside, outside []mount) ([]spot, error) {
	made := slices.DeleteFunc(slices.Clone(inside), func(m mount) bool {
		return slices.ContainsFunc(outside, func(host mount) bool {
			return m.device == host.device && m.root == host.root && m.path == host.path
		})
	})
	// What lies on a mount that another one covers cannot be seen, but for that one.
	covered := map[int]string{}
	for _, m := range made {
		for _, under := range made {
			if m.parent == under.id && m.path == under.path {
				covered[under.id] = under.path
			}
		}
	}
	own := map[string]bool{} // file systems of the run
	for _, m := range made {
		if m.fs == "tmpfs" && !slices.ContainsFunc(outside, func(host mount) bool { return host.device == m.device }) {
			own[m.device] = true
		}
	}
	seen := slices.DeleteFunc(slices.Clone(made), func(m mount) bool {
		under, below := covered[m.parent]
		return covered[m.id] != "" || below && under != m.path
	})
	slices.SortFunc(seen, func(a, b mount) int { return comparePaths(a.path, b.path) })
	shared := map[string]int{}
	for _, m := range seen {
		shared[m.device+m.root]++
	}
	var spots []spot
	for _, m := range seen {
		s := spot{path: m.path, dir: true}
		if info, err := os.Lstat(m.path); err == nil {
			s.dir = info.IsDir()
		}
		above := func(p mount) bool { return p.id == m.parent && own[p.device] }
		switch {
		case m.fs == "proc" && m.path == "/proc":
			continue // a layer of its own
		case m.fs == "devpts":
			s.kind = terminals
		case own[m.device] && (!s.dir || shared[m.device+m.root] > 1 && m.readOnly):
			s.kind = hidden
		case own[m.device] && m.readOnly:
			s.kind = shut
		case own[m.device]:
			s.kind = cover
		case !m.readOnly:
			s.kind = writable
		case slices.ContainsFunc(made, above):
			s.kind = shown
		default:
			s.kind = guarded
		}
		if s.kind == writable || s.kind == shown || s.kind == guarded {
			var err error
			if s.from, err = nameOf(m, outside); err != nil {
				return nil, err
			}
		}
		spots = append(spots, s)
	}
	if !slices.ContainsFunc(spots, func(s spot) bool { return s.kind == writable }) {
		return nil, errors.New("tier full mounts nothing writable: the layout was not understood")
	}
	return spots, nil
}

// nameOf is the path outside of what a mount shows.
func nameOf(m mount, outside []mount) (string, error) {
	for _, host := range slices.Backward(outside) {
		if host.device != m.device || !isBelow(m.root, host.root) {
			continue
		}
		name := filepath.Join(host.path, strings.TrimPrefix(m.root, host.root))
		if _, err := os.Lstat(name); err == nil {
			return name, nil
		}
	}
	return "", fmt.Errorf("what is mounted on %q has no name outside", m.path)
}

func isBelow(name, dir string) bool {
	return name == dir || dir == "/" || strings.HasPrefix(name, dir+"/")
}

// comparePaths orders a directory before all that lies below it.
func comparePaths(a, b string) int {
	return strings.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
}

// bwrapLike is the command line of bwrap for the same mounts. It has neither
// Landlock nor a filter, and reads no command.
func (o options) bwrapLike(spots []spot) []string {
	args := []string{"bwrap", "--unshare-all", "--new-session", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc"}
	var last []string // a cover becomes read-only when all that lies in it is there
	for _, s := range spots {
		switch {
		case s.path == "/dev":
			args = append(args, "--dev", "/dev")
			last = append(last, "--remount-ro", "/dev")
		case isBelow(s.path, "/dev") && s.kind != cover:
			// what --dev makes
		case s.kind == writable:
			args = append(args, "--bind", s.from, s.path)
		case s.kind == guarded || s.kind == shown:
			args = append(args, "--ro-bind", s.from, s.path)
		case s.kind == cover:
			args = append(args, "--perms", "1777", "--tmpfs", s.path)
		case s.kind == shut:
			args = append(args, "--tmpfs", s.path)
			last = append(last, "--remount-ro", s.path)
		case s.dir:
			args = append(args, "--tmpfs", s.path)
		default:
			args = append(args, "--ro-bind", o.emptyFile(), s.path)
		}
	}
	return append(append(args, last...), "--chdir", o.workspace())
}

// floorLike is the same for bench/floor.
func floorLike(spots []spot) []string {
	var words []string
	for _, s := range spots {
		kind := string(s.kind)
		if !s.dir {
			kind += "."
		}
		words = append(words, kind+":"+s.path)
		if s.from != "" && s.from != s.path {
			words = append(words, "from:"+s.from)
		}
	}
	return words
}

// firejailLike is what comes nearest in firejail.
func (o options) firejailLike(spots []spot) []string {
	args := []string{
		"firejail", "--quiet", "--noprofile", "--net=none", "--ipc-namespace", "--noroot",
		"--caps.drop=all", "--nonewprivs", "--seccomp", "--private-dev", "--private-tmp", "--read-only=/",
	}
	for _, s := range spots {
		switch {
		case s.kind == writable && s.from == s.path:
			args = append(args, "--read-write="+s.path)
		case s.kind == hidden && !isBelow(s.path, "/proc"):
			args = append(args, "--blacklist="+s.path)
		}
	}
	return args
}
