package shell

import "strings"

// carry takes a carrier apart by its row of the table.
func (w *walker) carry(i int, c Call, sp *carrier) {
	args := c.Args()
	o := sp.options(args)
	rest := args[o.operand:]
	if sp.name == "env" && len(rest) > 0 && rest[0].Value == "-" { // the same as -i
		more := sp.options(rest[1:])
		o.found = append(o.found, more.found...)
		rest = rest[1+more.operand:]
	}
	var assigned []Word
	if sp.assigns {
		for len(rest) > 0 && isAssignment(rest[0].Value) && !strings.HasPrefix(rest[0].Value, "=") {
			assigned = append(assigned, rest[0])
			rest = rest[1:]
		}
	}
	dir := func(in *Call) {
		if d, ok := o.value(sp.dir); ok {
			in.Dir = cdTarget(w.sc.dir, d)
		}
		for _, a := range assigned {
			name, _, _ := strings.Cut(a.Value, "=")
			v := valueOf(tail(a, len(name)+1))
			v.exported = true
			w.sc.set(name, v)
		}
	}
	switch sp.kind {
	case runsArgv:
		if o.has(sp.stops) {
			return
		}
		if n := sp.operands; n > 0 {
			rest = rest[min(n, len(rest)):]
		}
		if len(rest) == 0 && (sp.shell || o.has(sp.login)) {
			w.shellOnInput(i, c)
			return
		}
		if text, ok := o.value(sp.text); ok {
			// env -S: the value is split like a shell command, then the
			// operands follow.
			words := []Word{text}
			if strings.HasPrefix(text.Value, "-") { // options of env itself
				words = []Word{literalWord("env", text.Span), text}
			}
			for _, a := range rest {
				if a.Literal {
					a.Value, a.src = quote(a.Value), nil
				}
				words = append(words, a)
			}
			w.runText(i, c, words, Sh, w.sc.newProcess())
			return
		}
		w.inner(i, c, rest, dir)
	case runsShell:
		w.runShell(i, c, sp, o, rest)
	case runsXargs:
		w.runXargs(i, c, o, rest)
	case runsText: // eval: the shell itself
		w.runText(i, c, rest, w.dialect, w.sc)
	case runsOptionText:
		for _, t := range o.values(sp.text) {
			w.runText(i, c, []Word{t}, Sh, w.sc.newProcess())
		}
	case runsSub:
		w.runSubcommand(i, c, sp.name, args)
	case runsSpecial:
		w.special(i, c, sp, o, rest)
	}
}

func isAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return false
	}
	for i := 0; i < len(name); i++ {
		if !(name[i] == '_' || 'a' <= name[i]|0x20 && name[i]|0x20 <= 'z' || i > 0 && '0' <= name[i] && name[i] <= '9') {
			return false
		}
	}
	return true
}

// options is what was found before the first operand.
type options struct {
	operand int // index in the arguments of the first operand
	found   []option
}

type option struct {
	name  string // without dashes; one letter or a long name
	value Word
	has   bool // a value came with it
}

func (o *options) has(names string) bool {
	for _, f := range o.found {
		if names != "" && listed(names, f.name) {
			return true
		}
	}
	return false
}

func (o *options) value(names string) (Word, bool) {
	for _, f := range o.found {
		if f.has && names != "" && listed(names, f.name) {
			return f.value, true
		}
	}
	return Word{}, false
}

func (o *options) values(names string) []Word {
	var out []Word
	for _, f := range o.found {
		if f.has && names != "" && listed(names, f.name) {
			out = append(out, f.value)
		}
	}
	return out
}

// listed reports whether a blank-separated list holds a name.
func listed(list, name string) bool {
	for name != "" && list != "" {
		head, tail, _ := strings.Cut(list, " ")
		if head == name {
			return true
		}
		list = tail
	}
	return false
}

