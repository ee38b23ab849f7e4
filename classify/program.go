package classify

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// program reads the words of a call by the row of its program.
func (c *classifier) program(r *reading) {
	w := &r.words[0]
	r.name = base(w.Value)
	r.start()
	if r.name == "" {
		return
	}
	if len(r.name) > 1 && strings.ToUpper(r.name) == r.name { // /BIN/RM finds rm where case does not matter
		r.name = strings.ToLower(r.name)
	}
	p := lookup(r.name)
	if p == nil {
		if rest, ok := strings.CutPrefix(r.name, "git-"); ok {
			c.dashed(r, rest)
			return
		}
		if rest, ok := strings.CutPrefix(r.name, "mkfs."); ok && rest != "" {
			p = lookup("mkfs")
		} else {
			p = &unlisted
			if c.carrier(r.call) {
				return // a carrier: what it runs is a call of its own
			}
		}
	}
	c.run(r, p)
}

// run reads the words behind the first by a row.
func (c *classifier) run(r *reading, p *program) {
	r.row, r.sub = p, p
	if p.does.own() {
		c.special(r)
		return
	}
	k := r.parse(p, 1, p.subs != nil)
	if p.subs != nil {
		if r.effects&dry != 0 || k >= len(r.words) {
			c.apply(r)
			return
		}
		c.subcommand(r, p, k)
		return
	}
	c.apply(r)
}

// subcommand reads the words from the subcommand on, which may have
// subcommands itself (docker container rm).
func (c *classifier) subcommand(r *reading, p *program, k int) {
	r.subName = r.words[k].Value
	s := p.sub(r.subName)
	if s == nil {
		r.parse(p, k, false)
		c.apply(r)
		return
	}
	r.sub = s
	next := r.parse(s, k+1, s.subs != nil)
	if s.subs != nil && r.effects&dry == 0 && next < len(r.words) {
		c.subcommand(r, s, next)
		return
	}
	c.apply(r)
}

// dashed reads git-reset and the like, which git has as programs too.
func (c *classifier) dashed(r *reading, name string) {
	git := lookup("git")
	r.row, r.name, r.subName = git, "git", name
	if r.sub = git.sub(name); r.sub == nil {
		return
	}
	r.parse(r.sub, 1, false)
	c.apply(r)
}

// carrier reports whether the call only carries another one: the next calls
// were found in it.
func (c *classifier) carrier(i int) bool {
	if i+1 >= len(c.s.Calls) {
		return false
	}
	in := c.s.Calls[i+1].Carriers
	return len(in) > 0 && in[len(in)-1].Call == i
}

func base(s string) string { return s[strings.LastIndexByte(s, '/')+1:] }

// unlisted is the grammar that programs without a row are given: nothing is
// known but what paths look like.
var unlisted = program{
	opts: "o=o output=o out=o output-file=o outfile=o out-file=o output-dir=o out-dir=o outdir=o dest=o report=o junitxml=o log-file=o logfile=o " +
		"config=< config-file=< input=< input-file=< file=< env-file=< from=<",
	args: "r", style: exact,
}

// apply notes what the row says about the words that were found.
func (c *classifier) apply(r *reading) {
	if r.effects&dry != 0 {
		if r.sub.does == remoteCopy { // a dry run of rsync connects all the same
			c.special(r)
		}
		return
	}
	from := len(c.found)
	for _, by := range r.row.sets {
		if by != writeFile || !c.toNowhere(r) {
			c.addCall(by, r.call)
		}
	}
	if r.sub != r.row {
		for _, by := range r.sub.sets {
			c.addCall(by, r.call)
		}
	}
	c.carry(r.call, (r.row.out|r.sub.out)&tainted)
	for i := range r.opts {
		if r.opts[i].how != "" {
			c.option(r, &r.opts[i])
		}
	}
	c.special(r)
	if roles := r.roles(); roles != "" {
		c.operands(r, roles)
	}
	if r.row.does == gitCommand {
		c.gitPlace(r, from)
	}
}

// toNowhere reports a copy to /dev/stdout or /dev/null.
func (c *classifier) toNowhere(r *reading) bool {
	if r.row.does != copies || len(r.ops) < 2 || r.effects&toTarget != 0 {
		return false
	}
	_, at := c.locate(&r.words[r.ops[len(r.ops)-1]], r.dir)
	return at == nowhere
}

