package shell

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"path"
	"strings"
)

// maxOutput bounds the text that is computed for the output of a command.
const maxOutput = 1 << 16

// output is what a list of calls prints, when the text shows it: echo, printf
// and cat of a here-document with literal words, and decoders behind them.
func (w *walker) output(idx []int) (string, bool) {
	var b strings.Builder
	for _, i := range idx {
		if w.isCarrier(i, idx) || w.pipedInto(i, idx) {
			continue
		}
		s, ok := w.outputOf(i)
		if !ok || b.Len()+len(s) > maxOutput {
			return "", false
		}
		b.WriteString(s)
	}
	return b.String(), b.Len() > 0
}

func (w *walker) isCarrier(i int, idx []int) bool {
	for _, j := range idx {
		for _, c := range w.r.s.Calls[j].Carriers {
			if c.Call == i {
				return true
			}
		}
	}
	return false
}

func (w *walker) pipedInto(i int, idx []int) bool {
	for _, to := range w.r.s.Calls[i].PipeTo {
		for _, j := range idx {
			if to == j {
				return true
			}
		}
	}
	return false
}

func (w *walker) outputOf(i int) (string, bool) {
	c := &w.r.s.Calls[i]
	for _, r := range c.Redirs {
		if r.Writes() && r.Op != "<>" && !strings.HasPrefix(r.Target.Value, "/dev/") && r.Target.Proc == 0 {
			return "", false
		}
	}
	args := c.Args()
	switch c.Name() {
	case "echo":
		return formatEcho(args)
	case "printf":
		return formatPrintf(args)
	case "pwd":
		return c.Dir, c.Dir != ""
	case "cat", "tee":
		if len(args) == 0 || len(args) == 1 && args[0].Value == "-" || c.Name() == "tee" {
			return w.input(c)
		}
		return w.joined(c)
	case "base64", "base32", "xxd", "rev", "tac", "basenc", "openssl", "tr":
		return w.decoded(c)
	case "dirname", "basename", "realpath", "readlink", "whoami", "git":
		return w.named(c)
	case "true", ":", "sleep", "cd", "set", "export":
		return "", true
	}
	return "", false
}

// joined is what cat prints of process substitutions and standard input.
func (w *walker) joined(c *Call) (string, bool) {
	var b strings.Builder
	for _, a := range c.Args() {
		text, ok := "", false
		switch {
		case a.Proc == '<':
			text, ok = w.output(a.Subs)
		case a.Value == "-":
			text, ok = w.input(c)
		}
		if !ok || b.Len()+len(text) > maxOutput {
			return "", false
		}
		b.WriteString(text)
	}
	return b.String(), true
}

// input is the text on a call's standard input, when it is known.
func (w *walker) input(c *Call) (string, bool) {
	if c.In != nil {
		return c.In.Value, c.In.Literal || c.In.Guess
	}
	if len(c.PipeFrom) == 0 {
		return "", false
	}
	return w.output(c.PipeFrom)
}

func (w *walker) decoded(c *Call) (string, bool) {
	in, ok := w.input(c)
	if !ok {
		return "", false
	}
	decode := false
	for _, a := range c.Args() {
		switch {
		case a.Value == "--decode" || a.Value == "-D":
			decode = true
		case len(a.Value) > 1 && a.Value[0] == '-' && a.Value[1] != '-' && strings.ContainsAny(a.Value, "dr"):
			decode = true
		}
	}
	in = strings.TrimSpace(in)
	switch c.Name() {
	case "rev":
		r := []rune(in)
		for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
			r[i], r[j] = r[j], r[i]
		}
		return string(r), true
	case "base64":
		if !decode {
			return "", false
		}
		// GNU base64 decodes what comes before an error, padding or not.
		out, _ := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.Join(strings.Fields(in), ""), "="))
		return string(out), len(out) > 0
	case "base32":
		out, _ := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.TrimRight(strings.Join(strings.Fields(in), ""), "="))
		return string(out), decode && len(out) > 0
	case "openssl":
		args := c.Args()
		if !decode || len(args) == 0 || args[0].Value != "base64" && !(args[0].Value == "enc" && (hasWord(args, "-base64") || hasWord(args, "-a"))) {
			return "", false
		}
		out, _ := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.Join(strings.Fields(in), ""), "="))
		return string(out), len(out) > 0
	case "tr":
		return translate(in, c.Args())
	case "xxd":
		out, err := hex.DecodeString(strings.Join(strings.Fields(in), ""))
		return string(out), decode && err == nil
	}
	return "", false
}

func hasWord(args []Word, v string) bool {
	for _, a := range args {
		if a.Value == v {
			return true
		}
	}
	return false
}

