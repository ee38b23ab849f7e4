package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call reads a simple command.
func (w *walker) call(cmd *syntax.CallExpr, s *syntax.Stmt) {
	c := Call{Span: w.callSpan(s)}
	args := cmd.Args
	if len(args) > 1 && args[0].Lit() == "--" { // time -- COMMAND
		args = args[1:]
	}
	if n := len(args); n > 0 {
		c.Words = make([]Word, 0, n)
	}
	for _, a := range args {
		c.Words = w.fields(a, c.Words)
	}
	// Each assignment sees the ones before it; before a command they are gone
	// with it.
	outer := w.sc
	if len(cmd.Args) > 0 && len(cmd.Assigns) > 1 {
		w.sc = outer.child()
	}
	for _, a := range cmd.Assigns {
		c.Assigns = append(c.Assigns, w.assign(a))
		if len(cmd.Args) == 0 || w.sc != outer {
			w.assignOne(c.Assigns[len(c.Assigns)-1])
		}
	}
	w.sc = outer
	w.redirs(&c, s.Redirs)
	i := w.emit(c)
	if i < 0 {
		return
	}
	if len(c.Words) == 0 {
		return
	}
	w.reevalNames(&c)
	w.effects(i)
	w.follow(i)
	for k := range c.Words {
		if c.Words[k].Proc == '>' {
			w.feeds(i, &c.Words[k])
		}
	}
	for k := range c.Redirs {
		if c.Redirs[k].Target.Proc == '>' {
			w.feeds(i, &c.Redirs[k].Target)
		}
	}
}

// decl reads export, declare, local, readonly and typeset.
func (w *walker) decl(cmd *syntax.DeclClause, s *syntax.Stmt) {
	c := Call{Span: w.callSpan(s), Decl: true}
	name := w.span(cmd.Variant)
	c.Words = append(c.Words, literalWord(cmd.Variant.Value, name))
	for _, a := range cmd.Args {
		switch {
		case !a.Naked:
			c.Assigns = append(c.Assigns, w.assign(a))
		case a.Name != nil:
			c.Words = append(c.Words, literalWord(a.Name.Value, w.span(a)))
		case a.Value != nil:
			c.Words = w.fields(a.Value, c.Words)
		}
	}
	w.redirs(&c, s.Redirs)
	w.emit(c)
	w.reevalNames(&c)
	w.assignAll(c.Assigns)
	if hasFlag(c.Args(), 'n') && cmd.Variant.Value != "export" {
		for _, a := range c.Assigns { // another name of a variable
			v, _ := w.sc.lookup(a.Name)
			v.ref = v.known && v.text != a.Name
			w.sc.set(a.Name, v)
		}
	}
	if cmd.Variant.Value != "export" && !hasFlag(c.Args(), 'x') {
		return
	}
	for _, a := range c.Assigns {
		w.sc.export(a.Name)
	}
	for _, a := range c.Args() {
		w.sc.export(a.Value)
	}
}

// hasFlag reports whether a short option stands in a list of words.
func hasFlag(args []Word, flag byte) bool {
	for _, a := range args {
		if len(a.Value) > 1 && a.Value[0] == '-' && a.Value[1] != '-' && strings.IndexByte(a.Value, flag) > 0 {
			return true
		}
	}
	return false
}

func (w *walker) assign(a *syntax.Assign) Assign {
	out := Assign{Append: a.Append, Span: w.span(a)}
	if a.Name != nil {
		out.Name = a.Name.Value
	}
	if a.Index != nil {
		w.arithm("((", a.Index, out.Span)
		out.Name += "[]"
	}
	switch {
	case a.Array != nil:
		out.Array = []Word{}
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				w.arithm("((", e.Index, out.Span)
			}
			out.Array = w.fields(e.Value, out.Array)
		}
	case a.Value != nil:
		out.Value = w.single(a.Value)
	default:
		out.Value = Word{Literal: true, Span: out.Span}
	}
	return out
}

func valueOf(f Word) value {
	v := value{text: f.Value, known: f.Literal || f.Guess, glob: f.Glob && !f.Quoted, prefix: f.Prefix, at: f.Span}
	return v
}

func (w *walker) assignAll(assigns []Assign) {
	for _, a := range assigns {
		w.assignOne(a)
	}
}

func (w *walker) assignOne(a Assign) {
	name, indexed := strings.CutSuffix(a.Name, "[]")
	if name == "" {
		return
	}
	if indexed {
		w.sc.set(name, value{isList: true})
		return
	}
	var v value
	if a.Array != nil {
		v = value{isList: true, known: true}
		for _, e := range a.Array {
			v.list = append(v.list, valueOf(e))
		}
	} else {
		v = valueOf(a.Value)
	}
	if a.Append {
		v = appendValue(w, name, v)
	}
	v.at = a.Span
	w.sc.set(name, v)
}

func appendValue(w *walker, name string, v value) value {
	old, set := w.sc.lookup(name)
	switch {
	case !set:
		return v
	case old.isList && v.isList:
		v.list = append(old.list[:len(old.list):len(old.list)], v.list...)
		v.known = old.known && v.known
		return v
	case old.isList || v.isList:
		return value{isList: old.isList}
	}
	if !old.known {
		return value{prefix: old.prefix}
	}
	return value{text: old.text + v.text, known: v.known, glob: old.glob || v.glob, prefix: old.text + v.prefix}
}

