package guard

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// options reads an argument list by the rules of getopt_long: clusters of
// short options, values attached or in the next word, operands anywhere, and
// "--" before the last operands.
type options struct {
	args  []shell.Word
	takes string // short options that take a value
	long  string // long options that take a value in the next word, blank-separated

	at      int
	cluster string // rest of a cluster of short options
	ended   bool   // "--" was seen
	stop    bool   // options end at the first operand
}

// argument is one option or operand.
type argument struct {
	name  string      // option without dashes; "" for an operand
	long  bool        // it was --name
	value *shell.Word // the operand, or the value of the option; may be nil
}

func (a *argument) operand() bool { return a.name == "" }

// is reports whether the argument is the short option c or the long option
// name, which may be abbreviated as GNU getopt allows.
func (a *argument) is(c byte, name string) bool {
	if !a.long {
		return len(a.name) == 1 && a.name[0] == c && c != 0
	}
	return name != "" && strings.HasPrefix(name, a.name)
}

func (o *options) next() (argument, bool) {
	if o.cluster != "" {
		return o.short(), true
	}
	if o.at >= len(o.args) {
		return argument{}, false
	}
	w := &o.args[o.at]
	o.at++
	v := known(w)
	switch {
	case o.ended || len(v) < 2 || v[0] != '-':
		o.ended = o.ended || o.stop
		return argument{value: w}, true
	case v == "--":
		o.ended = true
		return o.next()
	case v[1] != '-':
		o.cluster = v[1:]
		return o.short(), true
	}
	name, _, attached := strings.Cut(v[2:], "=")
	a := argument{name: name, long: true}
	switch {
	case attached:
		a.value = tail(w, len(name)+3)
	case o.long != "" && o.at < len(o.args) && listed(o.long, name):
		a.value = &o.args[o.at]
		o.at++
	}
	return a, true
}

// short takes one option of a cluster.
func (o *options) short() argument {
	a := argument{name: o.cluster[:1]}
	o.cluster = o.cluster[1:]
	if strings.IndexByte(o.takes, a.name[0]) < 0 {
		return a
	}
	if o.cluster != "" {
		w := &o.args[o.at-1]
		a.value = tail(w, len(known(w))-len(o.cluster))
		o.cluster = ""
	} else if o.at < len(o.args) {
		a.value = &o.args[o.at]
		o.at++
	}
	return a
}

// known is what the text shows of a word: its value, or only its beginning.
func known(w *shell.Word) string {
	if w.Literal || w.Guess {
		return w.Value
	}
	return w.Prefix
}

// tail is the rest of a word from byte n on.
func tail(w *shell.Word, n int) *shell.Word {
	t := *w
	t.Value, t.Prefix = cut(w.Value, n), cut(w.Prefix, n)
	return &t
}

func cut(s string, n int) string { return s[min(n, len(s)):] }

// listed reports whether a blank-separated list holds a name.
func listed(list, name string) bool {
	for list != "" && name != "" {
		var head string
		head, list, _ = strings.Cut(list, " ")
		if head == name {
			return true
		}
	}
	return false
}

// literal reports whether the value of an argument is known to be s.
func literal(w *shell.Word, s string) bool {
	return w != nil && (w.Literal || w.Guess) && w.Value == s
}
