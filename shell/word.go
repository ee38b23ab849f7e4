package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// quoting is where a word part stands.
type quoting uint8

const (
	unquoted quoting = iota
	doubleQuoted
	hereDoc
)

// builder resolves one word: it undoes quotes, escapes, braces, tilde, and
// variables whose value the text shows. Every other room asks its result.
type builder struct {
	w     *walker
	src   *syntax.Word
	span  Span // of src, before its braces were split
	out   []Word
	start int  // len(out) at the beginning
	split bool // unquoted values are split at blanks

	buf    []byte
	prefix int  // length of the known beginning; -1 while all is known
	any    bool // the field exists although buf may be empty
	glob   bool
	quoted bool
	guess  bool // a piece is only what the text lets one expect
	hole   bool // what it begins with is not known at all
	eval   bool
	vars   []string
	from   []Origin // kept for every field of the word
	subs   []int
	proc   byte

	// text is set to turn the word into program text: unknown pieces become
	// ${_}, and offs records the source offset of every byte.
	text bool
	offs []int32
}

// fields resolves a word into the fields the shell makes of it.
func (w *walker) fields(word *syntax.Word, out []Word) []Word {
	if word == nil || len(word.Parts) == 0 {
		return out
	}
	if f, ok := w.plain(word); ok {
		return append(out, f)
	}
	span := w.span(word)
	from, alternatives := len(out), w.braces(word)
	for _, parts := range alternatives {
		b := builder{w: w, src: word, span: span, out: out, start: len(out), split: w.dialect != Zsh, prefix: -1}
		b.parts(parts, unquoted)
		out = b.finish()
	}
	if len(alternatives) > 1 {
		for i := from; i < len(out); i++ {
			out[i].frag = true
		}
	}
	return out
}

// plain is the fast path: one literal without anything special in it.
func (w *walker) plain(word *syntax.Word) (Word, bool) {
	if len(word.Parts) != 1 {
		return Word{}, false
	}
	lit, ok := word.Parts[0].(*syntax.Lit)
	if !ok || w.r.hashed || strings.ContainsAny(lit.Value, "\\*?[{~=") {
		return Word{}, false
	}
	return Word{Value: lit.Value, Prefix: lit.Value, Literal: true, Span: w.span(word), src: word, sc: w.sc}, true
}

// single resolves a word that is not split: assignments, redirections, tests.
func (w *walker) single(word *syntax.Word) Word {
	return w.one(word, unquoted)
}

func (w *walker) one(word *syntax.Word, q quoting) Word {
	if word == nil || len(word.Parts) == 0 {
		return Word{Literal: true}
	}
	if q == unquoted {
		if f, ok := w.plain(word); ok {
			return f
		}
	}
	b := builder{w: w, src: word, span: w.span(word), prefix: -1, any: true}
	b.parts(word.Parts, q)
	b.any = true
	out := b.finish()
	return out[0]
}

// textOf turns a word into program text with the place of every byte.
func (w *walker) textOf(word Word) (string, []int32) {
	if word.src != nil && !word.frag {
		// The substitutions were walked when the word was resolved: what they
		// emit a second time is thrown away.
		calls, unknown, funcs := len(w.r.s.Calls), len(w.r.s.Unknown), len(w.r.s.Funcs)
		here := w.sc
		if word.sc != nil {
			w.sc = word.sc
		}
		b := builder{w: w, src: word.src, prefix: -1, any: true, text: true}
		b.parts(word.src.Parts, unquoted)
		w.sc = here
		w.r.s.Calls, w.r.level = w.r.s.Calls[:calls], w.r.level[:calls]
		w.r.s.Unknown, w.r.s.Funcs = w.r.s.Unknown[:unknown], w.r.s.Funcs[:funcs]
		return string(b.buf), b.offs
	}
	text := word.Value
	offs := make([]int32, len(text))
	for i := range offs {
		offs[i] = int32(word.Span.Start)
		if word.body > 0 {
			offs[i] = int32(word.body - 1 + i)
		}
	}
	return text, offs
}

// put appends known bytes that come from one place each step apart.
func (b *builder) put(s string, off int, step bool) {
	if b.w.r.hashed {
		s = unhash(s)
	}
	if len(b.buf)+len(s) > maxText { // $x$x$x … of a long value
		if b.prefix < 0 {
			b.prefix = len(b.buf)
		}
		return
	}
	b.buf = append(b.buf, s...)
	b.any = b.any || s != ""
	if b.text {
		for i := range len(s) {
			if step {
				b.offs = append(b.offs, int32(b.w.m.at(off+i)))
			} else {
				b.offs = append(b.offs, int32(b.w.m.at(off)))
			}
		}
	}
}

