package shell

import (
	"slices"
	"strings"
)

// follow looks for a command that the call at index i would run: through a
// carrier, a text, its standard input, a function or an alias.
func (w *walker) follow(i int) {
	c := w.r.s.Calls[i] // a copy: the slice grows
	name := commandName(&c)
	if name == "" {
		return
	}
	if c.Words[0].Literal && !strings.Contains(c.Words[0].Value, "/") {
		w.followDefined(i, c, name)
	}
	sp, ok := lookupCarrier(name)
	if !ok {
		return
	}
	w.carry(i, c, sp)
}

// commandName is the name of the program, also when it is only what the text
// lets one expect. Names of programs are compared as the file system has
// them, but /BIN/SH finds sh where case does not matter (macOS).
func commandName(c *Call) string {
	if len(c.Words) == 0 || !c.Words[0].Literal && !c.Words[0].Guess {
		return ""
	}
	name := base(c.Words[0].Value)
	if strings.ToUpper(name) == name {
		return strings.ToLower(name)
	}
	return name
}

// followDefined walks the body of a function, or the text of an alias, with
// the arguments of this call.
func (w *walker) followDefined(i int, c Call, name string) {
	if w.r.spent() || slices.Contains(w.r.active, name) {
		return
	}
	if f := w.r.funcs[name]; f != nil {
		defer w.r.counting()()
		w.r.active = append(w.r.active, name)
		saved := w.ctx
		w.carriers = appendCarrier(w.carriers, Carrier{name, i, ViaFunc})
		w.fn = name
		params, has := w.sc.params, w.sc.hasParams
		w.sc.setParams(c.Args())
		w.stmt(f.Body)
		w.sc.params, w.sc.hasParams = params, has
		w.ctx = saved
		w.r.active = w.r.active[:len(w.r.active)-1]
		return
	}
	if text, ok := w.r.aliases[name]; ok {
		defer w.r.counting()()
		w.r.active = append(w.r.active, name)
		for _, a := range c.Args() {
			arg, _ := w.textOf(a)
			text += " " + quote(arg)
		}
		w.nested(text, fixedAt(c.Span.Start), w.dialect, Carrier{name, i, ViaFunc}, w.sc, true)
		w.r.active = w.r.active[:len(w.r.active)-1]
	}
}

// quote makes one word of a text again.
func quote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r == '_' || r == '-' || r == '/' || r == '.' || r == ',' || r == '=' || r == ':' || r == '@' || r == '+' || r == '%' ||
			'0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func appendCarrier(list []Carrier, c Carrier) []Carrier {
	return append(list[:len(list):len(list)], c)
}

// inner emits the command that a carrier runs from its own words.
func (w *walker) inner(i int, c Call, words []Word, how func(*Call)) {
	if len(words) == 0 {
		return
	}
	in := Call{
		Words: words, Span: Span{words[0].Span.Start, max(words[0].Span.Start, words[len(words)-1].Span.End)},
		PipeFrom: c.PipeFrom, In: c.In,
	}
	saved, outer := w.ctx, w.sc
	name := commandName(&c)
	w.carriers = appendCarrier(w.carriers, Carrier{name, i, ViaArgv})
	here := name == "command" || name == "builtin" // the shell itself runs it
	if !here {
		w.sc = outer.child()
	}
	if how != nil {
		how(&in)
	}
	if in.Dir != "" {
		w.sc.dir = in.Dir
	}
	if in.More {
		w.pipeFrom, w.in = nil, nil // its standard input is not the carrier's
	}
	if len(w.carriers) > maxNodes {
		w.unknown(in.Span, "nested too deeply")
	} else if j := w.emit(in); j >= 0 {
		if here {
			w.effects(j)
		}
		w.follow(j)
	}
	w.ctx, w.sc = saved, outer
}

// nested parses a text and walks it as part of this script. An unknown piece
// of the text stands in it as ${_}.
func (w *walker) nested(text string, m mapping, d Dialect, by Carrier, sc *scope, literal bool) {
	at := m.at(0)
	sp := Span{at, at}
	if len(text) > 0 {
		sp.End = max(at, m.at(len(text)-1)+1)
	}
	if w.depth >= maxDepth || len(text) > maxText || tooDeep(text) {
		w.unknown(sp, "nested too deeply")
		return
	}
	child := *w
	child.depth++
	child.carriers = appendCarrier(w.carriers, by)
	child.sc = sc
	child.text = text
	child.read(text, d, m, literal)
}

