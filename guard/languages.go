package guard

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// interpreter is a program that gets code in another language.
type interpreter struct {
	lang  *lang
	short string // short options whose value is code
	long  string // long options whose value is code
	takes string // other short options with a value
	sub   string // a subcommand in front of the code: deno eval
	first bool   // the first operand is code: awk
	stdin bool   // without a script it reads code from standard input

	dashed string // a long option with one dash whose value is code
}

// languageOf finds an interpreter by its name without the version.
func languageOf(name string) (interpreter, bool) {
	switch strings.TrimRight(name, "0123456789.-") {
	case "python", "pypy", "ipython", "bpython", "jython", "micropython", "sage":
		return interpreter{lang: &lang{name: "python", hash: true}, short: "c", takes: "mWXQ", stdin: true}, true
	case "perl":
		return interpreter{lang: &lang{name: "perl", hash: true, dollar: true, backtick: 'x', bare: true, quoteOps: true, regexp: true}, short: "eE", takes: "IMm", stdin: true}, true
	case "ruby", "jruby", "irb":
		return interpreter{lang: &lang{name: "ruby", hash: true, hashExpr: true, backtick: 'x', bare: true, percent: true, regexp: true}, short: "e", takes: "rICW", stdin: true}, true
	case "node", "nodejs", "bun", "tsx", "ts-node", "qjs":
		return interpreter{lang: &lang{name: "js", slashes: true, backtick: 's', regexp: true}, short: "e", long: "eval print", takes: "rC", stdin: true}, true
	case "deno":
		return interpreter{lang: &lang{name: "js", slashes: true, backtick: 's', regexp: true}, sub: "eval", stdin: true}, true
	case "php":
		return interpreter{lang: &lang{name: "php", hash: true, slashes: true, dollar: true, backtick: 'x'}, short: "rBRE", long: "run", takes: "cdfz", stdin: true}, true
	case "lua", "luajit", "texlua":
		return interpreter{lang: &lang{name: "lua", bare: true}, short: "e", takes: "l", stdin: true}, true
	case "awk", "gawk", "mawk", "nawk", "original-awk", "goawk":
		return interpreter{lang: &lang{name: "awk", hash: true, regexp: true}, short: "e", long: "source", takes: "Fvfi", first: true}, true
	case "R", "r", "Rscript", "littler":
		return interpreter{lang: &lang{name: "r", hash: true}, short: "e", stdin: true}, true
	case "elixir", "iex":
		return interpreter{lang: &lang{name: "elixir", hash: true, hashExpr: true, bare: true}, short: "e", long: "eval rpc-eval", takes: "rSp", stdin: true}, true
	case "mix":
		return interpreter{lang: &lang{name: "elixir", hash: true, hashExpr: true, bare: true}, short: "e", long: "eval", takes: "rSp", sub: "run"}, true
	case "osascript":
		return interpreter{lang: &lang{name: "applescript", bare: true}, short: "e", takes: "ls", stdin: true}, true
	case "pwsh", "powershell":
		return interpreter{lang: &lang{name: "powershell"}}, true
	case "groovy", "jshell", "scala", "kotlin":
		return interpreter{lang: &lang{name: "groovy", slashes: true}, short: "e"}, true
	case "julia":
		return interpreter{lang: &lang{name: "julia", hash: true, dollar: true, backtick: 'x'}, short: "eE", long: "eval print", stdin: true}, true
	case "expect", "tclsh":
		return interpreter{lang: &lang{name: "tcl", hash: true, bare: true}, short: "c", stdin: true}, true
	case "ghci", "ghc", "runghc":
		return interpreter{lang: &lang{name: "haskell", bare: true}, short: "e"}, true
	case "raku", "perl6":
		return interpreter{lang: &lang{name: "raku", hash: true, dollar: true, bare: true, quoteOps: true}, short: "e", stdin: true}, true
	case "ocaml":
		return interpreter{lang: &lang{name: "ocaml", bare: true}, short: "e", stdin: true}, true
	case "clojure", "clj", "bb", "babashka":
		return interpreter{lang: &lang{name: "clojure", bare: true}, short: "e", long: "eval", stdin: true}, true
	case "guile", "racket":
		return interpreter{lang: &lang{name: "lisp", bare: true}, short: "ce", long: "eval", stdin: true}, true
	case "swipl":
		return interpreter{lang: &lang{name: "prolog"}, short: "gt"}, true
	case "octave":
		return interpreter{lang: &lang{name: "octave"}, long: "eval", stdin: true}, true
	case "gnuplot":
		return interpreter{lang: &lang{name: "gnuplot", hash: true, bare: true, backtick: 'x'}, short: "e", stdin: true}, true
	case "gjs":
		return interpreter{lang: &lang{name: "js", slashes: true, backtick: 's', regexp: true}, short: "c", long: "command", stdin: true}, true
	case "mongosh", "mongo":
		return interpreter{lang: &lang{name: "js", slashes: true, backtick: 's', regexp: true}, long: "eval", stdin: true}, true
	case "rails":
		return interpreter{lang: &lang{name: "ruby", hash: true, hashExpr: true, backtick: 'x', bare: true, percent: true, regexp: true}, sub: "runner"}, true
	case "erl":
		return interpreter{lang: &lang{name: "erl"}, dashed: "-eval"}, true
	case "emacs":
		return interpreter{lang: &lang{name: "lisp", bare: true}, long: "eval execute"}, true
	}
	return interpreter{}, false
}

