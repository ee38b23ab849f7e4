package guard

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// implied judges what a call gets from elsewhere: {} of find and fd, what xargs
// and parallel append, $(find /), and names read in a loop behind find.
func (k *checker) implied(w way, i int, c *shell.Call, operands []*shell.Word, recursive bool) {
	at, shown := k.handed(i, c, operands, recursive)
	if at == elsewhere {
		for _, o := range operands {
			if at, shown = k.fromWord(c, o, recursive); at != elsewhere {
				break
			}
		}
	}
	if at == elsewhere || w == wayMode && (at == homeDir || at == homeList) {
		return // find ~ -type d -exec chmod +x is housekeeping
	}
	if w == wayDelete || w == wayMode {
		w = wayFind
	}
	k.report(w, i, shown+" ("+at.String()+")", spelled(c, shown))
}

// fromWord judges an operand that is the output of find or ls, or a name that
// a loop read from one.
func (k *checker) fromWord(c *shell.Call, w *shell.Word, recursive bool) (place, string) {
	if w.Literal || w.Value != "" {
		return elsewhere, ""
	}
	if len(w.Subs) > 0 {
		if at, shown := k.passedOn(c, w.Subs); at != elsewhere && recursive {
			return at, shown
		}
		return k.listing(c, w.Subs, recursive, 0)
	}
	if len(w.Vars) > 0 || w.Proc != 0 {
		return elsewhere, ""
	}
	if text, ok := k.input(c); ok && recursive { // while read d; do rm -rf "$d"; done <<< /
		for _, name := range strings.Fields(text) {
			if at, shown := k.judgePath(c, name, true); at != elsewhere {
				return at, shown
			}
		}
	}
	return k.listing(c, c.PipeFrom, recursive, 0)
}

// passedOn judges the path that realpath, readlink and dirname print.
func (k *checker) passedOn(c *shell.Call, subs []int) (place, string) {
	if len(subs) != 1 {
		return elsewhere, ""
	}
	sub := k.at(subs[0])
	args := sub.Args()
	if len(args) == 0 {
		return elsewhere, ""
	}
	v, ok := certain(k.s, &args[len(args)-1])
	if !ok {
		return elsewhere, ""
	}
	switch program(sub) {
	case "dirname":
		return k.judgePath(c, strings.TrimRight(v, "/")+"/..", false)
	case "realpath", "readlink":
		return k.judgePath(c, v, false)
	}
	return elsewhere, ""
}

// handed judges what the carriers of a call hand to it.
func (k *checker) handed(i int, c *shell.Call, operands []*shell.Word, recursive bool) (place, string) {
	for n := len(c.Carriers) - 1; n >= 0; n-- {
		by := c.Carriers[n]
		if by.Via == shell.ViaFunc {
			continue
		}
		list, direct := k.at(by.Call), c
		if n+1 < len(c.Carriers) {
			direct = k.at(c.Carriers[n+1].Call)
		}
		var at place
		var shown string
		switch by.Name {
		case "find":
			if holder(operands, "{}") {
				at, shown = k.foundBy(by.Call, direct)
			}
		case "fd", "fdfind":
			if holder(operands, "{}") || c.More && !anyHolder(operands) {
				at, shown = k.fdStart(list)
			}
		case "xargs", "parallel":
			at, shown = k.piped(c, list, operands, recursive)
		default:
			continue
		}
		if at != elsewhere {
			return at, shown
		}
	}
	return elsewhere, ""
}

// holder reports whether one of the operands is the placeholder.
func holder(operands []*shell.Word, mark string) bool {
	for _, w := range operands {
		if v := strings.TrimRight(w.Value, "/"); v == mark {
			return true
		}
	}
	return false
}

func anyHolder(operands []*shell.Word) bool {
	for _, w := range operands {
		if strings.IndexByte(w.Value, '{') >= 0 {
			return true
		}
	}
	return false
}

// foundMemo is what the last find that was asked for hands on: many calls may
// ask for the same one.
type foundMemo struct {
	known   bool
	call    int
	at      place
	shown   string
	execs   map[int]bool // where the words of an unfiltered -exec start
	printed bool         // it prints names without a filter
}

// foundBy judges the {} that a find hands to one of its -exec.
func (k *checker) foundBy(list int, direct *shell.Call) (place, string) {
	m := k.remember(list)
	if m.at == elsewhere || len(direct.Words) == 0 || !m.execs[direct.Words[0].Span.Start] {
		return elsewhere, ""
	}
	return m.at, m.shown
}

// printed judges the names that find prints.
func (k *checker) printed(list int) (place, string) {
	m := k.remember(list)
	if !m.printed {
		return elsewhere, ""
	}
	return m.at, m.shown
}

func (k *checker) remember(list int) *foundMemo {
	m := &k.found
	if m.known && m.call == list {
		return m
	}
	*m = foundMemo{known: true, call: list}
	c := k.at(list)
	starts, expr := findStarts(c.Args())
	if m.at, m.shown = k.start(c, starts); m.at == elsewhere {
		return m
	}
	m.execs = map[int]bool{}
	explicit, narrow := false, true
	f := finder{expr: expr}
	for f.next() {
		switch f.action {
		case "-print", "-print0", "-printf":
			explicit = true
			narrow = narrow && f.narrow
		case "-exec", "-execdir", "-ok", "-okdir":
			if !f.narrow && len(f.words) > 0 {
				m.execs[f.words[0].Span.Start] = true
			}
		case "":
			if !explicit {
				narrow = f.narrow
			}
		}
	}
	m.printed = !narrow
	return m
}

