package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arithm walks an arithmetic expression: its words may hold substitutions, and
// literal text like a[$(x)] is evaluated again.
func (w *walker) arithm(name string, x syntax.ArithmExpr, sp Span) {
	switch x := x.(type) {
	case *syntax.Word:
		if x == nil || len(x.Parts) == 0 {
			return
		}
		word := w.single(x)
		if reevaluated(word.Value) {
			word.Eval = true
			w.reeval(word.Value, word.Span)
		}
		w.wordCall(name, []Word{word}, sp)
	case *syntax.BinaryArithm:
		for {
			w.arithm(name, x.Y, sp)
			left, ok := x.X.(*syntax.BinaryArithm)
			if !ok {
				w.arithm(name, x.X, sp)
				return
			}
			x = left
		}
	case *syntax.UnaryArithm:
		w.arithm(name, x.X, sp)
	case *syntax.ParenArithm:
		w.arithm(name, x.X, sp)
	case *syntax.FlagsArithm:
		w.arithm(name, x.X, sp)
	}
}

// reevaluated reports whether a literal subscript holds a substitution, which
// arithmetic evaluates although it was quoted.
func reevaluated(s string) bool {
	i := strings.IndexByte(s, '[')
	return i >= 0 && (strings.Contains(s[i:], "$(") || strings.Contains(s[i:], "`"))
}

func (w *walker) test(x syntax.TestExpr, sp Span) {
	switch x := x.(type) {
	case *syntax.Word:
		if x != nil && len(x.Parts) > 0 {
			w.single(x)
		}
	case *syntax.BinaryTest:
		w.testArithm(x.X, x.Op, sp)
		w.testArithm(x.Y, x.Op, sp)
	case *syntax.UnaryTest:
		if word, ok := x.X.(*syntax.Word); ok && x.Op == syntax.TsVarSet {
			w.arithm("[[", word, sp)
			return
		}
		w.test(x.X, sp)
	case *syntax.ParenTest:
		w.test(x.X, sp)
	}
}

func (w *walker) testArithm(x syntax.TestExpr, op syntax.BinTestOperator, sp Span) {
	word, ok := x.(*syntax.Word)
	if !ok || word == nil {
		w.test(x, sp)
		return
	}
	switch op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		w.arithm("[[", word, sp)
	default:
		w.test(x, sp)
	}
}
