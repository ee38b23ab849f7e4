package shell

import (
	"path"
	"strings"
)

// value is what a variable holds, as far as the text shows.
type value struct {
	text   string
	known  bool // text is all of it
	glob   bool
	prefix string  // the known beginning when not known
	list   []value // an array
	isList bool
	// exported says that programs get it, also shells started by this one.
	exported bool
	ref      bool // text is the name of the variable that is meant: declare -n
	at       Span // where it was set; empty when the text does not show it
}

// scope is the state of one shell or subshell. A child sees its parent, which
// does not change while the child is walked.
type scope struct {
	parent    *scope
	vars      map[string]value
	dir       string // "" when unknown
	dirs      []string
	params    []value // $1 …
	hasParams bool    // params are known
	zero      string
	process   bool // another process than the parent's: it sees what is exported
	exportAll bool // set -a
}

// process is the scope of a shell that this one starts as a program.
func (s *scope) newProcess() *scope {
	c := s.child()
	c.process = true
	c.hasParams, c.params = true, nil
	return c
}

func (s *scope) child() *scope {
	return &scope{parent: s, dir: s.dir, dirs: s.dirs, params: s.params, hasParams: s.hasParams, zero: s.zero, exportAll: s.exportAll}
}

// maxValue and maxList bound what is kept of one variable: x=$x$x doubles it.
const (
	maxValue = 1 << 16
	maxList  = 1 << 8
)

func (s *scope) set(name string, v value) {
	if len(v.text) > maxValue {
		v = value{prefix: v.text[:256], exported: v.exported}
	}
	if len(v.list) > maxList {
		v = value{isList: true, exported: v.exported}
	}
	if s.vars == nil {
		s.vars = map[string]value{}
	}
	if !v.exported {
		old, ok := s.lookup(name)
		v.exported = s.exportAll || ok && old.exported || !ok && inEnvironment(name)
	}
	s.vars[name] = v
}

// setParams sets $1 and on.
func (s *scope) setParams(words []Word) {
	s.params, s.hasParams = nil, len(words) <= maxList
	if s.hasParams {
		for _, a := range words {
			s.params = append(s.params, valueOf(a))
		}
	}
}

// export marks a variable for the programs that are started.
func (s *scope) export(name string) {
	v, ok := s.lookup(name)
	if !ok {
		return
	}
	v.exported = true
	s.set(name, v)
}

// inEnvironment names variables that came with the environment, so that an
// assignment changes what programs see.
func inEnvironment(name string) bool {
	switch name {
	case "HOME", "PATH", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TMPDIR":
		return true
	}
	return false
}

func (s *scope) lookup(name string) (value, bool) {
	outside := false // past the start of a program
	for ; s != nil; s = s.parent {
		if v, ok := s.vars[name]; ok {
			if outside && !v.exported {
				return value{}, true // unset for the program, unless its environment has it
			}
			return v, true
		}
		outside = outside || s.process
	}
	return value{}, false
}

// lookup finds a variable: assigned in the text, or known from Where.
func (w *walker) lookup(name string) (v value, set bool) {
	for hops := 0; ; hops++ {
		v, ok := w.sc.lookup(name)
		if !ok {
			break
		}
		if !v.ref || hops > 8 {
			return v, true
		}
		name = v.text
	}
	at := w.r.s.Where
	switch name {
	case "HOME":
		return value{text: at.Home, known: at.Home != ""}, true
	case "PWD":
		return value{text: w.sc.dir, known: w.sc.dir != ""}, true
	case "USER", "LOGNAME":
		return value{text: at.user(), known: at.user() != ""}, true
	case "IFS":
		return value{text: " \t\n", known: true}, true
	case "0":
		return value{text: w.sc.zero, known: w.sc.zero != ""}, true
	case "@", "*":
		// No parameters here does not mean none for another caller.
		return value{list: w.sc.params, isList: true, known: len(w.sc.params) > 0}, true
	case "OLDPWD", "TMPDIR", "SHELL", "UID", "EUID", "PPID", "RANDOM", "SECONDS", "LINENO", "HOSTNAME", "OSTYPE",
		"MACHTYPE", "BASH", "BASH_VERSION", "PATH", "LANG", "TERM", "$", "!", "?", "#", "-", "_":
		return value{}, true // set by somebody, never empty by surprise
	}
	if len(name) > 0 && name[0] >= '1' && name[0] <= '9' {
		n := 0
		for _, c := range []byte(name) {
			n = n*10 + int(c-'0')
		}
		if w.sc.hasParams && n >= 1 {
			if n <= len(w.sc.params) {
				return w.sc.params[n-1], true
			}
			return value{}, false // unset here, but the caller may be another one
		}
	}
	return value{}, false
}

// join resolves a path against a directory, lexically. An unknown directory
// stays unknown.
func join(dir, p string) string {
	if strings.HasPrefix(p, "/") {
		return path.Clean(p)
	}
	if dir == "" {
		return ""
	}
	return path.Join(dir, p)
}

// chdir follows cd and pushd.
func (w *walker) chdir(name string, args []Word) {
	operands := make([]Word, 0, 1)
	for i, a := range args {
		if a.Literal && strings.HasPrefix(a.Value, "-") && a.Value != "-" && len(operands) == 0 {
			if a.Value == "--" {
				operands = append(operands, args[i+1:]...)
				break
			}
			continue
		}
		operands = append(operands, a)
	}
	old := w.sc.dir
	switch {
	case len(operands) == 0 && name == "cd":
		home, _ := w.lookup("HOME")
		w.sc.dir = home.text
	case len(operands) == 0:
		w.sc.dir = ""
	case operands[0].Value == "-" && operands[0].Literal:
		back, _ := w.sc.lookup("OLDPWD")
		w.sc.dir = back.text
	default:
		w.sc.dir = cdTarget(old, operands[0])
	}
	if name == "pushd" {
		w.sc.dirs = append(w.sc.dirs[:len(w.sc.dirs):len(w.sc.dirs)], old)
	}
	w.sc.set("OLDPWD", value{text: old, known: old != ""})
}

// maxDir is the length past which a directory is not followed further: no
// kernel takes a longer path.
const maxDir = 4_096

// cdTarget keeps what is known of a directory: with an unknown tail the known
// parent directory stands for it, when it is absolute or climbs.
func cdTarget(dir string, w Word) string {
	if len(dir)+len(w.Value) > maxDir {
		return path.Dir(dir) + "/?"
	}
	if w.Literal || w.Guess {
		return join(dir, w.Value)
	}
	i := strings.LastIndexByte(w.Prefix, '/')
	if i < 0 {
		return ""
	}
	return join(dir, w.Prefix[:i+1]+"?")
}

func (w *walker) popd() {
	if n := len(w.sc.dirs); n > 0 {
		w.sc.dir = w.sc.dirs[n-1]
		w.sc.dirs = w.sc.dirs[:n-1]
		return
	}
	w.sc.dir = ""
}
