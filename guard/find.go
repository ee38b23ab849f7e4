package guard

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// find judges find -delete. What -exec runs is a call of its own.
func (k *checker) find(i int, c *shell.Call) {
	starts, expr := findStarts(c.Args())
	deletes := false
	for j := range expr {
		deletes = deletes || expr[j].Value == "-delete"
	}
	if !deletes {
		return
	}
	at, shown := k.start(c, starts)
	if at == elsewhere {
		return
	}
	f := finder{expr: expr}
	for f.next() {
		if f.action == "-delete" && !f.narrow {
			k.report(wayFind, i, shown+" ("+at.String()+")", spelled(c, shown))
			return
		}
	}
}

// start judges the starting points of a find. A protected one counts first.
func (k *checker) start(c *shell.Call, starts []shell.Word) (place, string) {
	if len(starts) == 0 {
		return k.judgePath(c, ".", false)
	}
	for j := range starts {
		if at, shown := k.judge(c, &starts[j]); at != elsewhere {
			return at, shown
		}
	}
	return elsewhere, ""
}

// findStarts splits the arguments of find into starting points and expression.
func findStarts(args []shell.Word) (starts, expr []shell.Word) {
	at := 0
	for at < len(args) {
		switch v := args[at].Value; {
		case v == "-H" || v == "-L" || v == "-P" || v == "-E" || v == "-X" || v == "-x" || v == "-d" || v == "-s" || strings.HasPrefix(v, "-O"):
			at++
			continue
		case v == "-D" || v == "-f":
			at += 2
			continue
		case v == "--":
			at++
		}
		break
	}
	at = min(at, len(args))
	end := at
	for end < len(args) {
		if v := known(&args[end]); args[end].Literal && (v == "(" || v == ")" || v == "!" || v == ",") || len(v) > 1 && v[0] == '-' {
			break
		}
		end++
	}
	return args[at:end], args[end:]
}

// finder goes through the expression of find and stops at its actions. narrow
// says whether a test before the action narrows what it gets: a name, a path,
// an age, a size, an owner. -type, -mindepth and a negated name do not.
type finder struct {
	expr   []shell.Word
	at     int
	action string // -delete, -exec …, -print …; "" at the end
	words  []shell.Word
	narrow bool

	negated bool
	ended   bool
	group   findGroup
	outer   []findGroup
}

// findGroup is one level of parentheses: narrow before it, and whether all
// alternatives of -o so far were narrow.
type findGroup struct {
	before, all, seen, negated bool
}

// next moves to the next action, or to the end of the expression.
func (f *finder) next() bool {
	f.afterExec()
	for f.at < len(f.expr) {
		v := f.expr[f.at].Value
		f.at++
		switch v {
		case "(":
			f.outer = append(f.outer, f.group)
			f.group = findGroup{before: f.narrow, all: true, negated: f.negated}
			f.negated = false
		case ")":
			f.close()
		case "-o", "-or", ",":
			f.group.all = f.group.all && f.narrow || !f.group.seen && f.narrow
			f.group.seen = true
			f.narrow = f.group.before
		case "!", "-not":
			f.negated = !f.negated
		case "-a", "-and", "-true", "-prune", "-depth", "-xdev", "-mount", "-daystart", "-follow", "-noleaf", "-warn", "-nowarn", "-ignore_readdir_race":
		case "-delete", "-print", "-print0", "-ls":
			f.action, f.words = v, nil
			return true
		case "-printf", "-fprint", "-fprint0", "-fls":
			f.at++
			f.action, f.words = v, nil
			return true
		case "-exec", "-execdir", "-ok", "-okdir":
			f.exec(v)
			return true
		default:
			f.test(v)
		}
	}
	if f.ended {
		return false
	}
	f.ended = true
	if f.group.seen { // -print is implied for all alternatives
		f.narrow = f.narrow && f.group.all
	}
	f.action, f.words = "", nil
	return true
}

func (f *finder) close() {
	inner := f.narrow
	if f.group.seen {
		inner = inner && f.group.all
	}
	if f.group.negated {
		inner = f.group.before
	}
	f.narrow = inner
	f.negated = false
	if n := len(f.outer); n > 0 {
		f.group, f.outer = f.outer[n-1], f.outer[:n-1]
	} else {
		f.group = findGroup{}
	}
}

// exec takes -exec … ; and remembers its words. A command that looks at the
// file is a test for what follows.
func (f *finder) exec(action string) {
	start := f.at
	for f.at < len(f.expr) {
		v := f.expr[f.at].Value
		f.at++
		if v == ";" || v == "+" && f.at-2 >= start && f.expr[f.at-2].Value == "{}" {
			break
		}
	}
	f.action, f.words = action, f.expr[start:max(start, f.at-1)]
	f.negated = false
}

// afterExec counts a command that tests the file as a test.
func (f *finder) afterExec() {
	if len(f.words) == 0 {
		return
	}
	switch f.words[0].Value {
	case "grep", "egrep", "fgrep", "rg", "test", "[", "file", "cmp", "diff":
		f.narrow = true
	}
}

// test takes a test or an option with its argument.
func (f *finder) test(v string) {
	negated := f.negated
	f.negated = false
	switch v {
	case "-empty", "-nouser", "-nogroup", "-false":
		f.narrow = f.narrow || !negated
		return
	case "-executable", "-readable", "-writable":
		return
	case "-fprintf":
		f.at += 2
		return
	}
	if v == "" || v[0] != '-' {
		return
	}
	var arg *shell.Word
	if f.at < len(f.expr) {
		arg = &f.expr[f.at]
	}
	f.at++
	switch v {
	case "-name", "-iname", "-lname", "-ilname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex":
		f.narrow = f.narrow || !negated && arg != nil && !matchesAll(known(arg)) && known(arg) != ""
		if arg != nil && !arg.Literal {
			f.narrow = f.narrow || !negated // an unknown name is a name
		}
	case "-mtime", "-atime", "-ctime", "-mmin", "-amin", "-cmin", "-newer", "-anewer", "-cnewer", "-used", "-size", "-inum", "-samefile", "-perm", "-links", "-xtype",
		"-user", "-group", "-uid", "-gid":
		f.narrow = f.narrow || !negated
	default:
		f.narrow = f.narrow || !negated && strings.HasPrefix(v, "-newer")
	}
}
