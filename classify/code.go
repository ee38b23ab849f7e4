package classify

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// runsCode handles shells, interpreters and what runs program text.
func (c *classifier) runsCode(r *reading, s special) bool {
	switch s {
	case shellCommand:
		c.shell(r)
	case interpreter:
		c.interpreter(r)
	case sourceCommand:
		c.source(r)
	case evalCommand:
		c.eval(r)
	case awkCommand:
		c.awkCommand(r)
	case sedCommand:
		c.sedCommand(r)
	case jqCommand, yqCommand:
		c.jq(r)
	case javaCommand:
		if jar, ok := r.value("jar"); ok {
			c.script(r, &jar)
		} else if strings.HasSuffix(r.op(0), ".java") || strings.HasSuffix(r.op(0), ".jar") {
			c.script(r, &r.words[r.ops[0]])
		}
	case denoCommand:
		if r.sub == r.row && len(r.ops) == 0 {
			c.programOnStdin(r)
		}
	case denoRun, bunRun:
		if len(r.ops) > 0 {
			c.remoteScript(r, &r.words[r.ops[0]])
		}
	case bunCommand:
		if r.sub == r.row {
			if len(r.ops) == 0 && !r.has("e eval p print") {
				c.programOnStdin(r)
			} else if len(r.ops) > 0 && strings.Contains(r.op(0), ".") {
				c.remoteScript(r, &r.words[r.ops[0]])
			}
		}
	case railsRunner:
		if len(r.ops) > 0 && !strings.HasSuffix(r.op(0), ".rb") {
			c.code(r, &r.words[r.ops[0]])
		}
	case vimCommand:
		c.vim(r)
	case edCommand:
		c.ed(r)
	case emacsCommand:
		return true
	case packageRunner:
		c.packageRunner(r)
	case m4Command:
		if call := &c.s.Calls[r.call]; call.In != nil && strings.Contains(call.In.Value, "syscmd") {
			c.addCall(codeStdin, r.call)
		}
	case dcCommand:
		for _, o := range r.opts {
			if o.name == "e" || o.name == "expression" {
				if w := r.word(o); o.word >= 0 && strings.Contains(w.Value, "!") {
					c.code(r, &w)
				}
			}
		}
	case lessCommand:
		for _, k := range r.ops {
			if v := r.words[k].Value; strings.HasPrefix(v, "+!") || strings.HasPrefix(v, "++!") || strings.HasPrefix(v, "+|") {
				c.add(optionProgram, r.call, r.words[k].Span, v)
			}
		}
	case makeCommand:
		for _, k := range r.ops { // the shell of every recipe
			if w := tail(r.words[k], len("SHELL=")); strings.HasPrefix(r.words[k].Value, "SHELL=") && !shellName(base(w.Value)) {
				c.add(optionProgram, r.call, r.words[k].Span, r.words[k].Value)
			}
		}
		for _, o := range r.opts {
			if o.word >= 0 && listed("f file makefile", o.name) {
				w := r.word(o)
				if w.Value == "-" || w.Value == "/dev/stdin" {
					c.programOnStdin(r)
				} else if f := c.word(&w); w.Proc != 0 || f != 0 {
					c.addCall(codeStdin, r.call)
					c.runs(r.call, w.Span, f)
				}
			}
		}
	case manCommand:
		return true
	default:
		return false
	}
	return true
}

// shell reads sh and its relatives: literal text has calls of its own, so only
// text from elsewhere is noted.
func (c *classifier) shell(r *reading) {
	if r.has("V") {
		return
	}
	if r.has("c") {
		if len(r.ops) == 0 {
			return
		}
		w := &r.words[r.ops[0]]
		f := c.word(w)
		if !w.Literal {
			c.add(codeText, r.call, w.Span, c.text(r.call))
			f |= c.stdin(r.call) // while read -r line; do sh -c "$line"; done
		}
		c.runs(r.call, w.Span, f)
		return
	}
	if len(r.ops) > 0 && !r.has("s") {
		w := &r.words[r.ops[0]]
		if w.Value != "-" && w.Value != "/dev/stdin" || w.Proc != 0 {
			c.script(r, w)
			return
		}
	}
	c.programOnStdin(r)
}

// script judges a program given by name: the file itself never counts, but a
// process substitution and a file that was just fetched do.
func (c *classifier) script(r *reading, w *shell.Word) {
	if w.Proc != 0 {
		c.addCall(codeStdin, r.call)
		c.runs(r.call, w.Span, c.word(w))
		return
	}
	if c.saved != nil && c.savedFlow(w, r.dir) != 0 {
		c.addCall(savedRun, r.call)
	}
	if f := c.word(w); f != 0 {
		c.runs(r.call, w.Span, f)
	}
}

