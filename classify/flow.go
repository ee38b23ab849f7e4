package classify

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// flow is where bytes come from.
type flow uint8

const (
	fromNetwork flow = 1 << iota
	fromDecoder
	fromText     // any other command
	known        // in classifier.seen: the entry was worked out
	readsProgram // in classifier.flows: the call reads its program from standard input
	swallows     // in classifier.flows: its output does not carry its input
)

const tainted = fromNetwork | fromDecoder

// carry notes what the output of a call carries of its own.
func (c *classifier) carry(i int, f flow) {
	if f == 0 {
		return
	}
	if c.flows == nil {
		c.flows = make([]flow, len(c.s.Calls))
	}
	c.flows[i] |= f
}

// pipeCache remembers the flow of one list of calls: all calls to the right of
// a pipe share the list of those on its left.
type pipeCache struct {
	first *int
	n     int
	f     flow
}

// from is what a list of calls sends.
func (c *classifier) from(list []int) flow {
	if len(list) == 0 {
		return 0
	}
	if c.fed.first == &list[0] && c.fed.n == len(list) {
		return c.fed.f
	}
	f := fromText
	if c.flows != nil || c.saved != nil {
		for _, j := range list {
			f |= c.carries(j)
		}
	}
	c.fed = pipeCache{&list[0], len(list), f}
	return f
}

// carries is what the output of a call carries: its own bytes, and what came
// in, for filters pass it on.
func (c *classifier) carries(i int) flow {
	if c.seen == nil {
		c.seen = make([]flow, len(c.s.Calls))
	}
	if c.seen[i]&known != 0 {
		return c.seen[i] &^ known
	}
	c.seen[i] = known
	var f flow
	if c.flows != nil {
		f = c.flows[i] & tainted
	}
	if c.flows == nil || c.flows[i]&swallows == 0 {
		f |= c.stdin(i)
	}
	c.seen[i] = f | known
	return f
}

// stdin is what a call reads on standard input: 0 when nothing that the text
// shows.
func (c *classifier) stdin(i int) flow {
	call := &c.s.Calls[i]
	f := c.from(call.PipeFrom)
	if call.In != nil {
		f |= c.word(call.In) | fromText
	}
	for k := range call.Redirs {
		if r := &call.Redirs[k]; r.Op == "<" && !r.Heredoc && c.saved != nil {
			f |= c.savedFlow(&r.Target, call.Dir)
		}
	}
	return f
}

// word is what the substitutions of a word bring into it.
func (c *classifier) word(w *shell.Word) flow {
	var f flow
	for _, j := range w.Subs {
		f |= c.carries(j)
	}
	if c.vars != nil {
		f |= c.held(w)
	}
	return f &^ fromText
}

// heldValue is a variable whose value came from the network or a decoder.
type heldValue struct {
	name string
	from flow
}

// hold remembers an assignment of fetched text.
func (c *classifier) hold(a *shell.Assign) {
	if f := c.word(&a.Value) & tainted; f != 0 && len(c.vars) < maxSaved {
		c.vars = append(c.vars, heldValue{a.Name, f})
	}
}

// held is what the variables in a word hold.
func (c *classifier) held(w *shell.Word) flow {
	var f flow
	text := c.s.Slice(w.Span)
	for i := range c.vars {
		for rest := text; ; {
			k := strings.IndexByte(rest, '$')
			if k < 0 {
				break
			}
			rest = strings.TrimPrefix(rest[k+1:], "{")
			if tail, ok := strings.CutPrefix(rest, c.vars[i].name); ok && (tail == "" || !isWord(tail[0])) {
				f |= c.vars[i].from
			}
		}
	}
	return f
}

// runs notes that a call runs bytes of this origin as a program.
func (c *classifier) runs(i int, sp shell.Span, f flow) {
	if f&fromNetwork != 0 {
		c.add(fetchRun, i, sp, c.text(i))
	}
	if f&fromDecoder != 0 {
		c.add(decodeRun, i, sp, c.text(i))
		c.add(codeStdin, i, sp, c.text(i))
	}
}

