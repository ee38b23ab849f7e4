package guard

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// control judges the command lines that change what the agent may do.
func (k *checker) control(i int, c *shell.Call, name string) {
	switch name {
	case "pepe":
		if !onlyHelp(c.Args()) && !k.isFunction(c, name) {
			k.report(wayPepe, i, "", spelledAll(c))
		}
	case "mix":
		if mixPepe(c.Args()) {
			k.report(wayPepe, i, "", spelledAll(c))
		} else {
			k.modules(i, c)
		}
	case "elixir", "iex", "erl":
		k.modules(i, c)
	case "sbx":
		if sbxControl(c.Args()) {
			k.report(wayControls, i, "", spelledAll(c))
		}
	}
}

// isFunction reports whether a bare name is a function of the text.
func (k *checker) isFunction(c *shell.Call, name string) bool {
	return strings.IndexByte(known(&c.Words[0]), '/') < 0 && k.shadowed(c, name)
}

func onlyHelp(args []shell.Word) bool {
	if len(args) != 1 {
		return false
	}
	switch args[0].Value {
	case "--help", "-h", "--version", "-v", "-V":
		return args[0].Literal
	}
	return false
}

// mixPepe reports whether mix runs the task pepe or pepe.NAME, also in a list
// behind do.
func mixPepe(args []shell.Word) bool {
	for j := range args {
		v := known(&args[j])
		if strings.HasPrefix(v, "-") {
			continue
		}
		if v == "do" {
			for _, w := range args[j+1:] {
				if isPepeTask(strings.TrimSuffix(known(&w), ",")) {
					return true
				}
			}
		}
		return isPepeTask(v)
	}
	return false
}

func isPepeTask(v string) bool { return v == "pepe" || strings.HasPrefix(v, "pepe.") }

// modules judges code given to elixir, iex, erl and mix run that names
// the agent's modules.
func (k *checker) modules(i int, c *shell.Call) {
	args := c.Args()
	for j := range args {
		v := known(&args[j])
		for _, name := range [...]string{"-e", "--eval", "-eval", "--rpc-eval", "-run", "eval"} {
			if text, ok := strings.CutPrefix(v, name+"="); ok && namesPepe(text) {
				k.report(wayModules, i, "", spelledAll(c))
				return
			}
			if v == name && j+1 < len(args) {
				for _, w := range args[j+1 : min(j+3, len(args))] { // --rpc-eval NODE CODE
					if namesPepe(known(&w)) {
						k.report(wayModules, i, "", spelledAll(c))
						return
					}
				}
			}
		}
	}
	if text, ok := k.input(c); ok && namesPepe(text) {
		k.report(wayModules, i, "", spelledAll(c))
	}
}

// namesPepe reports whether Elixir or Erlang code names a module below Pepe.
// What stands in a string is data, unless the string is evaluated or is a
// quoted atom.
func namesPepe(code string) bool {
	if strings.Contains(code, `Elixir.Pepe`) {
		return true
	}
	evaluated := strings.Contains(code, "Code.") || strings.Contains(code, "eval")
	quoted := false
	for j := 0; j < len(code); j++ {
		switch code[j] {
		case '\\':
			j++
			continue
		case '"':
			quoted = !quoted
		case '#':
			if j+1 < len(code) && code[j+1] == '{' {
				quoted = false // interpolation is code
			}
		}
		if (!quoted || evaluated) && strings.HasPrefix(code[j:], "Pepe.") && (j == 0 || !isNameByte(code[j-1])) {
			return true
		}
	}
	return false
}

func isNameByte(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' || c == '.' }

// input is the text on standard input where it is literal: a here-document, a
// here-string, or what echo, printf and cat print.
func (k *checker) input(c *shell.Call) (string, bool) {
	if c.In != nil {
		return c.In.Value, c.In.Literal || c.In.Guess
	}
	return k.printedBy(c.PipeFrom)
}

// printedBy is the text that calls print, where it is literal.
func (k *checker) printedBy(from []int) (string, bool) {
	if len(from) == 0 || len(from) > 256 {
		return "", false
	}
	var b strings.Builder
	for _, j := range from {
		p := k.at(j)
		switch program(p) {
		case "echo", "printf":
			b.WriteString(echoed(p))
		case "cat", "tee":
			if p.In != nil {
				b.WriteString(known(p.In))
			}
		}
		b.WriteByte('\n')
	}
	return b.String(), b.Len() > len(from)
}

// echoed is about what echo and printf print: the words without their options.
func echoed(c *shell.Call) string {
	var b strings.Builder
	args, escapes := c.Args(), c.Name() == "printf"
	for len(args) > 0 && len(args[0].Value) > 1 && args[0].Value[0] == '-' && strings.Trim(args[0].Value[1:], "neE-") == "" {
		escapes = escapes || strings.Contains(args[0].Value, "e")
		args = args[1:]
	}
	for n := range args {
		b.WriteString(known(&args[n]))
		b.WriteByte(' ')
	}
	if escapes {
		return strings.ReplaceAll(b.String(), `\n`, "\n")
	}
	return b.String()
}

// sbxControl reports whether a command line of sbx changes the sandbox, or runs
// without isolation.
func sbxControl(args []shell.Word) bool {
	o := options{args: args, long: "workspace backend timeout result allow-write allow-read hide env accept-gap net network shell cwd home file temp config agent project"}
	sub, second := "", ""
	none, fix, help := false, false, false
	for a, ok := o.next(); ok; a, ok = o.next() {
		switch {
		case a.operand() && sub == "":
			sub = known(a.value)
			o.stop = sub == "exec" || sub == "run"
		case a.operand() && second == "":
			second = known(a.value)
		case a.operand():
		case a.name == "backend" && a.value != nil:
			none = none || known(a.value) == "none"
		case a.name == "fix":
			fix = true
		case (a.name == "help" || a.name == "h") && sub != "exec" && sub != "run":
			help = true
		}
		if o.ended && (sub == "exec" || sub == "run") {
			break
		}
	}
	if help {
		return false
	}
	switch sub {
	case "setup", "approve", "deny", "approvals", "token", "config", "grants", "network", "image", "uninstall":
		return true
	case "hook", "wrapper":
		return second == "install" || second == "uninstall"
	case "cache":
		return second == "clear"
	case "doctor":
		return fix
	case "exec", "run":
		return none
	}
	return false
}

// spelledAll prints all words of a call, cut at a length that can be read.
func spelledAll(c *shell.Call) string {
	var b strings.Builder
	for j := range c.Words {
		if j > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(known(&c.Words[j]))
		if b.Len() > 120 {
			return b.String()[:120] + "…"
		}
	}
	return b.String()
}