// remoteScript judges a program that may be given by URL.
func (c *classifier) remoteScript(r *reading, w *shell.Word) {
	v := w.Value
	if isURL(v) || strings.HasPrefix(v, "npm:") || strings.HasPrefix(v, "jsr:") {
		c.addCall(netURL, r.call)
		c.addCall(fetchRun, r.call)
		return
	}
	if v == "-" {
		c.programOnStdin(r)
		return
	}
	c.script(r, w)
}

// programOnStdin judges an interpreter that reads its program from standard
// input, when something is there.
func (c *classifier) programOnStdin(r *reading) {
	call := &c.s.Calls[r.call]
	c.carry(r.call, readsProgram)
	switch {
	case call.In != nil && call.In.Literal && r.row.does == shellCommand && len(call.PipeFrom) == 0:
		return // its text has calls of its own
	case call.In != nil || len(call.PipeFrom) > 0:
		c.addCall(codeStdin, r.call)
		c.runs(r.call, call.Span, c.stdin(r.call))
		return
	}
	for k := range call.Redirs {
		rd := &call.Redirs[k]
		if !rd.Reads() {
			continue
		}
		if f := c.word(&rd.Target); f != 0 {
			c.addCall(codeStdin, r.call)
			c.runs(r.call, rd.Span, f)
		}
		if _, at := c.locate(&rd.Target, r.dir); at == socket {
			c.addCall(codeStdin, r.call)
			c.addCall(fetchRun, r.call)
		}
		if c.saved != nil && c.savedFlow(&rd.Target, r.dir) != 0 {
			c.addCall(savedRun, r.call)
		}
	}
	if call.More && c.xargsShell(call) {
		c.addCall(codeStdin, r.call)
	}
}

// xargsShell reports whether the operands of a shell come from xargs.
func (c *classifier) xargsShell(call *shell.Call) bool {
	n := len(call.Carriers)
	return n > 0 && call.Carriers[n-1].Name == "parallel"
}

// interpreter reads python, node, perl and their relatives: code in options is
// noted by the row.
func (c *classifier) interpreter(r *reading) {
	code := r.effects&hasCode != 0
	named := r.effects&roleTaken != 0 && !code // python -m, php -f
	switch {
	case code, named:
	case len(r.ops) == 0:
		c.programOnStdin(r)
	default:
		w := &r.words[r.ops[0]]
		if (w.Value == "-" || w.Value == "/dev/stdin") && w.Proc == 0 {
			c.programOnStdin(r)
		} else {
			c.script(r, w)
		}
	}
	if code && len(r.sub.args) > 1 {
		r.effects |= roleTaken // no script among the operands
	}
	if r.effects&inPlace != 0 {
		c.addCall(writeInPlace, r.call)
	}
	if named {
		c.module(r)
	}
}

// module reads python -m MODULE: some are programs with a row.
func (c *classifier) module(r *reading) {
	w, ok := r.value("m")
	if !ok || !strings.HasPrefix(r.name, "py") {
		return
	}
	switch w.Value {
	case "http.server", "SimpleHTTPServer", "json.tool", "unittest", "pdb", "cProfile", "timeit":
		if w.Value == "timeit" && len(r.ops) > 0 {
			c.code(r, &r.words[r.ops[0]])
		}
		return
	case "base64":
		for _, k := range r.ops {
			if r.words[k].Value == "-d" {
				c.carry(r.call, fromDecoder)
			}
		}
		return
	case "venv", "virtualenv", "ensurepip":
		return
	case "zipfile", "tarfile":
		for n, k := range r.ops {
			if v := r.words[k].Value; (v == "-e" || v == "--extract") && n+1 < len(r.ops) {
				c.addCall(writeExtract, r.call)
				if n+2 < len(r.ops) {
					c.path(r, 'w', &r.words[r.ops[n+2]])
				}
			}
		}
		return
	}
	p := lookup(w.Value)
	if p == nil || p.does == interpreter || p.does == shellCommand {
		return
	}
	in := reading{call: r.call, dir: r.dir, name: w.Value, row: p, sub: p}
	for _, o := range r.opts {
		if o.name == "m" && o.word >= 0 {
			in.words = r.words[o.word:]
			if o.off > 0 {
				in.words = r.words[o.word:]
			}
		}
	}
	in.start()
	r.ops = r.ops[:0]
	c.run(&in, p)
}