// missing marks an unknown piece. A name is recorded when nothing in the text
// ever gave it a value.
func (b *builder) missing(off int) {
	b.hole = b.hole || len(b.buf) == 0
	b.unsure(off)
}

// guessed ends the known beginning before a piece that the text lets one
// expect.
func (b *builder) guessed(off int) {
	b.guess = true
	b.unsure(off)
}

func (b *builder) unsure(off int) {
	if b.prefix < 0 {
		b.prefix = len(b.buf)
	}
	if b.text {
		b.put("${_}", off, false)
	}
}

// field counts a field beyond the first of its word, and says whether it is
// within the bound. A list may hold itself: a+=("${a[@]}").
func (r *reader) field() bool {
	r.fields++
	return r.fields <= maxFields
}

func (w *walker) tooManyWords(sp Span) {
	if w.r.fields == maxFields+1 {
		w.unknown(sp, "too many words from expansions")
	}
}

// flush ends a field.
func (b *builder) flush() {
	if !b.any && len(b.buf) == 0 {
		return
	}
	if len(b.out) > b.start && !b.w.r.field() {
		b.w.tooManyWords(b.span)
		return
	}
	f := Word{
		Value: string(b.buf), Literal: b.prefix < 0, Glob: b.glob, Quoted: b.quoted,
		Guess: b.guess && !b.hole, Eval: b.eval, Vars: b.vars, From: b.from, Subs: b.subs, Proc: b.proc,
		src: b.src, sc: b.w.sc, Span: b.span,
	}
	f.Prefix = f.Value
	if b.prefix >= 0 {
		f.Prefix = f.Value[:b.prefix]
	}
	b.out = append(b.out, f)
	b.buf, b.prefix, b.any, b.glob, b.quoted = b.buf[:0], -1, false, false, false
	b.guess, b.hole, b.eval, b.vars, b.subs, b.proc = false, false, false, nil, nil, 0
}

func (b *builder) finish() []Word {
	if b.prefix >= 0 {
		b.any = true // an unknown value may be empty, but it may not
	}
	b.flush()
	if len(b.out)-b.start > 1 {
		for i := b.start; i < len(b.out); i++ {
			b.out[i].frag = true
		}
	}
	return b.out
}

func (b *builder) parts(parts []syntax.WordPart, q quoting) {
	for i, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.lit(p, q, i == 0)
		case *syntax.SglQuoted:
			b.quoted, b.any = true, true
			off := int(p.Left.Offset()) + 1
			if p.Dollar {
				b.put(decodeANSIC(p.Value), off+1, false)
			} else {
				b.put(p.Value, off, true)
			}
		case *syntax.DblQuoted:
			b.quoted, b.any = true, true
			b.parts(p.Parts, doubleQuoted)
		case *syntax.ParamExp:
			b.param(p, q)
		case *syntax.CmdSubst:
			b.cmdSubst(p, q)
		case *syntax.ArithmExp:
			b.w.arithm("((", p.X, b.w.span(p))
			b.missing(int(p.Left.Offset()))
		case *syntax.ProcSubst:
			b.procSubst(p)
		case *syntax.ExtGlob:
			b.glob = true
			b.put(p.Op.String(), int(p.OpPos.Offset()), false)
			if p.Pattern != nil {
				b.put(p.Pattern.Value+")", int(p.Pos().Offset()), false)
			}
		}
	}
}

// lit handles escapes, tilde and glob characters of a literal.
func (b *builder) lit(l *syntax.Lit, q quoting, first bool) {
	s, off := l.Value, int(l.ValuePos.Offset())
	if first && q == unquoted && len(b.buf) == 0 && len(b.out) == b.start {
		n := b.tilde(s, off)
		if n == 0 && b.w.dialect == Zsh && len(s) > 1 && s[0] == '=' {
			n = 1 // zsh: =curl is the path of curl
		}
		s, off = s[n:], off+n
	}
	from := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			next := s[i+1]
			switch {
			case next == '\n':
				b.put(s[from:i], off+from, true)
				i++
				from = i + 1
			case q == unquoted || strings.IndexByte("$`\\\n", next) >= 0 || next == '"' && q == doubleQuoted:
				b.put(s[from:i], off+from, true)
				b.quoted = true
				from = i + 1
				i++
			}
		case q == unquoted && (c == '*' || c == '?' || c == '['):
			b.glob = true
		}
	}
	b.put(s[from:], off+from, true)
}