// embedded judges the literal code that an interpreter gets.
func (k *checker) embedded(i int, c *shell.Call, name string) {
	in, ok := languageOf(name)
	switch {
	case !ok:
		return
	case in.lang.name == "powershell":
		k.powershell(i, c)
		return
	}
	for j, w := range c.Args() {
		if in.dashed != "" && known(&w) == in.dashed && j+1 < len(c.Args()) {
			k.scan(i, c, in.lang, k.source(&c.Args()[j+1]))
		}
	}
	o := options{args: c.Args(), takes: in.short + in.takes, long: in.long, stop: true}
	script := false
	for a, more := o.next(); more; a, more = o.next() {
		switch {
		case a.operand() && literal(a.value, "-"):
		case a.operand() && in.sub != "" && literal(a.value, in.sub):
			o.ended, in.first = false, name != "mix"
			in.sub = ""
		case in.lang.name == "js" && a.name == "p" && !a.long: // node -p CODE
			in.first = true
		case a.operand() && k.scanWritten(i, c, in.lang, a.value) && !in.first:
			script = true
		case a.operand() && in.first && !script:
			script = true
			k.scan(i, c, in.lang, k.source(a.value))
		case a.operand():
			script = true
		case a.value != nil && (!a.long && strings.Contains(in.short, a.name) || a.long && listed(in.long, a.name)):
			script = true
			k.scan(i, c, in.lang, k.source(a.value))
			if in.lang.name == "python" {
				return // what follows are arguments
			}
		}
		if script && in.lang.name != "perl" && in.lang.name != "ruby" && in.lang.name != "elixir" && o.ended {
			break
		}
	}
	if !script && in.stdin {
		if text, ok := k.input(c); ok {
			k.scan(i, c, in.lang, text)
		}
	}
}

// powershell reads what stands behind -Command like a shell: its aliases and
// options are close enough for Remove-Item -Recurse and Stop-Computer.
func (k *checker) powershell(i int, c *shell.Call) {
	args := c.Args()
	for j := range args {
		v := strings.ToLower(known(&args[j]))
		if len(v) > 1 && (v[0] == '-' || v[0] == '/') && strings.HasPrefix("command", v[1:]) {
			var text strings.Builder
			for _, w := range args[j+1:] {
				text.WriteString(k.source(&w) + " ")
			}
			k.runText(i, c, c.Dir, text.String())
			return
		}
	}
}

// source is the code in a word, with holes for what the shell inserts.
func (k *checker) source(w *shell.Word) string {
	if w.Literal || w.Guess {
		return w.Value
	}
	src := k.s.Slice(w.Span)
	if len(src) < 2 || src[0] != '"' || src[len(src)-1] != '"' {
		return w.Value[:len(w.Prefix)]
	}
	src = src[1 : len(src)-1]
	var b strings.Builder
	for j := 0; j < len(src); j++ {
		switch c := src[j]; {
		case c == '\\' && j+1 < len(src) && strings.IndexByte("\"$`\\", src[j+1]) >= 0:
			j++
			b.WriteByte(src[j])
		case c == '$' && j+1 < len(src) && (src[j+1] == '{' || src[j+1] == '('):
			_, end, ok := bracketed(src, j+1)
			if !ok {
				return b.String()
			}
			b.WriteString(hole)
			j = end - 1
		case c == '$' && j+1 < len(src) && (isLetter(src[j+1]) || src[j+1] == '_'):
			for j+1 < len(src) && (isLetter(src[j+1]) || isDigit(src[j+1]) || src[j+1] == '_') {
				j++
			}
			b.WriteString(hole)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
