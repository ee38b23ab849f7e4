package classify

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// findRoots lists the starting points of find, or of fd behind its pattern.
func findRoots(words []shell.Word) []shell.Word {
	if len(words) == 0 {
		return nil
	}
	name := base(words[0].Value)
	if name == "busybox" || name == "toybox" {
		words = words[1:]
		name = base(words[0].Value)
	}
	if name != "find" {
		return fdRoots(words[1:])
	}
	k := 1
	for k < len(words) { // -H -L -P -D x -O3 come first
		switch v := words[k].Value; {
		case v == "-H" || v == "-L" || v == "-P" || v == "-E" || v == "-X" || v == "-d" || v == "-s" || v == "-x" || strings.HasPrefix(v, "-O"):
			k++
			continue
		case v == "-D":
			k += 2
			continue
		}
		break
	}
	k = min(k, len(words))
	end := k
	for end < len(words) {
		if v := words[end].Value; words[end].Literal && (v == "(" || v == ")" || v == "!" || v == "," || strings.HasPrefix(v, "-")) {
			break
		}
		end++
	}
	return append([]shell.Word(nil), words[k:end]...)
}

// fdRoots lists the search paths of fd: the operands behind the pattern.
func fdRoots(words []shell.Word) []shell.Word {
	r := reading{words: words}
	r.start()
	k := 0
	for k < len(words) && words[k].Value != "-x" && words[k].Value != "-X" && words[k].Value != "--exec" && words[k].Value != "--exec-batch" {
		k++
	}
	r.words = words[:k]
	r.parse(lookup("fd"), 0, false)
	var roots []shell.Word
	for n, i := range r.ops {
		if n > 0 {
			roots = append(roots, words[i])
		}
	}
	if w, ok := r.value("base-directory search-path"); ok {
		roots = append(roots, w)
	}
	return roots
}

// find reads find's expression. The commands of -exec are calls of their own.
func (c *classifier) find(r *reading) {
	roots := findRoots(r.words)
	act := c.findActions(r)
	for k := range r.words {
		if v := r.words[k].Value; v == "--help" || v == "-help" || v == "--version" || v == "-version" {
			return
		}
	}
	for k := range roots {
		w := &roots[k]
		if act {
			c.changed(r.call, w, r.dir)
		} else {
			c.list(r.call, w, r.dir)
		}
	}
	switch {
	case act && len(roots) == 0:
		c.here(r)
	case len(roots) == 0:
		c.look(r)
	}
	if act {
		c.addCall(deleteOption, r.call)
	}
}

// findActions notes what the expression reads and writes, and reports whether
// it deletes.
func (c *classifier) findActions(r *reading) bool {
	deletes := false
	for k := 1; k < len(r.words); k++ {
		var next *shell.Word
		if k+1 < len(r.words) {
			next = &r.words[k+1]
		}
		switch v := r.words[k].Value; v {
		case "-delete":
			deletes = true
		case "-exec", "-execdir", "-ok", "-okdir":
			for k++; k < len(r.words); k++ {
				if v := r.words[k].Value; v == ";" || v == "+" && r.words[k-1].Value == "{}" {
					break
				}
			}
		case "-fprint", "-fprint0", "-fls", "-fprintf":
			if next != nil {
				c.write(writeFile, r.call, next, r.dir)
			}
			k++
			if v == "-fprintf" {
				k++
			}
		case "-files0-from", "-newer", "-anewer", "-cnewer", "-samefile":
			if next != nil {
				c.list(r.call, next, r.dir)
			}
			k++
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname", "-ilname", "-user", "-group", "-type", "-xtype",
			"-size", "-perm", "-mtime", "-atime", "-ctime", "-mmin", "-amin", "-cmin", "-maxdepth", "-mindepth", "-printf", "-links", "-inum", "-uid", "-gid", "-fstype", "-newermt", "-used", "-regextype", "-context":
			k++
		}
	}
	return deletes
}

// fd reads the search paths of fd.
func (c *classifier) fd(r *reading) {
	if len(r.ops) < 2 {
		c.look(r)
	}
	if r.has("x X exec exec-batch") {
		for k := range r.words { // its operands are those of the command
			if v := r.words[k].Value; v == "-x" || v == "-X" || v == "--exec" || v == "--exec-batch" {
				for n := range r.ops {
					if r.ops[n] > k {
						r.ops = r.ops[:n]
						break
					}
				}
				break
			}
		}
	}
}

// dd reads NAME=VALUE operands.
func (c *classifier) dd(r *reading) {
	for k := 1; k < len(r.words); k++ {
		w := &r.words[k]
		if w.Value == "--help" || w.Value == "--version" {
			return
		}
		if rest, ok := strings.CutPrefix(w.Value, "if="); ok && rest != "" {
			f := tail(*w, 3)
			c.read(r.call, &f, r.dir)
		}
		if strings.HasPrefix(w.Value, "of=") {
			f := tail(*w, 3)
			if _, at := c.locate(&f, r.dir); at == nowhere && f.Literal {
				continue
			}
			c.addCall(overwrite, r.call)
			if f.Value == "" {
				c.addCall(writeFile, r.call)
			}
			c.write(writeFile, r.call, &f, r.dir)
			c.keepSaved(r, &f)
		}
	}
}