// piped judges what xargs or parallel appends, or puts in the place of {}.
func (k *checker) piped(c, list *shell.Call, operands []*shell.Word, recursive bool) (place, string) {
	if at, shown := k.behindColons(c, list, operands, recursive); at != elsewhere {
		return at, shown
	}
	mark := replacement(list)
	if mark == "" || holder(operands, mark) {
		return k.listing(c, list.PipeFrom, recursive, 0)
	}
	// xargs -I{} rm -rf /{}: what ls lists of a directory, put back below it.
	if !recursive {
		return elsewhere, ""
	}
	for _, w := range operands {
		if !w.Literal || !strings.Contains(w.Value, mark) {
			continue
		}
		for j := range operands { // the text shows what is put in
			if operands[j].Span == c.Span && operands[j] != w {
				if at, shown := k.judgePath(c, strings.ReplaceAll(w.Value, mark, operands[j].Value), true); at != elsewhere {
					return at, shown
				}
			}
		}
		for _, p := range list.PipeFrom {
			if from := k.at(p); program(from) == "ls" {
				if at, shown := k.judgePath(c, strings.ReplaceAll(w.Value, mark, "*"), true); at >= rootList {
					return at, shown
				}
			}
		}
	}
	return elsewhere, ""
}

// behindColons judges parallel 'rm -rf {}' ::: / /etc.
func (k *checker) behindColons(c, list *shell.Call, operands []*shell.Word, recursive bool) (place, string) {
	args := list.Args()
	for j := range args {
		if args[j].Value != ":::" || !recursive || !holder(operands, "{}") {
			continue
		}
		for n := range args[j+1:] {
			if at, shown := k.judge(c, &args[j+1+n]); at != elsewhere {
				return at, shown
			}
		}
	}
	return elsewhere, ""
}

// replacement is the string that xargs -I replaces; parallel replaces {}
// only where it stands.
func replacement(list *shell.Call) string {
	args := list.Args()
	o := options{args: args, takes: "adEILnPsRSJ", long: "arg-file delimiter max-args max-procs max-chars replace", stop: true}
	for a, ok := o.next(); ok && !a.operand(); a, ok = o.next() {
		switch {
		case (a.name == "I" || a.name == "J") && a.value != nil:
			return a.value.Value
		case a.name == "i" && !a.long:
			if o.cluster != "" {
				return o.cluster
			}
			return "{}"
		case a.name == "replace":
			if a.value != nil && a.value.Value != "" {
				return a.value.Value
			}
			return "{}"
		}
	}
	if program(list) == "parallel" {
		for j := range args {
			if strings.Contains(args[j].Value, "{}") {
				return "{}"
			}
		}
	}
	return ""
}

// listing judges the names that calls print: find without a test, fd without a
// pattern, ls. Filters between them and the reader end the search, but sort and
// its kin pass every line on.
func (k *checker) listing(c *shell.Call, from []int, recursive bool, depth int) (place, string) {
	if depth > 8 || len(from) > 1024 {
		return elsewhere, ""
	}
	for _, j := range from {
		p := k.at(j)
		var at place
		var shown string
		switch program(p) {
		case "find", "gfind", "bfs":
			at, shown = k.printed(j)
		case "fd", "fdfind":
			at, shown = k.fdStart(p)
		case "ls", "gls", "dir":
			if recursive {
				at, shown = k.listed(c, p)
			}
		case "sort", "tac", "cat", "tee", "tr", "rev", "nl", "uniq", "stdbuf", "pv":
			at, shown = k.listing(c, p.PipeFrom, recursive, depth+1)
		}
		if at != elsewhere {
			return at, shown
		}
	}
	return elsewhere, ""
}

// listed judges the names that ls prints: paths with -d, else names that mean
// something only in the same directory.
func (k *checker) listed(c, p *shell.Call) (place, string) {
	o := options{args: p.Args(), takes: "ITw", long: "ignore hide block-size"}
	itself := false
	var operands []*shell.Word
	for a, ok := o.next(); ok; a, ok = o.next() {
		if a.operand() {
			operands = append(operands, a.value)
		}
		itself = itself || a.is('d', "directory")
	}
	if itself {
		for _, w := range operands {
			if at, shown := k.judge(p, w); at != elsewhere {
				return at, shown
			}
		}
		return elsewhere, ""
	}
	if len(operands) == 0 {
		return k.judgePath(c, "*", true)
	}
	for _, w := range operands {
		if k.below(p.Dir, known(w)) == c.Dir && c.Dir != "" {
			return k.judgePath(c, "*", true)
		}
	}
	return elsewhere, ""
}

// fdStart judges the paths of an fd without a pattern, extension, size or age.
func (k *checker) fdStart(list *shell.Call) (place, string) {
	o := options{args: list.Args(), takes: "deEtScjoxX", long: "max-depth min-depth exact-depth extension exclude type size color threads owner " +
		"changed-within changed-before newer older base-directory search-path format max-results exec exec-batch", stop: false}
	seenPattern := false
	var paths []shell.Word
	for a, ok := o.next(); ok; a, ok = o.next() {
		if a.is('x', "exec") && len(a.name) != 2 || a.is('X', "exec-batch") {
			break
		}
		switch {
		case a.operand() && !seenPattern:
			seenPattern = true
			if v := known(a.value); v != "" && v != "." && v != "^" && !matchesAll(v) {
				return elsewhere, ""
			}
		case a.operand():
			paths = append(paths, *a.value)
		case a.is('e', "extension"), a.is('S', "size"), a.long && (strings.HasPrefix(a.name, "changed") || a.name == "newer" || a.name == "older"):
			return elsewhere, ""
		case a.name == "search-path" && a.value != nil:
			paths = append(paths, *a.value)
		case a.name == "base-directory" && a.value != nil:
			return k.judge(list, a.value)
		}
	}
	return k.start(list, paths)
}