// longOption finds a long option by its name or, as GNU getopt does, by a
// unique beginning of it.
func longOption(list, name string) string {
	match := ""
	for rest := list; rest != ""; {
		var head string
		head, rest, _ = strings.Cut(rest, " ")
		if head == name {
			return head
		}
		if len(head) > 1 && len(name) > 1 && strings.HasPrefix(head, name) {
			match = head
		}
	}
	return match
}

// options parses getopt-style options up to the first operand, or all of them
// when the row says that options may follow operands.
func (sp *carrier) options(args []Word) options {
	var o options
	for o.operand < len(args) {
		a := args[o.operand]
		v := a.Value
		if v == "--" && a.Literal {
			o.operand++
			return o
		}
		if len(v) < 2 || (v[0] != '-' && !(v[0] == '+' && sp.plus)) || !a.Literal && a.Prefix == "" {
			return o
		}
		o.operand++
		if strings.HasPrefix(v, "--") {
			o.long(sp, a, args)
		} else {
			o.short(sp, a, args)
		}
		if last := &o.found[len(o.found)-1]; sp.kind == runsArgv && sp.text != "" && last.has && listed(sp.text, last.name) {
			return o // what follows belongs to the text: env -S
		}
	}
	return o
}

func (o *options) long(sp *carrier, a Word, args []Word) {
	name, val, attached := strings.Cut(a.Value[2:], "=")
	full := longOption(sp.takes, name)
	if full == "" {
		full = name
	}
	opt := option{name: full}
	switch {
	case attached:
		opt.value, opt.has = tail(a, len(a.Value)-len(val)), true
	case listed(sp.takes, full) && o.operand < len(args):
		opt.value, opt.has = args[o.operand], true
		o.operand++
	}
	o.found = append(o.found, opt)
}

func (o *options) short(sp *carrier, a Word, args []Word) {
	if sp.single { // one dash, long names: java, find-like
		o.long(sp, Word{Value: "-" + a.Value, Literal: a.Literal, Span: a.Span}, args)
		return
	}
	v := a.Value
	for k := 1; k < len(v); k++ {
		name := v[k : k+1]
		opt := option{name: name}
		if listed(sp.takes, name) {
			if k+1 < len(v) {
				opt.value, opt.has = tail(a, k+1), true
			} else if o.operand < len(args) {
				opt.value, opt.has = args[o.operand], true
				o.operand++
			}
			o.found = append(o.found, opt)
			return
		}
		o.found = append(o.found, opt)
	}
}

// tail is the rest of a word from byte n on.
func tail(a Word, n int) Word {
	t := a
	t.Value = a.Value[n:]
	t.Prefix = ""
	if len(a.Prefix) > n {
		t.Prefix = a.Prefix[n:]
	}
	t.src = nil
	if a.src != nil && a.Span.End-a.Span.Start == len(a.Value) {
		t.body = a.Span.Start + n + 1
	}
	return t
}

// runText parses words joined by blanks, as eval and sh -c read them.
func (w *walker) runText(i int, c Call, words []Word, d Dialect, sc *scope) {
	if len(words) == 0 {
		return
	}
	var text strings.Builder
	var offs []int32
	literal := true
	for k, x := range words {
		if k > 0 {
			text.WriteByte(' ')
			offs = append(offs, int32(x.Span.Start))
		}
		t, o := w.textOf(x)
		if x.Guess && !x.Literal && x.Value != "" { // $(echo TEXT)
			t, o = x.Value, make([]int32, len(x.Value))
			for j := range o {
				o[j] = int32(x.Span.Start)
			}
		}
		text.WriteString(t)
		offs = append(offs, o...)
		literal = literal && x.Literal
	}
	saved := w.ctx
	w.pipeFrom, w.in = c.PipeFrom, c.In
	w.nested(text.String(), mapping{table: append([]int32{}, offs...)}, d, Carrier{commandName(&c), i, ViaText}, sc, literal)
	w.ctx = saved
}