// readings lists the dialects that a text must be read in. For sh it is both
// when the text holds something that bash and a POSIX shell read differently.
func readings(text string, d Dialect) []Dialect {
	if d != Sh {
		return []Dialect{d}
	}
	if bashism(text) {
		return []Dialect{Bash, POSIX}
	}
	return []Dialect{Bash}
}

// bashism reports whether a text may hold syntax that is not POSIX: $'…',
// {a,b}, <(…), [[, ((, <<<, &>, |&, arrays, and some words. It may overcount.
func bashism(text string) bool {
	for i := 0; i+1 < len(text); i++ {
		next := text[i+1]
		switch text[i] {
		case '$':
			if next == '\'' || next == '"' || next == '[' || next == '{' {
				return true
			}
		case '{':
			if next != ' ' && next != '\n' && next != '}' {
				return true
			}
		case '<', '>', '(', '[', '&', '|', '=', '+':
			if strings.IndexByte("(<&[>=", next) >= 0 && !(text[i] == next && strings.IndexByte(">&=", next) >= 0) {
				return true
			}
		case 'f', 't', 's', 'c', 'd', 'l', 'e':
			for _, k := range [...]string{"function ", "time ", "select ", "coproc ", "declare ", "let ", "typeset ", "local ", "export "} {
				if strings.HasPrefix(text[i:], k) {
					return true
				}
			}
		}
	}
	return false
}

// read walks one text in every dialect it may run in. Readings that agree are
// kept once; one that fails to parse is dropped when another one parses.
func (w *walker) read(text string, d Dialect, m mapping, literal bool) {
	list := readings(text, d)
	var parsed [2][]piece
	var failed *textError
	good := 0
	for i, reading := range list {
		pieces, err := parseText(text, reading)
		parsed[i] = pieces
		if err == nil {
			good++
			continue
		}
		if failed == nil {
			failed = err
		}
		if len(list) > 1 && good > 0 {
			parsed[i] = nil
		}
	}
	if good == 0 && failed != nil && literal {
		w.syntaxError(failed, m)
	}
	sc := w.sc
	from, unknown, funcs := len(w.r.s.Calls), len(w.r.s.Unknown), len(w.r.s.Funcs)
	for i, reading := range list {
		second := len(w.r.s.Calls)
		w.dialect = reading
		w.sc = sc
		if len(list) > 1 {
			w.sc = sc.child()
		}
		for _, p := range parsed[i] {
			w.m = p.at.in(m)
			w.r.hashed = w.r.hashed || p.hashed
			w.stmts(p.stmts)
		}
		if i > 0 && w.same(from, second) {
			w.r.s.Calls, w.r.level = w.r.s.Calls[:second], w.r.level[:second]
			w.r.s.Unknown, w.r.s.Funcs = w.r.s.Unknown[:unknown], w.r.s.Funcs[:funcs]
		}
		unknown, funcs = len(w.r.s.Unknown), len(w.r.s.Funcs)
	}
}

func (w *walker) syntaxError(err *textError, m mapping) {
	off := m.at(err.offset)
	w.unknown(Span{off, off}, err.msg)
	if w.r.s.Err == nil {
		w.r.s.Err = &SyntaxError{posIn(w.r.s.Text, max(0, min(off, len(w.r.s.Text)))), err.msg}
	}
}

// same reports whether the calls of two readings are equal.
func (w *walker) same(from, second int) bool {
	a, b := w.r.s.Calls[from:second], w.r.s.Calls[second:]
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if len(a[i].Words) != len(b[i].Words) || len(a[i].Redirs) != len(b[i].Redirs) || a[i].Dir != b[i].Dir {
			return false
		}
		for k := range a[i].Words {
			if a[i].Words[k].Value != b[i].Words[k].Value || a[i].Words[k].Literal != b[i].Words[k].Literal {
				return false
			}
		}
		for k := range a[i].Redirs {
			if a[i].Redirs[k].Op != b[i].Redirs[k].Op || a[i].Redirs[k].Target.Value != b[i].Redirs[k].Target.Value {
				return false
			}
		}
	}
	return true
}
