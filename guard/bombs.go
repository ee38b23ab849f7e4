package guard

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// maxBombs bounds the functions that are compared with each other.
const maxBombs = 256

// bombs looks for functions, and for a script, that start copies of
// themselves without end.
func (k *checker) bombs() {
	for n := range k.s.Funcs {
		if f := &k.s.Funcs[n]; len(f.Calls) > 0 && len(k.out) < maxViolations {
			k.bomb(f, n)
		}
	}
	k.scriptBomb()
}

// bomb reports a function whose body calls it again without arguments, in
// a pipe with another copy or in the background. With arguments a recursion goes
// somewhere and may end.
func (k *checker) bomb(f *shell.Func, n int) {
	if f.Name == "" {
		return
	}
	copies, others, spread := 0, 0, false
	for _, j := range f.Calls {
		c := k.at(j)
		if followed(c) {
			continue
		}
		if !k.callsAgain(f, n, c) {
			others++
			continue
		}
		copies++
		spread = spread || c.Background || k.pipedToCopy(f, n, c)
	}
	if spread && (copies > 1 || others == 0) {
		first := f.Calls[0]
		for j := range k.s.Calls { // the call that sets it off, where there is one
			if c := &k.s.Calls[j]; c.Func == "" && !followed(c) && program(c) == f.Name {
				first = j
				break
			}
		}
		k.report(wayBomb, first, "", f.Name+" | "+f.Name+" &")
	}
}

// followed reports whether a call was read by following a function.
func followed(c *shell.Call) bool {
	for _, by := range c.Carriers {
		if by.Via == shell.ViaFunc {
			return true
		}
	}
	return false
}

// callsAgain reports whether a call starts function f, itself or through one
// other function, with nothing that could end it.
func (k *checker) callsAgain(f *shell.Func, n int, c *shell.Call) bool {
	name := program(c)
	if name == "" || !idle(c) {
		return false
	}
	if name == f.Name {
		return true
	}
	if n >= maxBombs {
		return false
	}
	for m := range k.s.Funcs {
		g := &k.s.Funcs[m]
		if m >= maxBombs || len(g.Calls) > maxBombs {
			break
		}
		if g.Name != name {
			continue
		}
		for _, j := range g.Calls {
			if b := k.at(j); !followed(b) && program(b) == f.Name && idle(b) {
				return true
			}
		}
	}
	return false
}

// idle reports whether a call has no arguments of its own.
func idle(c *shell.Call) bool {
	for _, w := range c.Args() {
		if w.Literal && w.Value != "" {
			return false
		}
		for _, v := range w.Vars {
			if v != "@" && v != "*" {
				return false
			}
		}
		if len(w.Subs) > 0 {
			return false
		}
	}
	return true
}

func (k *checker) pipedToCopy(f *shell.Func, n int, c *shell.Call) bool {
	for _, list := range [...][]int{c.PipeTo, c.PipeFrom} {
		for _, j := range list[:min(len(list), maxBombs)] {
			if k.callsAgain(f, n, k.at(j)) {
				return true
			}
		}
	}
	return false
}

// scriptBomb looks for a script that starts itself twice: $0 & $0, $0 | $0.
func (k *checker) scriptBomb() {
	copies, spread, first := 0, false, 0
	for i := range k.s.Calls {
		c := &k.s.Calls[i]
		if len(c.Words) != 1 || !k.isSelf(&c.Words[0]) {
			continue
		}
		if copies == 0 {
			first = i
		}
		copies++
		spread = spread || c.Background
		if len(c.PipeTo) > 0 {
			to := k.at(c.PipeTo[0])
			spread = spread || len(to.Words) == 1 && k.isSelf(&to.Words[0])
		}
	}
	if copies > 1 && spread {
		k.report(wayBomb, first, "", "$0 & $0")
	}
}

func (k *checker) isSelf(w *shell.Word) bool {
	if w.Literal && w.Value != "" && w.Value[0] != '.' {
		return false
	}
	switch strings.NewReplacer(`"`, "", "{", "", "}", "", "./", "").Replace(k.s.Slice(w.Span)) {
	case "$0", "$BASH_SOURCE", "$BASH_SOURCE[0]":
		return true
	}
	return false
}
