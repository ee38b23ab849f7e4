package classify

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// vim reads the commands that -c, --cmd, + and standard input give to vi, ex
// and vim.
func (c *classifier) vim(r *reading) {
	writes := false
	for i := range r.opts {
		o := &r.opts[i]
		if o.word >= 0 && (o.name == "c" || o.name == "cmd") {
			w := r.word(*o)
			writes = c.exCommand(r, &w) || writes
		}
	}
	ops := r.ops[:0]
	for _, k := range r.ops {
		w := &r.words[k]
		if strings.HasPrefix(w.Value, "+") {
			cmd := tail(*w, 1)
			writes = c.exCommand(r, &cmd) || writes
			continue
		}
		ops = append(ops, k)
	}
	r.ops = ops
	call := &c.s.Calls[r.call]
	if call.In != nil && (r.has("e E s S") || r.name == "ex") {
		for _, line := range strings.Split(call.In.Value, "\n") {
			cmd := shell.Word{Value: line, Prefix: line, Literal: call.In.Literal, Span: call.In.Span}
			writes = c.exCommand(r, &cmd) || writes
		}
	} else if len(call.PipeFrom) > 0 && (r.name == "ex" || r.has("e E")) {
		c.addCall(codeEditor, r.call)
	}
	if writes {
		r.effects |= inPlace
		c.addCall(writeInPlace, r.call)
	}
}

// exCommand judges a line of ex commands, and reports whether the file is
// written.
func (c *classifier) exCommand(r *reading, w *shell.Word) bool {
	writes := false
	for _, part := range strings.Split(w.Value, "|") {
		part = strings.TrimLeft(part, " \t:%$.,0123456789'<>")
		name := part
		for i := 0; i < len(part); i++ {
			if !('a' <= part[i]|0x20 && part[i]|0x20 <= 'z') {
				name = part[:i]
				break
			}
		}
		rest := part[len(name):]
		switch {
		case name == "" && strings.HasPrefix(rest, "!"), name == "r" && strings.HasPrefix(strings.TrimLeft(rest, " "), "!"), name == "read" && strings.HasPrefix(strings.TrimLeft(rest, " "), "!"),
			listed("py python py3 python3 lua ruby rub perl pe tcl mz terminal term exe execute call source so luafile luado pydo perldo rubydo silent grep make", name) && editorRuns(name, rest):
			c.add(codeEditor, r.call, w.Span, w.Value)
		case name == "w" && strings.HasPrefix(strings.TrimLeft(rest, " "), "!"), name == "write" && strings.HasPrefix(strings.TrimLeft(rest, " "), "!") && strings.HasPrefix(rest, " "):
			c.add(codeEditor, r.call, w.Span, w.Value)
		case listed("w wq x wa wqa xa xit write up update wall exit saveas sav ZZ wn", name):
			if f := strings.TrimLeft(rest, " !>"); f != "" && name != "x" {
				c.path(r, 'w', &shell.Word{Value: f, Prefix: f, Literal: w.Literal, Span: w.Span})
				c.addCall(writeFile, r.call)
			} else {
				writes = true
			}
		}
	}
	return writes
}

// editorRuns tells the commands that run code from those that only might.
func editorRuns(name, rest string) bool {
	switch name {
	case "call":
		return strings.Contains(rest, "system") || strings.Contains(rest, "job_start") || strings.Contains(rest, "termopen")
	case "exe", "execute", "silent":
		return strings.Contains(rest, "!")
	case "grep", "make":
		return false
	}
	return true
}

// ed reads its commands from standard input.
func (c *classifier) ed(r *reading) {
	call := &c.s.Calls[r.call]
	if w := r.op(0); strings.HasPrefix(w, "!") { // what the command prints is edited
		c.add(codeEditor, r.call, r.words[r.ops[0]].Span, w)
	}
	if call.In == nil {
		for _, j := range call.PipeFrom { // echo '!date' | ed
			for k := range c.s.Calls[j].Words {
				if k > 0 && strings.Contains(c.s.Calls[j].Words[k].Value, "!") {
					c.addCall(codeEditor, r.call)
				}
			}
		}
		if len(call.PipeFrom) > 0 && len(r.ops) > 0 {
			r.effects |= inPlace
			c.addCall(writeInPlace, r.call)
		}
		return
	}
	text := false // between a, i or c and the lone dot
	for _, line := range strings.Split(call.In.Value, "\n") {
		line = strings.TrimSpace(line)
		if text {
			text = line != "."
			continue
		}
		cmd := strings.TrimLeft(line, "0123456789,$.+-;%")
		switch {
		case strings.HasPrefix(cmd, "!"), strings.HasPrefix(cmd, "r !"), strings.HasPrefix(cmd, "w !"), strings.HasPrefix(cmd, "e !"):
			c.add(codeEditor, r.call, call.In.Span, line)
		case strings.HasPrefix(cmd, "w"):
			if f := strings.TrimSpace(strings.TrimLeft(cmd[1:], "q")); f != "" {
				c.path(r, 'w', &shell.Word{Value: f, Prefix: f, Literal: true, Span: call.In.Span})
				c.addCall(writeFile, r.call)
			} else {
				r.effects |= inPlace
				c.addCall(writeInPlace, r.call)
			}
		case strings.HasSuffix(cmd, "a") || strings.HasSuffix(cmd, "i") || strings.HasSuffix(cmd, "c"):
			text = len(cmd) == 1
		}
	}
}
