package container

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/credentials"
)

// Bind is a path of the host that a container sees under the same name.
type Bind struct {
	Path     string
	From     string // empty: Path
	ReadOnly bool
}

// Layout is what a container sees beside its image.
type Layout struct {
	Binds   []Bind
	Memory  []string // file systems in memory that the command may write to
	Covered []string // directories that are there and empty
	Size    int64    // bytes of each file system in memory; 0: as the engine likes
	Home    string   // one more of Memory, which belongs to the command's user; may be empty
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

// lay lays out the mounts of a profile.
func lay(p sandbox.Profile, fs places) Layout {
	var l Layout
	l.Memory, l.Size = []string{"/tmp", "/var/tmp"}, p.Limits.TempBytes
	temp := p.Private.Temp
	if l.Size > 0 && temp != "" {
		l.Memory, temp = append(l.Memory, temp), ""
	}
	for _, dir := range slices.Concat([]string{p.Workspace, temp, p.Private.Cache}, p.Write) {
		if dir != "" && fs.kind(dir) != absent {
			l.add(Bind{Path: dir, ReadOnly: p.ReadOnly && dir == p.Workspace})
		}
	}
	writable := slices.Clone(l.Binds)
	for _, path := range p.Read {
		if !covers(writable, path) && fs.kind(path) != absent {
			l.add(Bind{Path: path, ReadOnly: true})
		}
	}
	shared := slices.Clone(l.Binds)
	l.protect(p, writable, fs)
	l.hide(p, shared, fs)
	if home := p.Home; p.Identity != nil && p.Identity.Home != "" {
		l.Home = p.Identity.Home
	} else {
		l.Home = home
	}
	if !ownHome(l.Home) || covers(writable, l.Home) {
		l.Home = ""
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

func (l *Layout) add(b Bind) {
	for _, have := range l.Binds {
		if have.Path == b.Path {
			return
		}
	}
	l.Binds = append(l.Binds, b)
}

// protect makes paths read-only that lie in a writable directory. The
// directories on the way are mounts too: what is a mount point cannot be moved
// away and replaced. A mount over a symbolic link would be one over what it
// leads to, so that links stay loose.
func (l *Layout) protect(p sandbox.Profile, writable []Bind, fs places) {
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
			l.add(Bind{Path: dir})
		}
		l.replace(Bind{Path: path, ReadOnly: true})
	}
}

func (l *Layout) replace(b Bind) {
	for i := range l.Binds {
		if l.Binds[i].Path == b.Path {
			l.Binds[i] = b
			return
		}
	}
	l.Binds = append(l.Binds, b)
}

// hide covers what a shared directory holds and the command must not read.
func (l *Layout) hide(p sandbox.Profile, shared []Bind, fs places) {
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
			l.Covered = append(l.Covered, path)
		case isFile:
			l.replace(Bind{Path: path, From: os.DevNull, ReadOnly: true})
		}
	}
}

// within expands a pattern when it can mean something that is shared.
func within(shared []Bind, pattern string, fs places) []string {
	for _, b := range shared {
		if below(pattern, b.Path) || b.Path == filepath.Dir(pattern) {
			if strings.ContainsRune(pattern, '*') {
				return fs.glob(pattern)
			}
			return []string{pattern}
		}
	}
	return nil
}

// holder is the deepest of the directories that a path lies in or is.
func holder(dirs []Bind, path string) string {
	found := ""
	for _, b := range dirs {
		if (path == b.Path || below(path, b.Path)) && len(b.Path) > len(found) {
			found = b.Path
		}
	}
	return found
}

func covers(dirs []Bind, path string) bool { return holder(dirs, path) != "" }

func below(path, dir string) bool { return strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") }

// steps says what a layout does, for a plan.
func (l Layout) steps() []string {
	var steps []string
	for _, b := range l.Binds {
		switch {
		case b.From != "":
			steps = append(steps, fmt.Sprintf("mount an empty file over %s", b.Path))
		case b.ReadOnly:
			steps = append(steps, fmt.Sprintf("mount %s read-only", b.Path))
		default:
			steps = append(steps, fmt.Sprintf("mount %s", b.Path))
		}
	}
	for _, dir := range l.Covered {
		steps = append(steps, fmt.Sprintf("mount an empty directory over %s", dir))
	}
	for _, dir := range l.Memory {
		steps = append(steps, fmt.Sprintf("mount a file system in memory at %s", dir))
	}
	if l.Home != "" {
		steps = append(steps, fmt.Sprintf("mount a file system in memory at %s", l.Home))
	}
	return steps
}
