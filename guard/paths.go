package guard

import (
	"path"
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// systemDirs are the directories below / that hold the system, of Linux and
// macOS. /tmp, /mnt and /media are not among them.
var systemDirs = [...]string{
	"bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "opt", "proc", "root", "run", "sbin", "srv", "sys", "usr", "var",
	"Applications", "Library", "System", "Users", "private",
}

// usrDirs are the names that a pattern below /usr is compared with.
var usrDirs = [...]string{"bin", "games", "include", "lib", "lib32", "lib64", "libexec", "libx32", "local", "sbin", "share", "src"}

// element is one name of a path. A pattern stands for any name it matches.
type element struct {
	name    string
	pattern bool
}

// place is what a path is, as far as guard cares.
type place uint8

const (
	elsewhere  place = iota
	rootDir          // /
	systemDir        // a top-level system directory, or a child of /usr, /var/lib, /home
	homeDir          // the home directory, or a directory that holds it
	aroundDir        // a directory that holds the workspace
	rootList         // /*
	systemList       // /etc/*
	homeList         // ~/*
	aroundList       // ../*
)

// String describes a place for people.
func (p place) String() string {
	return [...]string{
		"a path", "the root of the file system", "a system directory", "the home directory", "a directory around the workspace",
		"everything below /", "everything in a system directory", "everything in the home directory", "everything around the workspace",
	}[p]
}

// elements splits a path that is used in a directory into names, undoing
// "//", "." and "..". It reports false for a relative path in an unknown
// directory.
func elements(dir, value string, glob bool, buf []element) ([]element, bool) {
	out := buf[:0]
	if !strings.HasPrefix(value, "/") {
		if dir == "" {
			return nil, false
		}
		out = push(out, dir, false, "")
	}
	return canonical(push(out, value, glob, dir)), true
}

// push appends the names of a path. /proc/self/root is /, and /proc/self/cwd is
// the directory dir.
func push(out []element, p string, glob bool, dir string) []element {
	for p != "" {
		var name string
		name, p, _ = strings.Cut(p, "/")
		switch name {
		case "", ".":
		case "..":
			if len(out) > 0 {
				out = out[:len(out)-1]
			}
		default:
			out = append(out, element{name, glob && strings.ContainsAny(name, "*?[(")})
			if len(out) == 3 && out[0].name == "proc" && (name == "root" || name == "cwd" && dir != "") {
				out = out[:0]
				if name == "cwd" {
					out = push(out, dir, false, "")
				}
			}
		}
	}
	return out
}

// canonical undoes the second names that macOS has for /etc, /tmp and /var.
func canonical(p []element) []element {
	if len(p) >= 2 && p[0].name == "private" && (p[1].name == "etc" || p[1].name == "tmp" || p[1].name == "var") {
		return p[1:]
	}
	return p
}

func (e element) matches(name string) bool {
	if !e.pattern {
		return e.name == name
	}
	if strings.IndexByte(e.name, '(') >= 0 { // an extended pattern: may match anything
		return true
	}
	if name[0] == '.' && e.name[0] != '.' {
		return false
	}
	pattern := e.name
	if strings.Contains(pattern, "[!") {
		pattern = strings.ReplaceAll(pattern, "[!", "[^")
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// everything reports whether a pattern is made to match every name, or every
// hidden name: *, .*, [a-z]*, .[!.]*, *.*, !(keep).
func (e element) everything() bool { return e.pattern && matchesAll(e.name) }

func matchesAll(pattern string) bool {
	if strings.HasPrefix(pattern, "!(") {
		return true
	}
	star := false
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '*':
			star = true
		case '.', '?', '/', '^', '$', '+':
		case '[':
			end := strings.IndexByte(pattern[i+1:], ']')
			if end < 0 {
				return false
			}
			i += end + 1
		default:
			return false
		}
	}
	return star
}

// placeOf judges a path: what it is itself, else what it is the content of.
func (k *checker) placeOf(p []element) place {
	if at := k.dirPlace(p); at != elsewhere {
		return at
	}
	n := len(p)
	for n > 0 && p[n-1].everything() {
		n--
	}
	if n == len(p) {
		return elsewhere
	}
	if at := k.dirPlace(p[:n]); at != elsewhere {
		return at + (rootList - rootDir)
	}
	return elsewhere
}

// dirPlace judges a directory. Home and system directories come first: they
// are protected even where they are the workspace.
func (k *checker) dirPlace(p []element) place {
	switch {
	case len(p) == 0:
		return rootDir
	case p[len(p)-1].everything():
		return elsewhere // see placeOf
	case inSystem(p):
		if len(p) == 2 && k.holds(p, k.s.Where.Home, true) && !k.holds(p, k.s.Where.Home, false) {
			return homeDir
		}
		return systemDir
	case k.holds(p, k.s.Where.Home, true):
		return homeDir
	case k.holds(p, k.workspace(), false):
		return aroundDir
	}
	return elsewhere
}

func inSystem(p []element) bool {
	switch len(p) {
	case 1:
		return matchesAny(p[0], systemDirs[:])
	case 2:
		switch {
		case p[0].name == "usr":
			return !p[1].pattern || matchesAny(p[1], usrDirs[:])
		case p[0].name == "home" || p[0].name == "Users":
			return anyChild(p[1])
		}
		return !p[0].pattern && p[0].name == "var" && p[1].matches("lib")
	case 3:
		return p[0].name == "var" && p[1].name == "lib" && anyChild(p[2])
	}
	return false
}

func matchesAny(e element, names []string) bool {
	for _, name := range names {
		if e.matches(name) {
			return true
		}
	}
	return false
}

// anyChild reports whether an element names children of a directory whose
// names nobody knows. A pattern with a dot asks for files: *.log.
func anyChild(e element) bool {
	return !e.pattern || strings.IndexByte(e.name, '.') < 0
}

// holds reports whether a path is an ancestor of dir, or dir itself.
func (k *checker) holds(p []element, dir string, itself bool) bool {
	if len(dir) < 2 {
		return false
	}
	rest := strings.TrimPrefix(dir, "/")
	for _, e := range p {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		if name == "" || !e.matches(name) || e.everything() {
			return false
		}
	}
	return rest != "" || itself
}

func (k *checker) workspace() string {
	if k.s.Where.Workspace != "" {
		return k.s.Where.Workspace
	}
	return k.s.Where.Cwd
}

// inside reports whether a path lies in the workspace or below /tmp.
func (k *checker) inside(p []element) bool {
	if len(p) > 1 && p[0].name == "tmp" || len(p) > 2 && p[0].name == "var" && p[1].name == "tmp" {
		return true
	}
	rest := strings.Trim(k.workspace(), "/")
	if rest == "" {
		return false
	}
	for _, e := range p {
		if rest == "" {
			return true
		}
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		if e.name != name {
			return false
		}
	}
	return rest == ""
}

func pathString(p []element) string {
	if len(p) == 0 {
		return "/"
	}
	var b strings.Builder
	for _, e := range p {
		b.WriteByte('/')
		b.WriteString(e.name)
	}
	return b.String()
}

// judge finds what a word names as a path of the call.
func (k *checker) judge(c *shell.Call, w *shell.Word) (place, string) {
	value, ok := certain(k.s, w)
	if !ok || value == "" {
		return elsewhere, ""
	}
	return k.judgePath(c, value, w.Glob || c.More && !w.Quoted)
}

func (k *checker) judgePath(c *shell.Call, value string, glob bool) (place, string) {
	if value == "~" || strings.HasPrefix(value, "~/") && k.s.Where.Home == "" {
		if rest := strings.TrimLeft(value[1:], "/"); k.s.Where.Home == "" && (rest == "" || glob && matchesAll(rest)) {
			return homeDir, value // the shell knew no home to put in its place
		}
	}
	var buf [24]element
	value = k.newRoot(c, value)
	p, ok := elements(c.Dir, value, glob, buf[:])
	if !ok || value == "" {
		return elsewhere, ""
	}
	at := k.placeOf(p)
	if at == elsewhere {
		return elsewhere, ""
	}
	shown := pathString(p)
	if k.allows("delete-system", shown) {
		return elsewhere, ""
	}
	return at, shown
}

// newRoot moves an absolute path below the directory that a chroot around the
// call makes its root.
func (k *checker) newRoot(c *shell.Call, value string) string {
	if !strings.HasPrefix(value, "/") {
		return value
	}
	for _, by := range c.Carriers {
		if by.Name != "chroot" {
			continue
		}
		o := options{args: k.at(by.Call).Args(), stop: true, long: "userspec groups"}
		for a, ok := o.next(); ok; a, ok = o.next() {
			if !a.operand() {
				continue
			}
			if root := known(a.value); root != "" || a.value.Literal {
				return root + value
			}
			return "" // somewhere below an unknown root
		}
	}
	return value
}
