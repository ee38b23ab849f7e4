package shell

import "strings"

// reeval walks the substitutions in text that a shell expands a second time:
// ${x@P}, and subscripts such as a[$(x)] in arithmetic, printf -v, test -v,
// unset and declare, although they were quoted.
func (w *walker) reeval(text string, at Span) []int {
	if !strings.Contains(text, "$(") && !strings.Contains(text, "`") || len(text) > maxText || tooDeep(text) || w.depth >= maxDepth {
		return nil
	}
	word, err := parseWord(text, w.dialect)
	if err != nil || word == nil {
		return nil
	}
	child := *w
	child.depth++
	child.m = fixedAt(at.Start)
	child.level++
	from := len(w.r.s.Calls)
	child.one(word, hereDoc)
	return w.between(from)
}

// between lists all calls from an index on.
func (w *walker) between(from int) []int {
	var out []int
	for i := from; i < len(w.r.s.Calls); i++ {
		out = append(out, i)
	}
	return out
}

// reevalNames walks the names that a builtin takes, which may be subscripts.
func (w *walker) reevalNames(c *Call) {
	args := c.Args()
	switch c.Name() {
	case "printf", "test", "[", "[[":
		for k, a := range args {
			if a.Value == "-v" && k+1 < len(args) && reevaluated(args[k+1].Value) {
				w.reeval(args[k+1].Value, args[k+1].Span)
			}
		}
	case "unset", "read", "declare", "typeset", "local", "export", "readonly", "let", "wait", "getopts", "mapfile":
		for _, a := range args {
			if reevaluated(a.Value) {
				w.reeval(a.Value, a.Span)
			}
		}
	}
}
