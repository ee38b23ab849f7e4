package guard

import (
	"path"
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// remove judges rm and its relatives. What find or xargs hands over needs no
// -r: the tree was walked already.
func (k *checker) remove(i int, c *shell.Call, name string) {
	switch name {
	case "gio":
		if !hasWord(c, "trash") {
			return
		}
	case "npx", "bunx": // npx rimraf PATH
		for j := range c.Words {
			if v := c.Words[j].Value; j > 0 && (v == "rimraf" || v == "del-cli" || v == "trash-cli") {
				inner := *c
				inner.Words = c.Words[j:]
				k.remove(i, &inner, "rimraf")
				return
			}
		}
		return
	}
	o := options{args: c.Args(), long: "interactive size iterations random-source remove reference"}
	recursive, asked, unknown := false, false, false
	switch name {
	case "rimraf", "del-cli", "trash", "trash-put", "gio":
		recursive = true
	case "shred", "gshred", "truncate", "gtruncate":
		o.takes = "nsr"
	}
	var buf [8]*shell.Word
	operands := buf[:0]
	for a, ok := o.next(); ok; a, ok = o.next() {
		switch {
		case a.operand():
			unknown = unknown || !a.value.Literal && known(a.value) == ""
			operands = append(operands, a.value)
		case len(operands) == 0 && a.long && (a.is(0, "help") || a.name == "version"):
			asked = true
		case a.is('r', "recursive") || a.is('R', ""):
			recursive = recursive || name != "shred" && name != "truncate"
		}
	}
	if asked {
		return
	}
	for _, w := range operands {
		if at, shown := k.judge(c, w); at != elsewhere {
			// rm $FLAGS / makes sense only when the flags hold -r.
			if recursive || unknown && at < rootList && name == "rm" {
				k.reportPlace(wayDelete, i, at, shown)
				return
			}
		}
		if recursive && k.unsetRoot(i, w) {
			k.report(wayUnset, i, "", spelled(c, k.s.Slice(w.Span)))
			return
		}
		if name == "shred" || name == "gshred" || name == "truncate" || name == "gtruncate" {
			k.writes(i, c, w)
		}
	}
	k.implied(wayDelete, i, c, operands, recursive)
}

// mode judges chmod, chown and chgrp with -R.
func (k *checker) mode(i int, c *shell.Call, name string) {
	o := options{args: c.Args(), long: "reference from"}
	recursive, first := false, true
	var buf [8]*shell.Word
	operands := buf[:0]
	for a, ok := o.next(); ok; a, ok = o.next() {
		switch {
		case a.operand():
			if first { // the mode or the owner
				first = false
				continue
			}
			operands = append(operands, a.value)
		case a.long && a.is(0, "help"):
			return
		case a.long && a.is(0, "reference") && len(a.name) > 2:
			first = false
		case !a.long && name == "chmod" && strings.Contains("rwxXst", a.name):
			first = false // chmod -w: a mode that looks like an option
		case a.is('R', "recursive") && a.name != "r" && a.name != "re":
			recursive = true
		}
	}
	if recursive {
		for _, w := range operands {
			if at, shown := k.judge(c, w); at != elsewhere && !(name != "chmod" && ownable(at, shown)) {
				k.reportPlace(wayMode, i, at, shown)
				return
			}
		}
	}
	k.implied(wayMode, i, c, operands, recursive)
}

// ownable reports whether a system directory is one that is given to a user or
// a service when something is installed: /usr/local, /var/lib/NAME, /home/NAME.
func ownable(at place, shown string) bool {
	if at != systemDir && at != systemList {
		return false
	}
	dir, name := path.Split(strings.TrimSuffix(shown, "/*"))
	switch dir {
	case "/usr/":
		return name == "local"
	case "/home/", "/Users/", "/var/lib/":
		return name != "*"
	}
	return false
}

// move judges mv: what is moved away, and what is overwritten.
func (k *checker) move(i int, c *shell.Call) {
	operands, dest, ok := destination(c)
	if !ok {
		return
	}
	for _, w := range operands {
		if at, shown := k.judge(c, w); at != elsewhere {
			k.reportPlace(wayMove, i, at, shown)
			return
		}
	}
	if dest == nil {
		return
	}
	k.writes(i, c, dest)
	if dest.Literal && strings.IndexByte(dest.Value, '{') < 0 { // mv {} {}.bak only renames
		k.implied(wayMove, i, c, operands, true)
	}
}

func (k *checker) copyTo(i int, c *shell.Call) {
	if _, dest, ok := destination(c); ok && dest != nil {
		k.writes(i, c, dest)
	}
}

// destination splits the operands of mv, cp and install into sources and the
// last one, or the value of -t.
func destination(c *shell.Call) (sources []*shell.Word, dest *shell.Word, ok bool) {
	o := options{args: c.Args(), takes: "tSgmo", long: "target-directory suffix group mode owner"}
	if name := program(c); strings.HasSuffix(name, "mv") || strings.HasSuffix(name, "cp") {
		o.takes, o.long = "tS", "target-directory suffix"
	}
	for a, more := o.next(); more; a, more = o.next() {
		switch {
		case a.operand():
			sources = append(sources, a.value)
		case a.long && a.is(0, "help") && len(sources) == 0:
			return nil, nil, false
		case a.is('t', "target-directory") && a.value != nil:
			dest = a.value
		}
	}
	if n := len(sources); dest == nil && n > 1 {
		dest, sources = sources[n-1], sources[:n-1]
	}
	return sources, dest, true
}

// clean judges git clean -f by the directory it runs in and its paths.
func (k *checker) clean(i int, c *shell.Call) {
	where := *c
	if by, ok := assignedTo(c, "GIT_WORK_TREE"); ok {
		where.Dir = k.below(c.Dir, by)
	}
	rest, force := c.Args(), false
	if program(c) == "git" {
		o := options{args: rest, takes: "Cc", long: "git-dir work-tree namespace exec-path super-prefix config-env", stop: true}
		sub := ""
		for a, ok := o.next(); ok; a, ok = o.next() {
			if a.operand() {
				sub = a.value.Value
				break
			}
			switch {
			case a.value == nil:
			case a.name == "C" || a.name == "work-tree":
				where.Dir = k.below(where.Dir, known(a.value))
			case a.name == "c":
				v := strings.ToLower(a.value.Value)
				force = force || v == "clean.requireforce=false" || v == "clean.requireforce=0" || v == "clean.requireforce=no"
			}
		}
		if sub != "clean" {
			return
		}
		rest = o.args[o.at:]
	}
	o := options{args: rest, takes: "e", long: "exclude"}
	var paths []*shell.Word
	for a, ok := o.next(); ok; a, ok = o.next() {
		switch {
		case a.operand():
			paths = append(paths, a.value)
		case a.is('n', "dry-run"), a.is('h', "help"):
			return
		case a.is('f', "force"):
			force = true
		}
	}
	if !force {
		return
	}
	if len(paths) == 0 {
		paths = append(paths, &shell.Word{Value: ".", Prefix: ".", Literal: true})
	}
	for _, w := range paths {
		if at, shown := k.judge(&where, w); at != elsewhere {
			k.report(wayClean, i, shown+" ("+at.String()+")", spelled(c, shown))
			return
		}
	}
}

// below resolves a path that changes the directory of a later one.
func (k *checker) below(dir, value string) string {
	p, ok := elements(dir, value, false, nil)
	if !ok {
		return ""
	}
	return pathString(p)
}

func assignedTo(c *shell.Call, name string) (string, bool) {
	for _, a := range c.Assigns {
		if a.Name == name && (a.Value.Literal || a.Value.Guess) {
			return a.Value.Value, true
		}
	}
	return "", false
}

// sync judges rsync --delete into a local directory, and --remove-source-files.
func (k *checker) sync(i int, c *shell.Call) {
	o := options{args: c.Args(), takes: "efBMT@", long: "rsh exclude include filter files-from exclude-from include-from bwlimit timeout port " +
		"log-file log-file-format password-file backup-dir suffix compare-dest copy-dest link-dest partial-dir temp-dir chmod chown usermap groupmap " +
		"info debug max-size min-size max-delete max-alloc block-size rsync-path out-format sockopts iconv checksum-choice compress-choice compress-level " +
		"modify-window outbuf protocol address contimeout write-batch only-write-batch read-batch skip-compress remote-option checksum-seed stop-after stop-at copy-as"}
	var operands []*shell.Word
	removesDest, removesSource := false, false
	for a, ok := o.next(); ok; a, ok = o.next() {
		switch {
		case a.operand():
			operands = append(operands, a.value)
		case a.name == "n" && !a.long, a.long && len(a.name) > 2 && a.is(0, "dry-run"), a.name == "help":
			return
		case a.long && (a.name == "del" || strings.HasPrefix(a.name, "delete")):
			removesDest = true
		case a.long && a.name == "remove-source-files":
			removesSource = true
		}
	}
	if len(operands) < 2 {
		return
	}
	last := len(operands) - 1
	for n, w := range operands {
		if n == last && !removesDest || n < last && !removesSource || remote(known(w)) {
			continue
		}
		at, shown := k.judge(c, w)
		switch {
		case at == elsewhere:
		case n == last:
			k.report(waySync, i, shown+" ("+at.String()+")", spelled(c, shown))
		default:
			k.reportPlace(wayMove, i, at, shown)
		}
	}
}

// remote reports whether an operand of rsync names another host.
func remote(v string) bool {
	colon, slash := strings.IndexByte(v, ':'), strings.IndexByte(v, '/')
	return colon > 0 && (slash < 0 || colon < slash)
}

// archive judges tar: --remove-files deletes what it packed, -f may be a disk.
func (k *checker) archive(i int, c *shell.Call) {
	o := options{args: c.Args(), takes: "fCTXbgNILVFK", long: "file directory files-from exclude exclude-from use-compress-program to-command transform"}
	var operands []*shell.Word
	removes, creates := false, false
	var file *shell.Word
	for a, ok := o.next(); ok; a, ok = o.next() {
		switch {
		case a.operand():
			operands = append(operands, a.value)
		case a.name == "remove-files":
			removes = true
		case a.is('f', "file"):
			file = a.value
		case a.is('c', "create"), a.is('r', "append"), a.is('u', "update"), a.is('A', "catenate"):
			creates = true
		}
	}
	if first := c.Args(); len(first) > 1 && first[0].Value != "" && first[0].Value[0] != '-' { // tar cf FILE …
		creates = creates || strings.ContainsAny(first[0].Value, "cruA")
		if strings.HasSuffix(first[0].Value, "f") && len(operands) > 1 {
			file, operands = operands[1], operands[1:]
		}
	}
	if creates && file != nil {
		k.writes(i, c, file)
	}
	for _, w := range operands {
		if at, shown := k.judge(c, w); removes && at != elsewhere {
			k.reportPlace(wayMove, i, at, shown)
			return
		}
	}
}