// runShell opens sh -c TEXT, and text that a shell reads from standard input.
func (w *walker) runShell(i int, c Call, sp *carrier, o options, rest []Word) {
	d := shellDialect(commandName(&c))
	sc := w.sc.newProcess()
	for _, a := range c.Assigns {
		v := valueOf(a.Value)
		v.exported, v.at = true, a.Span
		sc.set(a.Name, v)
	}
	if o.has("c") {
		if len(rest) == 0 {
			return
		}
		if len(rest) > 1 {
			sc.zero = rest[1].Value
			sc.setParams(rest[2:])
		}
		w.runText(i, c, rest[:1], d, sc)
		return
	}
	if len(rest) > 0 && !o.has("s") && rest[0].Value != "-" && rest[0].Value != "/dev/stdin" {
		if rest[0].Proc == '<' {
			sc.setParams(rest[1:])
			w.runPrinted(i, c, rest[0], d, sc)
		}
		return // a script by name
	}
	if !o.has("s") && len(rest) > 0 {
		rest = rest[1:]
	}
	sc.setParams(rest)
	w.runInput(i, c, d, sc)
}

// shellOnInput is a shell that a carrier starts when it is given no command.
func (w *walker) shellOnInput(i int, c Call) { w.runInput(i, c, Sh, w.sc.newProcess()) }

// runInput reads the text on standard input as a shell does.
func (w *walker) runInput(i int, c Call, d Dialect, sc *scope) {
	text, ok := w.input(&c)
	if !ok {
		return
	}
	m := fixedAt(c.Span.Start)
	if c.In != nil {
		_, offs := w.textOf(*c.In)
		if len(offs) == len(text) {
			m = mapping{table: offs}
		}
	} else if len(c.PipeFrom) > 0 {
		m = fixedAt(w.r.s.Calls[c.PipeFrom[0]].Span.Start)
	}
	saved := w.ctx
	w.pipeFrom, w.in = nil, nil
	w.nested(text, m, d, Carrier{commandName(&c), i, ViaStdin}, sc, true)
	w.ctx = saved
}

func shellDialect(name string) Dialect {
	switch name {
	case "bash", "rbash":
		return Bash
	case "dash", "ash":
		return POSIX
	case "ksh", "ksh93", "mksh", "oksh":
		return Mksh
	case "zsh":
		return Zsh
	}
	return Sh
}

// runXargs runs the words with what xargs reads, where the text shows it: put
// in the place of a mark line by line, or appended.
func (w *walker) runXargs(i int, c Call, o options, rest []Word) {
	input, known := w.input(&c)
	run := func(words []Word) {
		w.inner(i, c, words, func(in *Call) { in.PipeFrom, in.In, in.More = nil, nil, true })
	}
	if !known || len(rest) == 0 {
		run(rest)
		return
	}
	mark := ""
	if m, ok := o.value("I J replace"); ok && m.Value != "" {
		mark = m.Value
	} else if o.has("i replace") {
		mark = "{}"
	}
	var items []Word
	for _, f := range splitInput(input, o, mark != "") {
		items = append(items, Word{Value: f, Prefix: f, Literal: true, Span: Span{rest[0].Span.Start, max(rest[0].Span.Start, rest[len(rest)-1].Span.End)}})
	}
	if mark == "" {
		run(append(rest[:len(rest):len(rest)], items...))
		return
	}
	w.each(fill(rest, items, mark), run)
}

// splitInput is how xargs splits what it reads.
func splitInput(input string, o options, lines bool) []string {
	delimiter := ""
	switch d, ok := o.value("d delimiter"); {
	case ok:
		delimiter = decodeANSIC(d.Value)
	case o.has("0 null"):
		delimiter = "\x00"
	case lines:
		delimiter = "\n"
	}
	if delimiter == "" {
		return strings.FieldsFunc(input, func(r rune) bool { return r <= ' ' })
	}
	var out []string
	for _, f := range strings.Split(input, delimiter[:1]) {
		if lines {
			f = strings.TrimLeft(f, " \t")
		}
		if strings.Trim(f, " \n") != "" {
			out = append(out, strings.TrimSuffix(f, "\n"))
		}
	}
	return out
}
