package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// param appends a parameter expansion: its value where the text shows it.
func (b *builder) param(p *syntax.ParamExp, q quoting) {
	off := int(p.Pos().Offset())
	if p.Param == nil {
		if p.NestedParam != nil {
			b.walkOnly([]syntax.WordPart{p.NestedParam})
		}
		b.missing(off)
		return
	}
	name := p.Param.Value
	v, set := b.w.lookup(name)
	if p.Index != nil {
		v, set = b.index(p, v, set)
	} else if v.isList && name != "@" && name != "*" {
		v = first(v) // $a is ${a[0]}
	}
	if v.at.End > 0 && !b.text {
		b.from = append(b.from, Origin{name, v.at})
	}
	switch {
	case p.Excl && name == "#": // ${!#} is the last parameter
		v, set = value{}, true
		if n := len(b.w.sc.params); b.w.sc.hasParams && n > 0 {
			v = b.w.sc.params[n-1]
		}
	case p.Excl && p.Names == 0 && v.known && !v.isList && v.text != "":
		v, set = b.w.lookup(v.text)
	case p.Excl || p.Names != 0 || p.Length || p.Width || p.IsSet || p.Flags != nil || len(p.Modifiers) > 0:
		v = value{}
	case p.Slice != nil:
		v = b.slice(p.Slice, v, name)
	case p.Repl != nil:
		v = b.replace(p.Repl, v)
	case p.Exp != nil:
		b.expansion(p, v, set, q, off)
		return
	}
	b.param2(v, set, name, q, off)
}

func (b *builder) param2(v value, set bool, name string, q quoting, off int) {
	if !v.known && !set {
		b.vars = append(b.vars, name)
	}
	b.value(v, q, off)
}

func first(v value) value {
	if len(v.list) > 0 {
		return v.list[0]
	}
	return value{known: v.known}
}

// index picks an array element, or all of them for [@] and [*].
func (b *builder) index(p *syntax.ParamExp, v value, set bool) (value, bool) {
	word, ok := p.Index.(*syntax.Word)
	if !ok {
		b.w.arithm("((", p.Index, b.w.span(p))
		return value{}, set
	}
	i := b.w.single(word)
	b.subs = append(b.subs, i.Subs...)
	switch {
	case !set:
		return value{}, false
	case i.Value == "@" || i.Value == "*":
		return v, true
	case !v.isList:
		return value{}, true
	}
	n, err := strconv.Atoi(i.Value)
	if err != nil || !i.Literal || n < 0 || n >= len(v.list) {
		return value{}, true
	}
	return v.list[n], true
}

// walkOnly walks parts for the substitutions in them.
func (b *builder) walkOnly(parts []syntax.WordPart) {
	inner := builder{w: b.w, src: b.src, span: b.span, prefix: -1}
	inner.parts(parts, doubleQuoted)
	b.subs = append(b.subs, inner.subs...)
	b.eval = b.eval || inner.eval
}

// slice is ${x:offset:length}, of a text or of a list.
func (b *builder) slice(s *syntax.Slice, v value, name string) value {
	offset, ok := b.number(s.Offset)
	length, whole := 0, s.Length == nil
	if !whole {
		var ok2 bool
		length, ok2 = b.number(s.Length)
		ok = ok && ok2 && length >= 0
	}
	if !ok || !v.known {
		return value{isList: v.isList}
	}
	size := len(v.text)
	if v.isList {
		size = len(v.list)
		if name == "@" || name == "*" { // they are counted from $0
			if offset == 0 {
				return value{isList: true}
			}
			offset--
		}
	}
	if offset < 0 {
		offset += size
	}
	if offset < 0 || offset > size {
		return value{known: true, isList: v.isList}
	}
	end := size
	if !whole {
		end = min(size, offset+length)
	}
	if v.isList {
		v.list = v.list[offset:end:end]
	} else {
		v.text = v.text[offset:end]
	}
	return v
}

func (b *builder) number(x syntax.ArithmExpr) (int, bool) {
	if x == nil {
		return 0, true
	}
	if u, ok := x.(*syntax.UnaryArithm); ok && u.Op == syntax.Minus && !u.Post {
		n, ok := b.number(u.X)
		return -n, ok
	}
	if p, ok := x.(*syntax.ParenArithm); ok {
		return b.number(p.X)
	}
	word, ok := x.(*syntax.Word)
	if !ok {
		b.w.arithm("((", x, b.span)
		return 0, false
	}
	f := b.w.single(word)
	b.subs = append(b.subs, f.Subs...)
	n, err := strconv.Atoi(f.Value)
	return n, err == nil && f.Literal
}

func (b *builder) replace(r *syntax.Replace, v value) value {
	orig, with := b.operand(r.Orig), b.operand(r.With)
	if !v.known || v.isList || !orig.Literal || !with.Literal || orig.Glob || orig.Value == "" {
		return value{}
	}
	switch {
	case r.All:
		v.text = strings.ReplaceAll(v.text, orig.Value, with.Value)
	case orig.Value[0] == '#':
		if rest, ok := strings.CutPrefix(v.text, orig.Value[1:]); ok {
			v.text = with.Value + rest
		}
	case orig.Value[0] == '%':
		if rest, ok := strings.CutSuffix(v.text, orig.Value[1:]); ok {
			v.text = rest + with.Value
		}
	default:
		v.text = strings.Replace(v.text, orig.Value, with.Value, 1)
	}
	return v
}

func (b *builder) operand(word *syntax.Word) Word {
	f := b.w.single(word)
	b.subs = append(b.subs, f.Subs...)
	b.eval = b.eval || f.Eval
	return f
}

