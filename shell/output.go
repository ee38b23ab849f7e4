package shell

import (
	"encoding/base64"
	"encoding/hex"
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
		if r.Writes() && r.Op != "<>" && !strings.HasPrefix(r.Target.Value, "/dev/") {
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
	case "base64", "base32", "xxd", "rev", "tac", "basenc":
		return w.decoded(c)
	case "true", ":", "sleep", "cd", "set", "export":
		return "", true
	}
	return "", false
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
	case "xxd":
		out, err := hex.DecodeString(strings.Join(strings.Fields(in), ""))
		return string(out), decode && err == nil
	}
	return "", false
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
