package classify

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// runsOther handles the programs that run another command: what that one does
// is said by its own call, here is what the carrier adds.
func (c *classifier) runsOther(r *reading, s special) bool {
	switch s {
	case sudoCommand:
		c.addCall(elevate, r.call)
		c.assignments(r, 0)
	case suCommand:
		c.addCall(elevate, r.call)
		c.codeValue(r, "c command session-command")
	case envCommand:
		c.env(r)
	case nohupCommand:
		if len(r.ops) > 0 {
			c.addCall(backgroundDetached, r.call)
		}
	case setsidCommand:
		if len(r.ops) > 0 {
			c.addCall(backgroundDetached, r.call)
		}
	case nsenterCommand:
		c.addCall(elevate, r.call)
	case watchCommand:
		if !r.has("x exec") {
			c.textOperands(r, 0)
		}
	case flockCommand:
		if len(r.ops) > 0 && strings.ContainsAny(r.op(0), "/.") {
			c.path(r, 'o', &r.words[r.ops[0]])
		}
		c.codeValue(r, "c command")
	case scriptCommand:
		c.codeValue(r, "c command")
		if len(r.ops) == 0 || r.op(0) != "/dev/null" {
			c.addCall(writeFile, r.call)
		}
	case straceCommand:
		if w, ok := r.value("o output"); ok && (strings.HasPrefix(w.Value, "|") || strings.HasPrefix(w.Value, "!")) {
			c.add(optionProgram, r.call, w.Span, w.Value)
		} else if ok {
			c.path(r, 'w', &w)
		}
	case xargsCommand:
		c.xargs(r)
	case atCommand:
		c.at(r)
	case screenCommand:
		if (r.has("d D") || r.has("dm")) && (r.has("m") || r.has("S")) {
			c.addCall(backgroundDetached, r.call)
		}
	case tmuxCommand:
		c.tmux(r)
	case startDaemon, systemdRun:
		if s == systemdRun && !r.has("scope wait P pipe t pty S shell") {
			c.addCall(backgroundDetached, r.call)
		}
		if s == systemdRun && r.has("on-active on-boot on-startup on-unit-active on-calendar") {
			c.addCall(backgroundLater, r.call)
		}
	case trapCommand:
		if n := len(r.words); n > 2 && !r.words[1].Literal && !strings.HasPrefix(r.words[1].Value, "-") {
			c.add(codeText, r.call, r.words[1].Span, c.text(r.call))
		}
	case gdbCommand:
		for _, o := range r.opts {
			if o.word >= 0 && listed("ex iex eval-command", o.name) {
				if v := r.word(o).Value; strings.HasPrefix(v, "shell ") || strings.HasPrefix(v, "!") || strings.HasPrefix(v, "python ") || strings.HasPrefix(v, "call ") || strings.HasPrefix(v, "py ") {
					c.addCall(codeOption, r.call)
				}
			}
		}
	default:
		return false
	}
	return true
}

// codeValue notes program text in an option that is not known to the letter.
func (c *classifier) codeValue(r *reading, names string) {
	if w, ok := r.value(names); ok {
		c.shellText(r, &w)
	}
}

// textOperands judges operands that are joined to program text.
func (c *classifier) textOperands(r *reading, n int) {
	for _, k := range r.ops[min(n, len(r.ops)):] {
		c.shellText(r, &r.words[k])
	}
}

// shellText judges text that a shell is given: literal text has calls of its
// own in the script.
func (c *classifier) shellText(r *reading, w *shell.Word) {
	if !w.Literal {
		c.add(codeText, r.call, w.Span, c.text(r.call))
		c.runs(r.call, w.Span, c.word(w))
	}
}

// assignments judges NAME=VALUE operands before the command of env and sudo,
// from the n-th operand on. It returns the number of the first other operand.
func (c *classifier) assignments(r *reading, n int) int {
	for ; n < len(r.ops); n++ {
		w := &r.words[r.ops[n]]
		name, _, ok := strings.Cut(w.Value, "=")
		if !ok || name == "" || strings.ContainsAny(name, "/ ") {
			break
		}
		v := tail(*w, len(name)+1)
		c.variable(r.call, name, &v, w.Span)
	}
	return n
}

// env prints the environment when it is given no command.
func (c *classifier) env(r *reading) {
	n := c.assignments(r, 0)
	if n < len(r.ops) || r.has("S split-string") {
		return
	}
	if r.has("i ignore-environment") || len(r.ops) > 0 && r.op(0) == "-" {
		return
	}
	c.addCall(secretEnvironment, r.call)
}

// xargs runs what it reads when it is given a shell and nothing else.
func (c *classifier) xargs(r *reading) {
	if len(r.ops) == 0 {
		return
	}
	name := base(r.op(0))
	p := lookup(name)
	if p == nil || p.does != shellCommand && p.does != interpreter {
		return
	}
	args := r.words[r.ops[0]+1:]
	if len(args) == 0 || len(args) == 1 && args[0].Value == "-c" {
		c.addCall(codeStdin, r.call)
		c.runs(r.call, c.s.Calls[r.call].Span, c.stdin(r.call))
		return
	}
	mark := "{}"
	if w, ok := r.value("I i replace"); ok && w.Value != "" {
		mark = w.Value
	}
	for k := range args {
		if args[k].Value == mark && k > 0 && strings.HasPrefix(args[k-1].Value, "-") && strings.HasSuffix(args[k-1].Value, "c") {
			c.addCall(codeStdin, r.call)
			c.runs(r.call, c.s.Calls[r.call].Span, c.stdin(r.call))
		}
	}
}

// at runs commands later; listing and removing them carries no tag.
func (c *classifier) at(r *reading) {
	if r.has("l r d c V") {
		return
	}
	c.addCall(backgroundLater, r.call)
}

func (c *classifier) tmux(r *reading) {
	for n := range r.ops {
		switch r.op(n) {
		case "new-session", "new":
			for _, k := range r.ops[n:] {
				if v := r.words[k].Value; len(v) > 1 && v[0] == '-' && v[1] != '-' && strings.Contains(v, "d") && !strings.ContainsAny(v, "=") {
					c.addCall(backgroundDetached, r.call)
					return
				}
			}
			return
		case "send-keys", "send":
			for _, k := range r.ops[n+1:] {
				if v := r.words[k].Value; v == "Enter" || v == "C-m" || v == "KPEnter" {
					c.addCall(codeClient, r.call)
					return
				}
			}
			return
		}
	}
}