// source reads . and source.
func (c *classifier) source(r *reading) {
	if len(r.words) < 2 {
		return
	}
	w := &r.words[1]
	if w.Value == "--" && len(r.words) > 2 {
		w = &r.words[2]
	}
	p, at := c.locate(w, r.dir)
	f := c.word(w)
	switch {
	case w.Proc != 0, !w.Literal && !w.Guess, at == outside, w.Value == "/dev/stdin":
		c.add(codeSource, r.call, c.s.Calls[r.call].Span, c.text(r.call))
		if w.Value == "/dev/stdin" {
			f |= c.stdin(r.call)
		}
	}
	if at == outside {
		c.add(readOutside, r.call, w.Span, p)
	}
	c.runs(r.call, w.Span, f)
	if c.saved != nil && c.savedFlow(w, r.dir) != 0 {
		c.addCall(savedRun, r.call)
	}
}

func (c *classifier) eval(r *reading) {
	if len(r.words) < 2 {
		return
	}
	c.addCall(codeEval, r.call)
	var f flow
	for k := range r.words[1:] {
		f |= c.word(&r.words[k+1])
		if !r.words[k+1].Literal {
			f |= c.stdin(r.call)
		}
	}
	c.runs(r.call, c.s.Calls[r.call].Span, f)
}

// packageRunner reads npx and its relatives: -y, or a version, says that the
// package comes from the network.
func (c *classifier) packageRunner(r *reading) {
	if text, ok := r.value("c call"); ok {
		c.shellText(r, &text)
	}
	if len(r.ops) == 0 && !r.has("p package") {
		return
	}
	spec := r.op(0)
	fetched := r.has("y yes p package") || strings.LastIndexByte(spec, '@') > 0 || r.name == "bunx" || strings.Contains(spec, "://") || strings.HasPrefix(spec, "github:")
	if r.has("no no-install") {
		return
	}
	if fetched {
		c.addCall(netPackages, r.call)
		c.addCall(packageRun, r.call)
	}
	if spec == "rimraf" || spec == "del-cli" {
		c.addCall(deleteFiles, r.call)
		for _, k := range r.ops[1:] {
			if !strings.HasPrefix(r.words[k].Value, "-") {
				c.path(r, 'd', &r.words[k])
			}
		}
		return
	}
	c.tool(r)
}

// tool reads the program that npx runs by its own row, when it has one.
func (c *classifier) tool(r *reading) {
	if len(r.ops) == 0 {
		return
	}
	name := base(r.op(0))
	if k := strings.LastIndexByte(name, '@'); k > 0 {
		name = name[:k]
	}
	p := lookup(name)
	if p == nil || p.does.own() || p.does == packageRunner {
		return
	}
	in := reading{call: r.call, dir: r.dir, name: name, row: p, sub: p, words: r.words[r.ops[0]:]}
	in.start()
	c.run(&in, p)
}

// jq programs read the environment as env and $ENV.
func (c *classifier) jq(r *reading) {
	if len(r.ops) == 0 || r.has("f from-file") {
		return
	}
	text := r.op(0)
	for _, name := range [...]string{"env", "$ENV"} {
		k := strings.Index(text, name)
		if k < 0 || k > 0 && (isWord(text[k-1]) || text[k-1] == '.' || text[k-1] == '$' || text[k-1] == '"') {
			continue
		}
		if rest := text[k+len(name):]; rest == "" || rest[0] != '.' && rest[0] != '[' && !isWord(rest[0]) && rest[0] != '"' {
			c.addCall(secretEnvironment, r.call)
			return
		}
	}
	if strings.HasPrefix(r.name, "yq") && (text == "eval" || text == "e" || text == "eval-all" || text == "ea") {
		r.ops = r.ops[1:]
	}
}

func isWord(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'z'
}

// dumpsEnvironment reports whether code prints the whole environment, as far
// as its text shows: os.environ without a key, process.env, %ENV, ENV.
func dumpsEnvironment(code string) bool {
	for _, name := range [...]string{"os.environ", "process.env", "%ENV", "ENV.to_h", "ENV.each", "ENV.inspect", "Deno.env.toObject"} {
		for rest := code; ; {
			k := strings.Index(rest, name)
			if k < 0 {
				break
			}
			rest = rest[k+len(name):]
			if rest == "" || rest[0] != '.' && rest[0] != '[' && !isWord(rest[0]) || strings.HasPrefix(rest, ".items") || strings.HasPrefix(rest, ".copy") {
				return true
			}
		}
	}
	return false
}

// shellName reports whether a program is a shell of the system.
func shellName(name string) bool {
	p := lookup(name)
	return p != nil && p.does == shellCommand
}
