package guard

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// certain gives the value of a word when all of it is known, or when what is
// not known has a default that the text shows: ${x:-/}, $(echo /).
func certain(s *shell.Script, w *shell.Word) (string, bool) {
	if w.Literal {
		return w.Value, true
	}
	if !w.Guess || len(w.Vars) > 0 {
		return "", false
	}
	// ${PREFIX:-/usr}/$name is /usr/ plus something: then the text goes on
	// behind the last slash of the value.
	if strings.HasSuffix(w.Value, "/") && (len(w.Subs) == 0 || len(w.Value) > 1) {
		src := strings.TrimRight(s.Slice(w.Span), "\"'`)} ")
		if strings.IndexByte(src, '/') >= 0 && !strings.HasSuffix(src, "/") {
			return "", false
		}
	}
	return w.Value, true
}

// unsetRoot reports whether a word is / or /* as soon as a variable is empty
// that the text never sets, never tests and does not protect by ${x:?}:
// "$UNSET/", "$UNSET"/*. A word that ends in a variable is not meant.
func (k *checker) unsetRoot(i int, w *shell.Word) bool {
	if w.Literal || w.Guess || len(w.Vars) == 0 || len(w.Subs) > 0 || !strings.HasPrefix(w.Value, "/") {
		return false
	}
	rest := strings.TrimLeft(w.Value, "/")
	if rest != "" && rest != "." && !(w.Glob && matchesAll(rest)) {
		return false
	}
	// The word must be the variables and then the slash: a word that ends in
	// an unknown is not meant, and braces make several words of one source.
	src := strings.NewReplacer(`"`, "", `\`, "").Replace(k.s.Slice(w.Span))
	for _, name := range w.Vars {
		switch {
		case name[0] >= '0' && name[0] <= '9' || name[0] == '@' || name[0] == '*':
			if !k.noParameters(&k.s.Calls[i]) {
				return false // a parameter: the caller gives it
			}
		case name == "TMP" || name == "TEMP" || name == "TEMPDIR":
			return false // set by the session
		}
		after, ok := strings.CutPrefix(src, "$"+name)
		if !ok {
			after, ok = strings.CutPrefix(src, "${"+name+"}")
		}
		if !ok || k.mayBeSet(i, name) {
			return false
		}
		src = after
	}
	return src == w.Value || strings.HasPrefix(src, "/{")
}

// noParameters reports whether a call stands in the text of sh -c, where a
// parameter that was not given is empty.
func (k *checker) noParameters(c *shell.Call) bool {
	if len(c.Carriers) == 0 {
		return false
	}
	by := c.Carriers[len(c.Carriers)-1]
	if by.Via != shell.ViaText || k.at(by.Call).More || k.at(by.Call).Func != c.Func {
		return false
	}
	switch by.Name {
	case "sh", "bash", "dash", "zsh", "ksh":
		return true
	}
	return false
}

// maxUnset bounds the search for what may set a variable. Words beyond it are
// taken as unset.
const maxUnset = 100

// mayBeSet reports whether something before call i gives the variable a value
// that the reader cannot see, tests it, or stops the shell when it is unset.
func (k *checker) mayBeSet(i int, name string) bool {
	if k.unset++; k.unset > maxUnset {
		return false
	}
	for j := range k.s.Calls[:i] {
		c := &k.s.Calls[j]
		switch c.Name() {
		case "source", ".":
			return true
		case "eval":
			if !carries(&k.s.Calls[i], j) {
				return true
			}
		case "set":
			if setsNounset(c.Args()) {
				return true
			}
		case "[", "test":
			for n := range c.Words {
				if listedIn(c.Words[n].Vars, name) {
					return true
				}
			}
		}
	}
	for _, by := range k.s.Calls[i].Carriers { // bash -u -c …
		if by.Via == shell.ViaText && setsNounset(k.at(by.Call).Args()) {
			return true
		}
	}
	return testedBefore(k.s.Text[:min(k.s.Calls[i].Span.Start, len(k.s.Text))], name)
}

// carries reports whether call j is a carrier of c.
func carries(c *shell.Call, j int) bool {
	for _, by := range c.Carriers {
		if by.Call == j {
			return true
		}
	}
	return false
}

func setsNounset(args []shell.Word) bool {
	for n, a := range args {
		v := a.Value
		if v == "nounset" && n > 0 && args[n-1].Value == "-o" || v == "-onounset" {
			return true
		}
		if len(v) > 1 && v[0] == '-' && v[1] != '-' && strings.IndexByte(v, 'u') > 0 {
			return true
		}
		if v == "-c" {
			return false
		}
	}
	return false
}

// testedBefore looks for [[ -n $name ]] and its kin, which are no calls.
func testedBefore(text, name string) bool {
	for {
		open := strings.Index(text, "[[ ")
		if open < 0 {
			return false
		}
		text = text[open+3:]
		inside := text
		if end := strings.Index(text, " ]]"); end >= 0 {
			inside = text[:end]
		}
		if strings.Contains(inside, "$"+name) || strings.Contains(inside, "${"+name) || strings.Contains(inside, "-v "+name) {
			return true
		}
	}
}

func listedIn(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}