// redirs resolves redirections and notes where standard input comes from.
func (w *walker) redirs(c *Call, list []*syntax.Redirect) {
	for _, r := range list {
		out := Redir{Op: r.Op.String(), Span: w.span(r)}
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			out.Heredoc = true
			out.Target = w.hereDoc(r)
			out.Span = w.span(r.Word)
		case syntax.WordHdoc:
			out.Heredoc = true
			out.Target = w.single(r.Word)
		default:
			targets := w.fields(r.Word, nil)
			if len(targets) == 0 {
				targets = []Word{{Literal: true, Span: out.Span}}
			}
			out.Target = targets[0]
		}
		c.Redirs = append(c.Redirs, out)
		if r.N != nil && r.N.Value != "0" {
			continue
		}
		if out.Heredoc {
			c.In = &out.Target
		} else if out.Op == "<" && out.Target.Proc == '<' {
			c.PipeFrom = out.Target.Subs
		}
	}
}

// hereDoc resolves the text of a here-document. Behind a quoted delimiter it
// is data to the last byte.
func (w *walker) hereDoc(r *syntax.Redirect) Word {
	if r.Hdoc == nil || len(r.Hdoc.Parts) == 0 {
		return Word{Literal: true, Span: w.span(r)}
	}
	quotedDelimiter := false
	for _, p := range r.Word.Parts {
		lit, ok := p.(*syntax.Lit)
		quotedDelimiter = quotedDelimiter || !ok || strings.IndexByte(lit.Value, '\\') >= 0
	}
	var f Word
	if lit, ok := r.Hdoc.Parts[0].(*syntax.Lit); ok && quotedDelimiter && len(r.Hdoc.Parts) == 1 {
		f = Word{Value: lit.Value, Prefix: lit.Value, Literal: true, Quoted: true, Span: w.span(r.Hdoc)}
		f.body = f.Span.Start + 1
	} else {
		f = w.one(r.Hdoc, hereDoc)
		f.src = nil // its text is f.Value; the source has escapes of its own
	}
	if r.Op == syntax.DashHdoc {
		f.Value = stripTabs(f.Value)
		f.Prefix = stripTabs(f.Prefix)
	}
	return f
}

func stripTabs(s string) string {
	lines := strings.SplitAfter(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimLeft(l, "\t")
	}
	return strings.Join(lines, "")
}

// effects applies what a builtin does to the shell's own state.
func (w *walker) effects(i int) {
	c := &w.r.s.Calls[i]
	args := c.Args()
	switch c.Name() {
	case "cd", "chdir", "pushd":
		w.chdir(c.Name(), args)
	case "popd":
		w.popd()
	case "set":
		w.sc.exportAll = w.sc.exportAll || hasFlag(args, 'a') || len(args) > 1 && args[1].Value == "allexport"
		w.setParams(args)
	case "shift":
		if w.sc.hasParams && len(w.sc.params) > 0 {
			w.sc.params = w.sc.params[1:]
		}
	case "unset":
		for _, a := range args {
			w.sc.set(a.Value, value{known: true})
		}
	case "read", "mapfile", "readarray", "getopts":
		w.readNames(c, args)
	case "printf":
		if len(args) > 2 && args[0].Value == "-v" {
			v := value{}
			if out, ok := formatPrintf(args[2:]); ok {
				v = value{text: out, known: true}
			}
			w.sc.set(args[1].Value, v)
		}
	case "alias":
		w.defineAlias(args)
	}
}

// readNames assigns what read and mapfile read: known when the text shows one
// line, unknown otherwise.
func (w *walker) readNames(c *Call, args []Word) {
	var names []string
	for _, a := range args {
		if a.Literal && syntax.ValidName(a.Value) {
			names = append(names, a.Value)
			w.sc.set(a.Value, value{})
		}
	}
	text, ok := w.input(c)
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if !ok || len(names) == 0 {
		return
	}
	if c.Name() != "read" {
		list := value{isList: true, known: true}
		for _, l := range lines {
			list.list = append(list.list, value{text: l, known: true})
		}
		w.sc.set(names[len(names)-1], list)
		return
	}
	if len(lines) > 1 {
		return
	}
	rest, separator := strings.TrimSpace(lines[0]), " "
	for _, a := range c.Assigns { // IFS=: read a b
		if a.Name == "IFS" && a.Value.Literal && len(a.Value.Value) == 1 {
			separator = a.Value.Value
		}
	}
	for i, name := range names {
		field := rest
		if i < len(names)-1 {
			field, rest, _ = strings.Cut(rest, separator)
			if separator == " " {
				rest = strings.TrimLeft(rest, " \t")
			}
		}
		w.sc.set(name, value{text: field, known: true})
	}
}

func (w *walker) setParams(args []Word) {
	for i, a := range args {
		if a.Literal && a.Value == "--" {
			args = args[i+1:]
			break
		}
		if !strings.HasPrefix(a.Value, "-") && !strings.HasPrefix(a.Value, "+") {
			args = args[i:]
			break
		}
		if i == len(args)-1 {
			return // options only
		}
	}
	w.sc.setParams(args)
}

func (w *walker) defineAlias(args []Word) {
	for _, a := range args {
		if name, text, ok := strings.Cut(a.Value, "="); ok && a.Literal {
			if w.r.aliases == nil {
				w.r.aliases = map[string]string{}
			}
			w.r.aliases[name] = text
		}
	}
}
