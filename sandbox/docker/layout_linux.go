package docker

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/credentials"
)

// bind is a path of the host that a container sees under the same name.
type bind struct {
	path     string
	from     string // empty: path
	readOnly bool
}

// layout is what a container sees beside its image.
type layout struct {
	binds   []bind
	memory  []string // file systems in memory that the command may write to
	covered []string // directories that are there and empty
	size    int64    // of each file system in memory; 0: as the engine likes
	home    string   // one of memory, which belongs to the command's user; may be empty
	late    string   // a place of credentials below a shared directory; empty: there is none
	loose   []string // protected symbolic links, which no mount can hold
}

// places tells the parts of a path's life that a layout depends on.
type places interface {
	kind(path string) pathKind
	glob(pattern string) []string
}

type pathKind uint8

const (
	absent pathKind = iota
	isFile
	isDir
	isLink
)

// host is the real file system.
type host struct{}

func (host) kind(path string) pathKind {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return absent
	case info.Mode().Type() == os.ModeSymlink:
		return isLink
	case info.IsDir():
		return isDir
	}
	return isFile
}

func (host) glob(pattern string) []string {
	found, _ := filepath.Glob(pattern) // the patterns are ours, and valid
	return found
}

// plan lays out the mounts of a profile.
func plan(p sandbox.Profile, fs places) layout {
	var l layout
	l.memory, l.size = []string{"/tmp", "/var/tmp"}, p.Limits.TempBytes
	temp := p.Private.Temp
	if l.size > 0 && temp != "" {
		l.memory, temp = append(l.memory, temp), ""
	}
	for _, dir := range slices.Concat([]string{p.Workspace, temp, p.Private.Cache}, p.Write) {
		if dir != "" && fs.kind(dir) != absent {
			l.add(bind{path: dir, readOnly: p.ReadOnly && dir == p.Workspace})
		}
	}
	writable := slices.Clone(l.binds)
	for _, path := range p.Read {
		if !covers(writable, path) && fs.kind(path) != absent {
			l.add(bind{path: path, readOnly: true})
		}
	}
	shared := slices.Clone(l.binds)
	l.protect(p, writable, fs)
	l.hide(p, shared, fs)
	if home := p.Home; p.Identity != nil && p.Identity.Home != "" {
		l.home = p.Identity.Home
	} else {
		l.home = home
	}
	if !ownHome(l.home) || covers(writable, l.home) {
		l.home = ""
	}
	return l
}

// ownHome says that a directory can be made empty without taking programs away.
func ownHome(dir string) bool {
	if !filepath.IsAbs(dir) || dir == "/" || filepath.Clean(dir) != dir {
		return false
	}
	for _, system := range [...]string{"/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/opt", "/proc", "/run", "/sbin", "/sys", "/tmp", "/usr", "/var"} {
		if dir == system || below(dir, system) && system != "/var" && system != "/opt" && system != "/run" && system != "/tmp" {
			return false
		}
	}
	return true
}

func (l *layout) add(b bind) {
	for _, have := range l.binds {
		if have.path == b.path {
			return
		}
	}
	l.binds = append(l.binds, b)
}

// protect makes paths read-only that lie in a writable directory. The
// directories on the way are mounts too: what is a mount point cannot be moved
// away and replaced. A mount over a symbolic link would be one over what it
// leads to, so that links stay loose.
func (l *layout) protect(p sandbox.Profile, writable []bind, fs places) {
	for _, path := range p.Protect {
		top := holder(writable, path)
		if top == "" || top == path || p.ReadOnly && top == p.Workspace {
			continue
		}
		switch fs.kind(path) {
		case absent: // gone since somebody looked
			continue
		case isLink:
			l.loose = append(l.loose, path)
			continue
		}
		for dir := filepath.Dir(path); below(dir, top); dir = filepath.Dir(dir) {
			l.add(bind{path: dir})
		}
		l.replace(bind{path: path, readOnly: true})
	}
}

func (l *layout) replace(b bind) {
	for i := range l.binds {
		if l.binds[i].path == b.path {
			l.binds[i] = b
			return
		}
	}
	l.binds = append(l.binds, b)
}

// hide covers what a shared directory holds and the command must not read.
func (l *layout) hide(p sandbox.Profile, shared []bind, fs places) {
	var hidden []string
	for _, path := range p.Hide {
		hidden = append(hidden, filepath.Clean(path))
	}
	named := len(hidden)
	var patterns []string
	homes := []string{p.Home}
	if p.Identity != nil && p.Identity.Home != p.Home {
		homes = append(homes, p.Identity.Home)
	}
	for _, home := range homes {
		if !filepath.IsAbs(home) {
			continue
		}
		for _, place := range credentials.Home() {
			patterns = append(patterns, filepath.Join(home, place.Path))
		}
	}
	for _, place := range credentials.System() {
		patterns = append(patterns, place.Path)
	}
	for _, place := range patterns {
		hidden = append(hidden, within(shared, place, fs)...)
	}
	for _, path := range slices.Concat(hidden[:named], patterns) { // what does not exist may appear
		if l.late == "" && holder(shared, path) != "" && !slices.Contains(p.Read, path) {
			l.late = path
		}
	}
	for _, path := range hidden {
		if holder(shared, path) == "" || slices.Contains(p.Read, path) {
			continue
		}
		switch fs.kind(path) {
		case isDir:
			l.covered = append(l.covered, path)
		case isFile:
			l.replace(bind{path: path, from: os.DevNull, readOnly: true})
		}
	}
}

// within expands a pattern when it can mean something that is shared.
func within(shared []bind, pattern string, fs places) []string {
	for _, b := range shared {
		if below(pattern, b.path) || b.path == filepath.Dir(pattern) {
			if strings.ContainsRune(pattern, '*') {
				return fs.glob(pattern)
			}
			return []string{pattern}
		}
	}
	return nil
}

// holder is the deepest of the directories that a path lies in or is.
func holder(dirs []bind, path string) string {
	found := ""
	for _, b := range dirs {
		if (path == b.path || below(path, b.path)) && len(b.path) > len(found) {
			found = b.path
		}
	}
	return found
}

func covers(dirs []bind, path string) bool { return holder(dirs, path) != "" }

func below(path, dir string) bool { return strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") }

// steps says what a layout does, for a plan.
func (l layout) steps() []string {
	var steps []string
	for _, b := range l.binds {
		switch {
		case b.from != "":
			steps = append(steps, fmt.Sprintf("mount an empty file over %s", b.path))
		case b.readOnly:
			steps = append(steps, fmt.Sprintf("mount %s read-only", b.path))
		default:
			steps = append(steps, fmt.Sprintf("mount %s", b.path))
		}
	}
	for _, dir := range l.covered {
		steps = append(steps, fmt.Sprintf("mount an empty directory over %s", dir))
	}
	for _, dir := range l.memory {
		steps = append(steps, fmt.Sprintf("mount a file system in memory at %s", dir))
	}
	if l.home != "" {
		steps = append(steps, fmt.Sprintf("mount a file system in memory at %s", l.home))
	}
	return steps
}
