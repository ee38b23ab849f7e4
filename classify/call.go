package classify

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// call classifies one call: its place, its redirections, its variables, its
// program.
func (c *classifier) call(i int) {
	call := &c.s.Calls[i]
	if call.Background && !c.inheritsBackground(call) {
		c.addCall(backgroundJob, i)
	}
	for k := range call.Redirs {
		c.redirect(i, &call.Redirs[k])
	}
	for k := range call.Assigns {
		a := &call.Assigns[k]
		if a.Value.Eval || call.Decl && evaluated(a.Name) {
			c.add(codeAgain, i, a.Span, a.Name)
		}
		c.variable(i, a.Name, &a.Value, a.Span)
		if c.flows != nil && a.Value.Subs != nil {
			c.hold(a)
		}
	}
	for k := range call.Words {
		if call.Words[k].Eval {
			c.add(codeAgain, i, call.Words[k].Span, call.Words[k].Value)
		}
	}
	if len(call.Words) == 0 {
		return
	}
	w := &call.Words[0]
	if !w.Literal {
		c.add(unknownProgram, i, w.Span, c.text(i))
		if !w.Guess {
			return
		}
	}
	if evaluates(call) {
		c.addCall(codeAgain, i)
	}
	if c.saved != nil && strings.Contains(w.Value, "/") && w.Literal {
		if f := c.savedFlow(w, call.Dir); f != 0 {
			c.addCall(savedRun, i)
		}
	}
	r := &c.scratch
	r.reset(i, call.Words, call.Dir)
	c.program(r)
	c.substituted(i)
}

func (c *classifier) inheritsBackground(call *shell.Call) bool {
	if n := len(call.Carriers); n > 0 {
		return c.s.Calls[call.Carriers[n-1].Call].Background
	}
	return false
}

// redirect classifies a redirection.
func (c *classifier) redirect(i int, r *shell.Redir) {
	if r.Heredoc {
		if r.Target.Eval {
			c.add(codeAgain, i, r.Span, "")
		}
		return
	}
	dir := c.s.Calls[i].Dir
	if r.Writes() {
		c.write(writeRedirect, i, &r.Target, dir)
		c.keep(i, &r.Target, dir)
	} else if r.Reads() {
		c.read(i, &r.Target, dir)
	}
}

// write notes that a path is created or changed.
func (c *classifier) write(by rule, i int, w *shell.Word, dir string) {
	p, at := c.locate(w, dir)
	switch at {
	case nowhere:
		return
	case socket:
		c.add(netSocket, i, w.Span, w.Value)
		return
	case outside:
		c.add(writeOutside, i, w.Span, p)
	}
	if by != noRule {
		c.add(by, i, w.Span, w.Value)
	}
	c.uncertain = !w.Literal && w.Prefix == "" || dir == ""
	if c.trusted(p, at) {
		c.add(configPath, i, w.Span, w.Value)
	}
}

// changed notes that a path outside is changed or removed, whatever the tag
// of the act itself is.
func (c *classifier) changed(i int, w *shell.Word, dir string) {
	if p, at := c.locate(w, dir); at == outside {
		c.add(writeOutside, i, w.Span, p)
	}
}

// read notes that the content of a path is read.
func (c *classifier) read(i int, w *shell.Word, dir string) {
	p, at := c.locate(w, dir)
	switch at {
	case nowhere:
		return
	case socket:
		c.add(netSocket, i, w.Span, w.Value)
		c.carry(i, fromNetwork)
		return
	case outside:
		c.add(readOutside, i, w.Span, p)
	}
	if secret(p) {
		c.add(secretFile, i, w.Span, w.Value)
	}
	if c.saved != nil {
		c.carry(i, c.savedFlow(w, dir))
	}
}

// list notes that a path is looked at: its name, its size, what it contains
// by name.
func (c *classifier) list(i int, w *shell.Word, dir string) {
	if p, at := c.locate(w, dir); at == outside {
		c.add(readOutside, i, w.Span, p)
	}
}

// variable classifies NAME=VALUE before a command, or exported.
func (c *classifier) variable(i int, name string, v *shell.Word, sp shell.Span) {
	if len(name) < 3 || name[0] < 'A' || name[0] > 'Z' {
		return
	}
	if !programVariable(name) || v.Literal && (v.Value == "" || harmlessProgram(v.Value)) {
		return
	}
	switch name {
	case "NODE_OPTIONS":
		if !strings.Contains(v.Value, "require") && !strings.Contains(v.Value, "-r ") && !strings.Contains(v.Value, "import") && !strings.Contains(v.Value, "loader") {
			return
		}
	case "RUBYOPT", "PERL5OPT":
		if !strings.Contains(v.Value, "-r") && !strings.Contains(v.Value, "-M") && !strings.Contains(v.Value, "-m") && !strings.Contains(v.Value, "-I") {
			return
		}
	case "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS":
		if !strings.Contains(v.Value, "-javaagent") && !strings.Contains(v.Value, "-agent") && !strings.Contains(v.Value, "OnOutOfMemoryError") {
			return
		}
	}
	c.add(variableProgram, i, sp, name+"="+cut(v.Value))
}

// programVariable names the variables whose value is run or loaded by a
// program that starts (ld.so(8), git(1), bash(1), less(1), man(1) …).
func programVariable(name string) bool {
	switch name {
	case "LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH", "BASH_ENV", "ENV", "PROMPT_COMMAND", "PS4",
		"GIT_SSH_COMMAND", "GIT_SSH", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_ASKPASS", "GIT_PROXY_COMMAND",
		"PAGER", "MANPAGER", "EDITOR", "VISUAL", "SUDO_EDITOR", "SUDO_ASKPASS", "SSH_ASKPASS", "LESSOPEN", "LESSCLOSE", "BROWSER", "RSYNC_RSH", "CVS_RSH",
		"PYTHONSTARTUP", "PERL5OPT", "PERL5DB", "RUBYOPT", "NODE_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "PYTHONINSPECT",
		"RUSTC_WRAPPER", "TAR_OPTIONS", "GCONV_PATH", "MANROFFOPT", "ZDOTDIR_EVAL", "FZF_DEFAULT_COMMAND":
		return name != "ENV" && name != "PYTHONINSPECT" && name != "PS4" && name != "MANROFFOPT"
	}
	return false
}

// evaluates reports whether a builtin evaluates the subscript of a name in
// its words: printf -v 'a[$(x)]'.
func evaluates(call *shell.Call) bool {
	switch call.Words[0].Value {
	case "printf", "test", "[":
		for k := 1; k+1 < len(call.Words); k++ {
			if call.Words[k].Value == "-v" && evaluated(call.Words[k+1].Value) {
				return true
			}
		}
		return numeric(call.Words)
	case "unset", "read", "declare", "typeset", "local", "readonly", "export", "wait", "mapfile", "readarray", "getopts", "let":
		for k := 1; k < len(call.Words); k++ {
			if evaluated(call.Words[k].Value) {
				return true
			}
		}
	}
	return false
}

// numeric finds a re-evaluated operand of a numeric comparison of [ and test.
func numeric(words []shell.Word) bool {
	for k := 1; k+1 < len(words); k++ {
		switch words[k].Value {
		case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
			if evaluated(words[k-1].Value) || evaluated(words[k+1].Value) {
				return true
			}
		}
	}
	return false
}

func evaluated(name string) bool {
	i := strings.IndexByte(name, '[')
	return i > 0 && (strings.Contains(name[i:], "$(") || strings.Contains(name[i:], "`"))
}