// tilde expands a leading ~ or ~user and returns the bytes it took.
func (b *builder) tilde(s string, off int) int {
	if s == "" || s[0] != '~' {
		return 0
	}
	end := strings.IndexByte(s, '/')
	if end < 0 {
		end = len(s)
	}
	if (end == len(s)) && b.src != nil && len(b.src.Parts) > 1 && !b.tildeAlone(s) {
		return 0 // ~"$x" and the like: no user name
	}
	name := s[1:end]
	at := b.w.r.s.Where
	home := ""
	switch {
	case name == "" || name == at.user():
		v, _ := b.w.lookup("HOME")
		home = v.text
		if name != "" {
			home = at.Home
		}
	case name == "+":
		home = b.w.sc.dir
	case name == "root":
		home = "/root"
	case strings.ContainsAny(name, "\\-*?[$'\""):
		return 0
	default:
		// Somebody's home if there is such a user, else the text as it is.
		b.guessed(off)
		home = "/home/" + name
	}
	if home == "" {
		return 0
	}
	b.put(home, off, false)
	return end
}

func (b *builder) tildeAlone(s string) bool {
	// A quoted or expanded part right behind the literal belongs to the name.
	l, ok := b.src.Parts[0].(*syntax.Lit)
	return !ok || l.Value != s || len(b.src.Parts) == 1
}

// cmdSubst walks a command substitution; its output is unknown unless the
// text shows it.
func (b *builder) cmdSubst(p *syntax.CmdSubst, q quoting) {
	idx := b.w.substitution(p.Stmts)
	b.subs = append(b.subs, idx...)
	off := int(p.Left.Offset())
	if b.text {
		b.missing(off)
		return
	}
	out, ok := b.w.output(idx)
	if !ok {
		b.missing(off)
	} else {
		b.guessed(off)
		b.value(value{text: strings.TrimRight(out, "\n"), known: true}, q, off)
	}
}

// substitution walks the commands of a substitution and returns those that
// stand in it directly.
func (w *walker) substitution(stmts []*syntax.Stmt) []int {
	saved, outer := w.ctx, w.sc
	w.sc = outer.child()
	w.level++
	w.pipeFrom, w.in = nil, nil
	from := len(w.r.s.Calls)
	w.stmts(stmts)
	idx := w.direct(from)
	w.ctx, w.sc = saved, outer
	return idx
}

func (b *builder) procSubst(p *syntax.ProcSubst) {
	b.proc = '<'
	if p.Op == syntax.CmdOut {
		b.proc = '>'
	}
	b.subs = append(b.subs, b.w.substitution(p.Stmts)...)
	b.any = true
	b.missing(int(p.OpPos.Offset()))
}

// value appends the value of a variable.
func (b *builder) value(v value, q quoting, off int) {
	if v.isList {
		for i, e := range v.list {
			if i > 0 {
				if b.split {
					b.flush()
				} else {
					b.put(" ", off, false)
				}
			}
			b.any = b.any || q != unquoted
			b.value(e, q, off)
		}
		if !v.known {
			b.missing(off)
		}
		return
	}
	text := v.text
	if !v.known {
		text = v.prefix
	}
	if v.glob || q == unquoted && strings.ContainsAny(text, "*?[") {
		b.glob = true
	}
	if q == unquoted && b.split {
		b.splitValue(text, off)
	} else {
		b.put(text, off, false)
	}
	if !v.known {
		b.missing(off)
	}
}

// splitValue appends an unquoted value, ending the field at blanks as the
// default IFS does.
func (b *builder) splitValue(text string, off int) {
	for i, f := range splitAt(text, b.separators()) {
		if i > 0 {
			b.flush()
		}
		if f != "" {
			b.put(f, off, false)
		}
	}
}

// separators is the IFS that the text sets, else the default.
func (b *builder) separators() string {
	if v, ok := b.w.sc.lookup("IFS"); ok && v.known {
		return v.text
	}
	return " \t\n"
}

// splitAt splits at separators, at a run of blanks once. Empty ends are kept,
// so that a leading or trailing blank ends the field it touches.
func splitAt(s, separators string) []string {
	var out []string
	start := 0
	for i := 0; i < len(s); i++ {
		if strings.IndexByte(separators, s[i]) < 0 {
			continue
		}
		out = append(out, s[start:i])
		for isBlank(s[i]) && i+1 < len(s) && isBlank(s[i+1]) && strings.IndexByte(separators, s[i+1]) >= 0 {
			i++
		}
		start = i + 1
	}
	return append(out, s[start:])
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }
