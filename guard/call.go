package guard

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// call judges one call: its redirections, then its program.
func (k *checker) call(i int) {
	c := &k.s.Calls[i]
	for r := range c.Redirs {
		if c.Redirs[r].Writes() {
			k.writes(i, c, &c.Redirs[r].Target)
		}
	}
	if len(c.Assigns) > 0 {
		k.assigned(i, c)
	}
	name := k.programOf(c)
	if len(c.Redirs) > 0 || name == "tee" {
		k.noteWritten(i, c, name)
	}
	if len(k.written) > 0 && len(c.Words) > 0 && strings.IndexByte(c.Words[0].Value, '/') >= 0 {
		k.runWritten(i, c, &c.Words[0])
	}
	if name == "ln" || name == "gln" {
		k.noteLink(c)
		return
	}
	switch familyOf(name) {
	case removers:
		k.remove(i, c, name)
	case finders:
		k.find(i, c)
	case modes:
		k.mode(i, c, strings.TrimPrefix(name, "g"))
	case movers:
		k.move(i, c)
	case copiers:
		k.copyTo(i, c)
	case cleaners:
		k.clean(i, c)
		k.options(i, c, name)
	case syncers:
		k.sync(i, c)
		k.options(i, c, name)
	case archivers:
		k.archive(i, c)
		k.options(i, c, name)
	case writers:
		k.writesOperands(i, c)
	case dds:
		k.dd(i, c)
	case shells:
		k.guessedText(i, c, name)
	case formatters:
		k.format(i, c, name)
	case powers:
		k.power(i, c, name)
	case controls:
		k.control(i, c, name)
		k.embedded(i, c, name)
	case languages:
		k.embedded(i, c, name)
	case hosts:
		k.options(i, c, name)
	}
}

// program is the name of the program, also when it is only what the text lets
// one expect: ${x:-rm}, $(echo rm). Where case does not matter /BIN/RM is rm.
func program(c *shell.Call) string {
	if len(c.Words) == 0 || !c.Words[0].Literal && !c.Words[0].Guess || c.Words[0].Glob {
		return ""
	}
	name := c.Words[0].Value
	name = name[strings.LastIndexByte(name, '/')+1:]
	for j := 0; j < len(name); j++ {
		if 'a' <= name[j] && name[j] <= 'z' {
			return name
		}
	}
	return strings.ToLower(name)
}

// programOf is the program, also when it is $(which rm) or $(command -v rm).
func (k *checker) programOf(c *shell.Call) string {
	if name := program(c); name != "" {
		return name
	}
	if len(c.Words) == 0 || c.Words[0].Value != "" || len(c.Words[0].Subs) != 1 {
		return ""
	}
	sub := k.at(c.Words[0].Subs[0])
	switch sub.Name() {
	case "which", "command", "type", "whereis", "readlink", "realpath":
		if args := sub.Args(); len(args) > 0 && args[len(args)-1].Literal {
			v := args[len(args)-1].Value
			return v[strings.LastIndexByte(v, '/')+1:]
		}
	}
	return ""
}

// guessedText judges eval and sh -c of text that is not literal but known:
// eval "$(echo …)", and shells that read a process substitution.
func (k *checker) guessedText(i int, c *shell.Call, name string) {
	args := c.Args()
	switch name {
	case "su", "sudo", "doas":
		k.rootShell(i, c, name)
		return
	}
	literal := true
	var text strings.Builder
	for j := range args {
		w := &args[j]
		switch {
		case name != "eval" && len(k.written) > 0 && k.runWritten(i, c, w):
			return
		case w.Proc == '<':
			if out, ok := k.printedBy(w.Subs); ok && name != "eval" {
				k.runText(i, c, c.Dir, out)
			}
			return
		case name == "eval":
			literal = literal && w.Literal
			if v, ok := certain(k.s, w); ok {
				text.WriteString(v + " ")
			} else {
				text.WriteString(hole + " ")
			}
		case name != "source" && name != "." && w.Guess && !w.Literal && j > 0 && strings.HasSuffix(args[j-1].Value, "c"):
			k.runText(i, c, c.Dir, w.Value)
			return
		}
	}
	if !literal {
		k.runText(i, c, c.Dir, text.String())
	}
}

// rootShell judges what a shell of su, sudo -i or sudo -s reads.
func (k *checker) rootShell(i int, c *shell.Call, name string) {
	if name != "su" {
		o := options{args: c.Args(), takes: "ughpCrtTUDRa", long: "user group", stop: true}
		login := false
		for a, ok := o.next(); ok && !a.operand(); a, ok = o.next() {
			login = login || a.is('i', "login") || a.is('s', "shell")
		}
		if !login {
			return
		}
	}
	if i+1 < len(k.s.Calls) && carries(&k.s.Calls[i+1], i) {
		return // it runs a command, and that reads its input
	}
	if text, ok := k.input(c); ok {
		k.runText(i, c, c.Dir, text)
	}
}

// spelled prints the program with its options and the one operand that matters.
func spelled(c *shell.Call, object string) string {
	var b strings.Builder
	b.WriteString(known(&c.Words[0]))
	for j := 1; j < len(c.Words) && b.Len() < 60; j++ {
		if v := known(&c.Words[j]); len(v) > 1 && v[0] == '-' && v != "--" {
			b.WriteByte(' ')
			b.WriteString(v)
		}
	}
	if object != "" {
		b.WriteByte(' ')
		b.WriteString(object)
	}
	return b.String()
}

func (k *checker) reportPlace(w way, i int, at place, shown string) {
	what := at.String()
	if shown != "" && at != rootList && at != rootDir {
		what = shown + " (" + what + ")"
	}
	k.report(w, i, what, spelled(&k.s.Calls[i], shown))
}