// expansion handles ${x:-word} and its kin.
func (b *builder) expansion(p *syntax.ParamExp, v value, set bool, q quoting, off int) {
	name := p.Param.Value
	exp := p.Exp
	switch exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if v.known && (v.text != "" || v.isList) {
			b.operand(exp.Word)
			b.value(v, q, off)
			return
		}
		if v.known && set { // known to be empty
			b.alternative(exp.Word, q)
		} else {
			b.guessed(off)
			b.alternative(exp.Word, q)
		}
		if exp.Op == syntax.AssignUnset || exp.Op == syntax.AssignUnsetOrNull {
			f := b.w.single(exp.Word)
			b.w.sc.set(name, value{text: f.Value, known: f.Literal, prefix: f.Prefix})
		}
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		b.operand(exp.Word)
		if !v.known {
			set = true // it stops the shell when empty
		}
		b.param2(v, set, name, q, off)
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if v.known && v.text == "" && !v.isList {
			b.operand(exp.Word)
			return
		}
		if !v.known {
			b.guessed(off)
		}
		b.alternative(exp.Word, q)
	default:
		pattern := b.operand(exp.Word)
		if exp.Op == syntax.OtherParamOps {
			if pattern.Value == "P" {
				b.eval = true
				b.subs = append(b.subs, b.w.reeval(v.text, b.span)...)
			}
			v = operate(pattern.Value, v)
		} else {
			v = b.w.r.transform(exp.Op, v, pattern)
		}
		b.param2(v, set, name, q, off)
	}
}

// alternative appends the word of ${x:-word} in place.
func (b *builder) alternative(word *syntax.Word, q quoting) {
	if word != nil {
		b.parts(word.Parts, q)
	}
}

// trimGlob applies ${x%p} and its kin with a pattern.
func (r *reader) trimGlob(op syntax.ParExpOperator, v value, pattern string) value {
	suffix := op == syntax.RemSmallSuffix || op == syntax.RemLargeSuffix
	if !suffix && op != syntax.RemSmallPrefix && op != syntax.RemLargePrefix {
		return value{}
	}
	if text, ok := cutOneStar(op, v.text, pattern); ok {
		v.text = text
		return v
	}
	if len(v.text) > maxPattern {
		return value{}
	}
	if r.patterns += len(v.text) * len(v.text); r.patterns > maxPatterns {
		return value{}
	}
	text, ok := cutPattern(v.text, pattern, suffix, op == syntax.RemLargeSuffix || op == syntax.RemLargePrefix)
	if !ok {
		return value{}
	}
	v.text = text
	return v
}

// cutOneStar is the common ${x%/*} and ${x##*/}: one star at one end.
func cutOneStar(op syntax.ParExpOperator, text, pattern string) (string, bool) {
	if lit, ok := strings.CutSuffix(pattern, "*"); ok && lit != "" && !strings.ContainsAny(lit, "*?[(\\") {
		switch op {
		case syntax.RemSmallSuffix:
			if i := strings.LastIndex(text, lit); i >= 0 {
				text = text[:i]
			}
			return text, true
		case syntax.RemLargeSuffix:
			text, _, _ = strings.Cut(text, lit)
			return text, true
		}
	}
	if lit, ok := strings.CutPrefix(pattern, "*"); ok && lit != "" && !strings.ContainsAny(lit, "*?[(\\") {
		switch op {
		case syntax.RemSmallPrefix:
			if _, after, ok := strings.Cut(text, lit); ok {
				text = after
			}
			return text, true
		case syntax.RemLargePrefix:
			if i := strings.LastIndex(text, lit); i >= 0 {
				text = text[i+len(lit):]
			}
			return text, true
		}
	}
	return "", false
}

// operate is ${x@OP} of a known text.
func operate(op string, v value) value {
	if !v.known || v.isList {
		return value{}
	}
	switch op {
	case "Q":
	case "L":
		v.text = strings.ToLower(v.text)
	case "U":
		v.text = strings.ToUpper(v.text)
	case "u":
		if v.text != "" {
			v.text = strings.ToUpper(v.text[:1]) + v.text[1:]
		}
	default:
		return value{}
	}
	return v
}

// transform applies ${x#p}, ${x%p}, ${x^^}, ${x,,} to a known value.
func (r *reader) transform(op syntax.ParExpOperator, v value, pattern Word) value {
	if !v.known || v.isList || !pattern.Literal {
		return value{}
	}
	if pattern.Glob {
		return r.trimGlob(op, v, pattern.Value)
	}
	switch op {
	case syntax.RemSmallPrefix, syntax.RemLargePrefix:
		v.text = strings.TrimPrefix(v.text, pattern.Value)
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		v.text = strings.TrimSuffix(v.text, pattern.Value)
	case syntax.UpperAll:
		v.text = strings.ToUpper(v.text)
	case syntax.LowerAll:
		v.text = strings.ToLower(v.text)
	case syntax.UpperFirst, syntax.LowerFirst:
		if v.text != "" && op == syntax.UpperFirst {
			v.text = strings.ToUpper(v.text[:1]) + v.text[1:]
		} else if v.text != "" {
			v.text = strings.ToLower(v.text[:1]) + v.text[1:]
		}
	default:
		return value{}
	}
	if pattern.Value != "" && (op == syntax.UpperAll || op == syntax.LowerAll || op == syntax.UpperFirst || op == syntax.LowerFirst) {
		return value{}
	}
	return v
}