// substituted looks at the calls inside >(…) of this call: they read what it
// writes.
func (c *classifier) substituted(i int) {
	call := &c.s.Calls[i]
	for k := range call.Words {
		if call.Words[k].Proc == '>' {
			c.feed(i, call.Words[k].Subs)
		}
	}
	for k := range call.Redirs {
		if call.Redirs[k].Target.Proc == '>' {
			c.feed(i, call.Redirs[k].Target.Subs)
		}
	}
}

func (c *classifier) feed(i int, subs []int) {
	if c.flows == nil {
		return
	}
	for _, j := range subs {
		if c.flows[j]&readsProgram != 0 && c.s.Calls[j].PipeFrom == nil && c.s.Calls[j].In == nil {
			c.addCall(codeStdin, j)
			c.runs(j, c.s.Calls[j].Span, c.carries(i))
		}
	}
}

// savedFile is a file that the same command fetched or decoded.
type savedFile struct {
	path string
	from flow
	tree bool // a directory of such files
}

// maxSaved bounds the files that are remembered: each is compared with every
// later path.
const maxSaved = 64

// keep remembers that the output of a call goes into a file, when it comes
// from the network or a decoder.
func (c *classifier) keep(i int, w *shell.Word, dir string) {
	call := &c.s.Calls[i]
	if call.PipeFrom == nil && call.In == nil && len(call.Words) > 0 {
		// The call itself has not been read yet: look at its program.
		if f := c.origin(call); f != 0 {
			c.save(w, dir, f)
		}
		return
	}
	if f := c.stdin(i) | c.origin(call); f&tainted != 0 {
		c.save(w, dir, f&tainted)
	}
}

// origin is what the program of a call brings of its own, before it was read.
func (c *classifier) origin(call *shell.Call) flow {
	var f flow
	for k := range call.Words {
		f |= c.word(&call.Words[k])
	}
	p := lookup(call.Name())
	if p == nil {
		return f
	}
	f |= p.out
	if p.does == decodes && decoding(call.Words) {
		f |= fromDecoder
	}
	return f & tainted
}

func (c *classifier) save(w *shell.Word, dir string, f flow) {
	if len(c.saved) < maxSaved && f != 0 {
		if key := c.key(w, dir); key != "" {
			c.saved = append(c.saved, savedFile{path: key, from: f})
		}
	}
}

// saveTree remembers a directory that was cloned, or unpacked from a fetched
// archive.
func (c *classifier) saveTree(name, dir string, f flow) {
	if n := len(c.saved); name != "" && f != 0 {
		c.save(&shell.Word{Value: name, Prefix: name, Literal: true}, dir, f)
		if len(c.saved) > n {
			c.saved[n].tree = true
		}
	}
}

func (c *classifier) savedFlow(w *shell.Word, dir string) flow {
	key := c.key(w, dir)
	if key == "" {
		return 0
	}
	for k := range c.saved {
		if c.saved[k].path == key || c.saved[k].tree && within(key, c.saved[k].path) {
			return c.saved[k].from
		}
	}
	return 0
}

// key names a file so that two words that name the same file agree: its path,
// or how the variables that hold it are written.
func (c *classifier) key(w *shell.Word, dir string) string {
	if !w.Literal && !w.Guess {
		text := c.s.Slice(w.Span)
		if strings.IndexByte(text, '$') < 0 || strings.ContainsAny(text, "(`") {
			return ""
		}
		return strings.Map(func(r rune) rune {
			if r == '"' || r == '{' || r == '}' {
				return -1
			}
			return r
		}, text)
	}
	p, at := c.locate(w, dir)
	if at == nowhere || at == socket {
		return ""
	}
	if !strings.HasPrefix(p, "/") {
		p = clean(c.workspace + "/" + p)
	}
	return p
}