// named is the path or name that a command prints about its operand.
func (w *walker) named(c *Call) (string, bool) {
	args := c.Args()
	name := c.Name()
	switch {
	case name == "whoami":
		user := w.r.s.Where.user()
		return user, user != ""
	case name == "git": // the workspace is taken for the top of its repository
		root := w.r.s.Where.Workspace
		if root == "" {
			root = w.r.s.Where.Cwd
		}
		return root, len(args) == 2 && args[0].Value == "rev-parse" && args[1].Value == "--show-toplevel" && root != "" &&
			(c.Dir == root || strings.HasPrefix(c.Dir, root+"/"))
	case len(args) == 0 || !literals(args):
		return "", false
	}
	operand := args[len(args)-1].Value
	if strings.HasPrefix(operand, "-") || operand == "" || strings.Contains(operand, "{}") {
		return "", false
	}
	switch name {
	case "dirname":
		return path.Dir(strings.TrimRight(operand, "/")), strings.TrimRight(operand, "/") != "" && len(args) == 1
	case "basename":
		return path.Base(operand), len(args) == 1
	case "readlink":
		if len(args) == 1 {
			return "", false // what a link holds
		}
	}
	out := join(c.Dir, operand)
	return out, out != ""
}

// translate is tr SET1 SET2 and tr -d SET1, with ranges and the classes for case.
func translate(in string, args []Word) (string, bool) {
	remove := len(args) == 2 && args[0].Value == "-d"
	if !literals(args) || len(args) != 2 || !remove && strings.HasPrefix(args[0].Value, "-") {
		return "", false
	}
	from, ok := charSet(args[len(args)-1].Value)
	if remove {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(from, r) {
				return -1
			}
			return r
		}, in), ok
	}
	to := from
	from, ok2 := charSet(args[0].Value)
	if !ok || !ok2 || to == "" {
		return "", false
	}
	return strings.Map(func(r rune) rune {
		if i := strings.IndexRune(from, r); i >= 0 && r < 0x80 {
			return rune(to[min(i, len(to)-1)])
		}
		return r
	}, in), true
}

func charSet(set string) (string, bool) {
	set = strings.NewReplacer("[:upper:]", "A-Z", "[:lower:]", "a-z", "[:digit:]", "0-9").Replace(decodeANSIC(set))
	var b strings.Builder
	for i := 0; i < len(set); i++ {
		switch {
		case set[i] >= 0x80 || strings.HasPrefix(set[i:], "[:") || strings.HasPrefix(set[i:], "[="):
			return "", false
		case i+2 < len(set) && set[i+1] == '-' && set[i] < set[i+2]:
			for x := set[i]; x <= set[i+2]; x++ {
				b.WriteByte(x)
			}
			i += 2
		default:
			b.WriteByte(set[i])
		}
	}
	return b.String(), true
}

func literals(args []Word) bool {
	for _, a := range args {
		if !a.Literal && !a.Guess {
			return false
		}
	}
	return true
}

func formatEcho(args []Word) (string, bool) {
	if !literals(args) {
		return "", false
	}
	escapes, newline := false, true
	for len(args) > 0 && len(args[0].Value) > 1 && args[0].Value[0] == '-' && strings.Trim(args[0].Value[1:], "neE") == "" {
		escapes = escapes || strings.Contains(args[0].Value, "e")
		newline = newline && !strings.Contains(args[0].Value, "n")
		args = args[1:]
	}
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a.Value
	}
	s := strings.Join(out, " ")
	if escapes {
		s = decodeANSIC(s)
	}
	if newline {
		s += "\n"
	}
	return s, true
}

// formatPrintf handles %s, %b, %d, %% and escapes; anything else is unknown.
func formatPrintf(args []Word) (string, bool) {
	if len(args) == 0 || !literals(args) {
		return "", false
	}
	if args[0].Value == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return "", false
	}
	format, rest := decodeANSIC(args[0].Value), args[1:]
	var b strings.Builder
	for {
		used := 0
		for i := 0; i < len(format); i++ {
			if format[i] != '%' || i+1 == len(format) {
				b.WriteByte(format[i])
				continue
			}
			i++
			switch format[i] {
			case '%':
				b.WriteByte('%')
			case 's', 'd', 'b':
				if used < len(rest) {
					arg := rest[used].Value
					if format[i] == 'b' {
						arg = decodeANSIC(arg)
					}
					b.WriteString(arg)
				}
				used++
			default:
				return "", false
			}
		}
		if used == 0 || used >= len(rest) {
			return b.String(), true
		}
		rest = rest[used:]
	}
}
