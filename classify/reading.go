package classify

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// opt is one option that was found.
type opt struct {
	name string
	how  string // mark and effects of its row; "" when it has none
	word int    // the word that holds its value; -1 when it has none
	off  int    // where the value begins in that word
}

// reading is the words of one call, taken apart by a row.
type reading struct {
	call    int
	words   []shell.Word
	row     *program // the row of the program
	sub     *program // the row of the subcommand, or row
	name    string   // base name of the program
	subName string
	dir     string // where relative operands lie
	effects effect

	ops    []int // words that are operands
	opts   []opt
	dashes int // how many operands came before --; -1 without one

	opsBuf [16]int
	optBuf [10]opt
}

// effect is what flags change about the whole call.
type effect uint8

const (
	dry effect = 1 << iota
	inPlace
	roleTaken
	toTarget
	hasCode
)

// reset makes a reading ready for the words of a call. It keeps the buffers:
// most of the work on a long script would be clearing them.
func (r *reading) reset(call int, words []shell.Word, dir string) {
	r.call, r.words, r.dir = call, words, dir
	r.row, r.sub, r.name, r.subName, r.effects = nil, nil, "", "", 0
}

func (r *reading) start() {
	r.ops, r.opts, r.dashes = r.opsBuf[:0], r.optBuf[:0], -1
}

// parse takes the words from index k on apart by the row of a program or
// subcommand. It stops at the first operand where the row says so, and
// returns the index behind what it read.
func (r *reading) parse(p *program, k int, stop bool) int {
	if p.style == bare && k < len(r.words) {
		if v := r.words[k].Value; v != "" && v[0] != '-' && r.words[k].Literal && bundleOf(p, v) {
			k = r.short(p, k, 0)
		}
	}
	for k < len(r.words) {
		w := &r.words[k]
		v := w.Value
		switch {
		case len(v) < 2 || v[0] != '-' || !w.Literal && !strings.HasPrefix(w.Prefix, "-"):
			if stop {
				return k
			}
			r.ops = append(r.ops, k)
			k++
			if p.style == posix {
				return r.rest(k)
			}
		case v == "--":
			r.dashes = len(r.ops)
			if stop {
				return k + 1
			}
			return r.rest(k + 1)
		case v[1] == '-':
			k = r.long(p, k, 2)
		case p.style == single:
			k = r.long(p, k, 1)
		default:
			k = r.short(p, k, 1)
		}
	}
	return k
}

// bundleOf reports whether a word is a bundle of known letters (tar xzf).
func bundleOf(p *program, v string) bool {
	for i := 0; i < len(v); i++ {
		if c := v[i] | 0x20; c < 'a' || c > 'z' {
			return false
		}
	}
	return len(v) <= 12
}

func (r *reading) rest(k int) int {
	for ; k < len(r.words); k++ {
		r.ops = append(r.ops, k)
	}
	return k
}

func (r *reading) long(p *program, k, skip int) int {
	w := &r.words[k]
	name, _, attached := strings.Cut(w.Value[skip:], "=")
	full, how, ok := option(p.opts, name, p.style == gnu || p.style == posix || p.style == bare)
	if !ok {
		full = name
		if name == "help" || name == "version" {
			r.effects |= dry
		}
	}
	o := opt{name: full, how: how, word: -1}
	switch {
	case attached:
		o.word, o.off = k, skip+len(name)+1
	case how != "" && how[0] == '=' && k+1 < len(r.words):
		k++
		if how == "=2" && k+1 < len(r.words) { // jq --arg NAME VALUE
			k++
		}
		o.word = k
	}
	r.found(o)
	return k + 1
}

func (r *reading) short(p *program, k, from int) int {
	v := r.words[k].Value
	at := k
	for i := from; i < len(v); i++ {
		full, how, ok := option(p.opts, v[i:i+1], false)
		if !ok {
			full = v[i : i+1]
		}
		o := opt{name: full, how: how, word: -1}
		if how == "" || how[0] == '+' || how[0] == '#' {
			r.found(o)
			for how != "" && how[0] == '#' && i+1 < len(v) && (v[i+1] >= '0' && v[i+1] <= '9' || v[i+1] == 'x') {
				i++
			}
			continue
		}
		switch {
		case from == 0: // a bundle without a dash: values follow in order
			if how[0] == '=' && at+1 < len(r.words) {
				at++
				o.word = at
			}
			r.found(o)
			continue
		case i+1 < len(v) || !r.words[k].Literal:
			o.word, o.off = k, i+1
		case how[0] == '=' && k+1 < len(r.words):
			at = k + 1
			o.word = at
		}
		r.found(o)
		return at + 1
	}
	return at + 1
}

func (r *reading) found(o opt) {
	for i := 1; i < len(o.how); i++ {
		switch o.how[i] {
		case '~':
			r.effects |= dry
		case '*':
			r.effects |= inPlace
		case ',':
			r.effects |= roleTaken
		case 'T':
			r.effects |= toTarget
		case 'c':
			r.effects |= hasCode
		}
	}
	r.opts = append(r.opts, o)
}

// has reports whether one of the options was given.
func (r *reading) has(names string) bool {
	for i := range r.opts {
		if listed(names, r.opts[i].name) {
			return true
		}
	}
	return false
}

// value is the value of the last of the options that has one.
func (r *reading) value(names string) (shell.Word, bool) {
	for i := len(r.opts) - 1; i >= 0; i-- {
		if r.opts[i].word >= 0 && listed(names, r.opts[i].name) {
			return r.word(r.opts[i]), true
		}
	}
	return shell.Word{}, false
}

func (r *reading) word(o opt) shell.Word { return tail(r.words[o.word], o.off) }

// word0 is the value of an option, an empty word when it has none.
func (r *reading) word0(o opt) shell.Word {
	if o.word < 0 {
		return shell.Word{Literal: true}
	}
	return r.word(o)
}

// op is the value of the n-th operand, "" when there is none.
func (r *reading) op(n int) string {
	if n < len(r.ops) {
		return r.words[r.ops[n]].Value
	}
	return ""
}

// tail is a word from byte n on.
func tail(w shell.Word, n int) shell.Word {
	if n == 0 {
		return w
	}
	w.Value = w.Value[min(n, len(w.Value)):]
	w.Prefix = w.Prefix[min(n, len(w.Prefix)):]
	if w.Span.End-w.Span.Start > n && !w.Quoted && len(w.Value) > 0 && w.Literal {
		w.Span.Start += n
	}
	return w
}