func (r *reading) roles() string {
	roles := r.sub.args
	if r.effects&roleTaken != 0 && len(roles) > 1 && roles[1] != '$' {
		roles = roles[1:]
	}
	return roles
}

// option notes what one option does.
func (c *classifier) option(r *reading, o *opt) {
	var w shell.Word
	if o.word >= 0 {
		w = r.word(*o)
	}
	for i := 1; i < len(o.how); i++ {
		switch o.how[i] {
		case 'd':
			c.addCall(deleteOption, r.call)
		case 'w':
			if o.how[0] == '+' {
				c.addCall(writeInPlace, r.call)
			} else if o.word >= 0 {
				c.path(r, 'w', &w)
			}
		case 's':
			c.addCall(privileged, r.call)
		case 'n':
			c.addCall(netService, r.call)
		case 'b':
			c.addCall(backgroundDetached, r.call)
		default:
			if o.word >= 0 {
				c.optionValue(r, o.how[i], &w)
			}
		}
	}
}

// optionValue notes what the value of an option is for.
func (c *classifier) optionValue(r *reading, effect byte, w *shell.Word) {
	switch effect {
	case '<':
		if isURL(w.Value) {
			c.add(netURL, r.call, w.Span, w.Value)
			return
		}
		c.path(r, 'r', w)
	case '>':
		c.path(r, 'w', w)
	case 'o':
		c.path(r, 'o', w)
	case 'x':
		c.path(r, 'd', w)
	case '/':
		c.chdir(r, w)
	case 'T':
		c.path(r, 'w', w)
	case 'c':
		c.code(r, w)
	case '!':
		if !w.Literal || w.Value != "" && !harmlessProgram(w.Value) {
			c.add(optionProgram, r.call, w.Span, w.Value)
		}
	case '@':
		if strings.HasPrefix(w.Value, "@") {
			f := tail(*w, 1)
			c.path(r, 'r', &f)
		}
	case 'F':
		if k := strings.Index(w.Value, "=@"); k >= 0 {
			c.formFile(r, tail(*w, k+2))
		} else if k := strings.Index(w.Value, "=<"); k >= 0 {
			c.formFile(r, tail(*w, k+2))
		}
	}
}

func (c *classifier) formFile(r *reading, w shell.Word) {
	if strings.HasPrefix(w.Value, `"`) { // curl undoes these quotes
		w = tail(w, 1)
		w.Value = strings.TrimSuffix(w.Value, `"`)
		w.Prefix = strings.TrimSuffix(w.Prefix, `"`)
	}
	if k := strings.IndexByte(w.Value, ';'); k >= 0 {
		w.Value = w.Value[:k]
		w.Prefix = w.Prefix[:min(k, len(w.Prefix))]
	}
	c.path(r, 'r', &w)
}

// code notes that an argument is program code.
func (c *classifier) code(r *reading, w *shell.Word) {
	c.addCall(codeOption, r.call)
	c.runs(r.call, w.Span, c.word(w))
	if dumpsEnvironment(w.Value) {
		c.addCall(secretEnvironment, r.call)
	}
}

// chdir follows an option that changes the directory of the operands.
func (c *classifier) chdir(r *reading, w *shell.Word) {
	p, at := c.locate(w, r.dir)
	switch {
	case at == nowhere:
	case !w.Literal && !w.Guess && w.Prefix == "":
		r.dir = ""
	case strings.HasPrefix(p, "/"):
		r.dir = p
	case r.dir != "":
		r.dir = clean(r.dir + "/" + p)
	}
}

// operands notes what the operands are for.
func (c *classifier) operands(r *reading, roles string) {
	last := byte(0)
	if k := strings.IndexByte(roles, '$'); k >= 0 {
		last, roles = roles[k+1], roles[:k]
		if r.effects&toTarget != 0 {
			last = 0
		}
	}
	if len(r.ops) == 0 && roles == "l" && !c.s.Calls[r.call].More {
		c.look(r) // ls, du and tree look at where they are
	}
	for n, k := range r.ops {
		role := roles[min(n, len(roles)-1)]
		if last != 0 && n == len(r.ops)-1 && n > 0 {
			role = last
		}
		c.path(r, role, &r.words[k])
	}
	if call := &c.s.Calls[r.call]; call.More && roles != "" { // what xargs appends
		if n := len(call.Carriers); n > 0 && call.Carriers[n-1].Name == "xargs" {
			if root, ok := c.root(r.call); ok {
				c.pathAt(r, roles[min(len(r.ops), len(roles)-1)], &root)
			}
		}
	}
}

