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
	src := strings.ReplaceAll(strings.ReplaceAll(k.s.Slice(w.Span), `"`, ""), `\`, "")
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

// maxUnset bounds the searches for what may set a variable, one for each name.
// Names beyond it are taken as unset.
const maxUnset = 100

// unsetMemo remembers where a script gives values that the reader cannot see:
// by sourcing a file, or for one name by a test. -1 is nowhere.
type unsetMemo struct {
	searched bool
	opaque   int // source, ., set -u
	evals    int

	name     string
	tested   int
	searches int
}

// mayBeSet reports whether something before call i gives the variable a value
// that the reader cannot see, tests it, or stops the shell when it is unset.
func (k *checker) mayBeSet(i int, name string) bool {
	m := &k.unset
	if !m.searched {
		*m = unsetMemo{searched: true, opaque: k.firstCall(setsUnseen), evals: k.firstCall(isEval), tested: -1}
	}
	if m.opaque >= 0 && m.opaque < i || m.evals >= 0 && m.evals < i && !carries(&k.s.Calls[i], m.evals) {
		return true
	}
	for _, by := range k.s.Calls[i].Carriers { // bash -u -c …
		if by.Via == shell.ViaText && setsNounset(k.at(by.Call).Args()) {
			return true
		}
	}
	if m.name != name {
		if m.searches++; m.searches > maxUnset {
			return false
		}
		m.name, m.tested = name, k.firstCall(func(c *shell.Call) bool { return tests(c, name) })
	}
	if m.tested >= 0 && m.tested < i {
		return true
	}
	return k.testedBefore(i, name)
}

func (k *checker) firstCall(is func(*shell.Call) bool) int {
	for j := range k.s.Calls {
		if is(&k.s.Calls[j]) {
			return j
		}
	}
	return -1
}

func setsUnseen(c *shell.Call) bool {
	switch c.Name() {
	case "source", ".":
		return true
	case "set":
		return setsNounset(c.Args())
	}
	return false
}

func isEval(c *shell.Call) bool { return c.Name() == "eval" }

func tests(c *shell.Call, name string) bool {
	if n := c.Name(); n != "[" && n != "test" {
		return false
	}
	for n := range c.Words {
		if listedIn(c.Words[n].Vars, name) {
			return true
		}
	}
	return false
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
func (k *checker) testedBefore(i int, name string) bool {
	text := k.s.Text[:min(k.s.Calls[i].Span.Start, len(k.s.Text))]
	for {
		open := strings.LastIndex(text, "[[ ") // the nearest is the likeliest
		if open < 0 {
			return false
		}
		inside := text[open+3:]
		if end := strings.Index(inside, " ]]"); end >= 0 {
			inside = inside[:end]
		}
		if strings.Contains(inside, "$"+name) || strings.Contains(inside, "${"+name) || strings.Contains(inside, "-v "+name) {
			return true
		}
		text = text[:open]
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