// path notes what happens to one path.
func (c *classifier) path(r *reading, role byte, w *shell.Word) {
	if role == '-' {
		return
	}
	if r.effects&inPlace != 0 && role == 'r' {
		role = 'i'
	}
	if k := strings.Index(w.Value, "{}"); k == 0 || k > 0 && w.Value[0] != '/' && w.Value[0] != '.' {
		if root, ok := c.root(r.call); ok {
			c.pathAt(r, role, &root)
			return
		}
	}
	c.pathAt(r, role, w)
}

func (c *classifier) pathAt(r *reading, role byte, w *shell.Word) {
	if !w.Literal && w.Value == "" && len(w.Subs) == 1 && listed("find fd fdfind", c.s.Calls[w.Subs[0]].Name()) { // rm $(find /tmp)
		if root, ok := c.firstRoot(&c.s.Calls[w.Subs[0]]); ok {
			w = &root
		}
	}
	switch role {
	case 'r':
		c.read(r.call, w, r.dir)
	case 'l':
		c.list(r.call, w, r.dir)
	case 'w':
		c.write(writeFile, r.call, w, r.dir)
		c.keepSaved(r, w)
	case 'i':
		c.write(writeInPlace, r.call, w, r.dir)
	case 'm':
		c.write(writeFile, r.call, w, r.dir)
	case 'o':
		if _, at := c.locate(w, r.dir); at == outside {
			c.write(writeFile, r.call, w, r.dir)
		}
	case 'd':
		c.changed(r.call, w, r.dir)
	case 'c':
		c.code(r, w)
	}
}

// look notes that a program without operands looks at a directory outside.
func (c *classifier) look(r *reading) {
	if r.dir != "" && c.absolute(r.dir) == outside {
		c.add(readOutside, r.call, c.s.Calls[r.call].Span, r.dir)
	}
}

// keepSaved remembers what tee and curl -o write.
func (c *classifier) keepSaved(r *reading, w *shell.Word) {
	f := c.stdin(r.call)
	if c.flows != nil {
		f |= c.flows[r.call]
	}
	c.save(w, r.dir, f&tainted)
}

// root is where find or fd starts, for the {} of the command it runs: the
// first starting point outside the workspace, else the first.
func (c *classifier) root(i int) (shell.Word, bool) {
	for _, by := range c.s.Calls[i].Carriers {
		switch by.Name {
		case "find", "fd", "fdfind":
			return c.firstRoot(&c.s.Calls[by.Call])
		case "xargs":
			for _, j := range c.s.Calls[by.Call].PipeFrom {
				if listed("find fd fdfind", c.s.Calls[j].Name()) {
					return c.firstRoot(&c.s.Calls[j])
				}
			}
		}
	}
	return shell.Word{}, false
}

func (c *classifier) firstRoot(call *shell.Call) (shell.Word, bool) {
	roots := findRoots(call.Words)
	addName(roots, call.Words)
	for k := range roots {
		if _, at := c.locate(&roots[k], call.Dir); at == outside {
			return roots[k], true
		}
	}
	if len(roots) > 0 {
		return roots[0], true
	}
	return shell.Word{}, false
}

// addName puts the literal -name of a find expression behind its starting
// points, so that find ~ -name .netrc -exec cat {} is read as what it does.
func addName(roots, words []shell.Word) {
	for k := 0; k+1 < len(words); k++ {
		if words[k].Value != "-name" || !words[k+1].Literal || strings.ContainsAny(words[k+1].Value, "*?[") {
			continue
		}
		for n := range roots {
			if roots[n].Literal {
				roots[n].Value = strings.TrimSuffix(roots[n].Value, "/") + "/" + words[k+1].Value
				roots[n].Prefix = roots[n].Value
			}
		}
		return
	}
}

func isURL(s string) bool {
	i := strings.Index(s, "://")
	return i > 1 && i < 12 && !strings.HasPrefix(s, "file:") && !strings.ContainsAny(s[:i], "/ ")
}
