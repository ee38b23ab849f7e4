package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// reader is what the whole reading of one Script shares.
type reader struct {
	s       *Script
	level   []int32 // per call: how many substitutions it stands in
	funcs   map[string]*syntax.FuncDecl
	aliases map[string]string
	active  []string // functions and aliases being followed
	extra   int      // loop bodies and functions walked more than once
	again   int      // calls that such walks emitted
	nodes   int      // nesting at this moment
	full    bool     // maxCalls was reached
	fields  int      // fields beyond the first of their words
	hashed  bool     // words may hold hashByte

	patterns int // work on patterns, see maxPatterns
}

// maxExtra and maxAgain bound the repeated walks of loop bodies and function
// bodies, and the calls they emit. Each body was walked at least once.
const (
	maxExtra = 256
	maxAgain = 4_096
)

// spent reports whether no body may be walked again.
func (r *reader) spent() bool { return r.extra >= maxExtra || r.again >= maxAgain }

// counting notes what a repeated walk emits: defer r.counting()().
func (r *reader) counting() func() {
	r.extra++
	from := len(r.s.Calls)
	return func() { r.again += max(0, len(r.s.Calls)-from) }
}

// walker goes through one text. Copies of it walk nested texts.
type walker struct {
	r       *reader
	dialect Dialect
	text    string // the text that is walked
	m       mapping
	sc      *scope
	depth   int // texts around this one
	ctx
}

// ctx is what a call inherits from the commands around it.
type ctx struct {
	carriers   []Carrier
	pipeFrom   []int
	in         *Word
	background bool
	trap       bool
	fn         string
	level      int32
}

func (w *walker) unknown(sp Span, why string) {
	w.r.s.Unknown = append(w.r.s.Unknown, Unknown{sp, why})
}

func (w *walker) span(n syntax.Node) Span {
	pos, end := n.Pos(), n.End()
	if !pos.IsValid() {
		return Span{}
	}
	return w.spanOf(int(pos.Offset()), int(end.Offset()))
}

func (w *walker) spanOf(start, end int) Span {
	if w.m.identity() {
		return Span{start, max(start, end)}
	}
	a := w.m.at(start)
	b := a
	if end > start {
		b = w.m.at(end-1) + 1
	}
	return Span{a, max(a, b)}
}

// emit adds a call and returns its index, or -1 past the bound.
func (w *walker) emit(c Call) int {
	s := w.r.s
	if len(s.Calls) >= maxCalls {
		w.tooMany(c.Span)
		return -1
	}
	c.Carriers = w.carriers
	c.Background = w.background
	c.Func = w.fn
	c.Trap = w.trap
	c.Dir = w.sc.dir
	if len(c.Words) > 0 {
		switch first := &c.Words[0]; {
		case first.Glob:
			c.Words = namedByPattern(c.Words)
		case !first.Literal && !first.Guess && first.Value != "":
			c.Words = namedAround(c.Words)
		}
	}
	if c.PipeFrom == nil {
		c.PipeFrom = w.pipeFrom
	}
	if c.In == nil {
		c.In = w.in
	}
	s.Calls = append(s.Calls, c)
	w.r.level = append(w.r.level, w.level)
	return len(s.Calls) - 1
}

// tooMany says once that the bound on calls was reached.
func (w *walker) tooMany(sp Span) {
	if !w.r.full {
		w.r.full = true
		w.unknown(sp, "too many commands")
	}
}

// direct lists the calls from index on that do not stand in a substitution.
func (w *walker) direct(from int) []int {
	var out []int
	for i := from; i < len(w.r.s.Calls); i++ {
		if w.r.level[i] == w.level {
			out = append(out, i)
		}
	}
	return out
}

// callSpan is a command with its redirections, without the terminator and
// without the text of here-documents.
func (w *walker) callSpan(s *syntax.Stmt) Span {
	start, end := s.Pos(), s.Pos()
	if s.Cmd != nil {
		start, end = s.Cmd.Pos(), s.Cmd.End()
	}
	for _, r := range s.Redirs {
		if start.After(r.Pos()) || !start.IsValid() {
			start = r.Pos()
		}
		if r.Word != nil && len(r.Word.Parts) > 0 && r.Word.End().After(end) {
			end = r.Word.End()
		}
	}
	if !start.IsValid() {
		return Span{}
	}
	return w.spanOf(int(start.Offset()), int(end.Offset()))
}

func (w *walker) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		w.stmt(s)
	}
}

// sub walks a list in a subshell: what it changes is lost afterwards.
func (w *walker) sub(list []*syntax.Stmt) {
	outer := w.sc
	w.sc = outer.child()
	w.stmts(list)
	w.sc = outer
}

func (w *walker) stmt(s *syntax.Stmt) {
	if s == nil {
		return
	}
	if len(w.r.s.Calls) >= maxCalls {
		w.tooMany(w.span(s))
		return
	}
	w.r.nodes++
	defer func() { w.r.nodes-- }()
	if w.r.nodes > maxNodes {
		w.unknown(w.span(s), "nested too deeply")
		return
	}
	saved, outer := w.ctx, w.sc
	if s.Background || s.Disown || s.Coprocess {
		w.background = true
		w.sc = outer.child()
	}
	w.command(s)
	w.ctx, w.sc = saved, outer
}

func (w *walker) command(s *syntax.Stmt) {
	switch cmd := s.Cmd.(type) {
	case *syntax.CallExpr:
		w.call(cmd, s)
		return
	case *syntax.DeclClause:
		w.decl(cmd, s)
		return
	case *syntax.FuncDecl:
		w.funcDecl(cmd, s)
		return
	}
	if len(s.Redirs) > 0 {
		w.redirectGroup(s)
	}
	switch cmd := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		if cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll {
			w.pipeline(cmd)
		} else {
			w.list(cmd)
		}
	case *syntax.Block:
		w.stmts(cmd.Stmts)
	case *syntax.Subshell:
		w.sub(cmd.Stmts)
	case *syntax.IfClause:
		for c := cmd; c != nil; c = c.Else {
			w.stmts(c.Cond)
			w.stmts(c.Then)
		}
	case *syntax.WhileClause:
		w.stmts(cmd.Cond)
		w.stmts(cmd.Do)
	case *syntax.ForClause:
		w.forClause(cmd)
	case *syntax.CaseClause:
		w.caseClause(cmd)
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			w.stmt(cmd.Stmt)
		}
	case *syntax.CoprocClause:
		w.background = true
		coprocName(cmd)
		outer := w.sc
		w.sc = outer.child()
		w.stmt(cmd.Stmt)
		w.sc = outer
	case *syntax.ArithmCmd:
		w.arithm("((", cmd.X, w.span(cmd))
	case *syntax.LetClause:
		for _, x := range cmd.Exprs {
			w.arithm("let", x, w.span(cmd))
		}
	case *syntax.TestClause:
		w.test(cmd.X, w.span(cmd))
	}
}

// coprocName puts the first word back where it belongs: a simple command has no
// name before it, so that coproc rm -rf x runs rm.
func coprocName(cmd *syntax.CoprocClause) {
	if cmd.Name == nil || cmd.Stmt == nil {
		return
	}
	s := cmd.Stmt
	for {
		b, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		s = b.X
	}
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		call.Args = append([]*syntax.Word{cmd.Name}, call.Args...)
		cmd.Name = nil
	}
}

// redirectGroup emits the redirections of a compound command as a call
// without words, and lets what is inside read from them.
func (w *walker) redirectGroup(s *syntax.Stmt) {
	c := Call{Span: w.callSpan(s)}
	w.redirs(&c, s.Redirs)
	w.emit(c)
	if c.PipeFrom != nil {
		w.pipeFrom = c.PipeFrom
	}
	if c.In != nil {
		w.in = c.In
	}
}

// list flattens a && b || c … in a loop: chains may be long.
func (w *walker) list(cmd *syntax.BinaryCmd) {
	for _, s := range flatten(cmd, func(op syntax.BinCmdOperator) bool {
		return op == syntax.AndStmt || op == syntax.OrStmt
	}) {
		w.stmt(s)
	}
}

// flatten lists the operands of a left-deep chain from left to right.
func flatten(cmd *syntax.BinaryCmd, same func(syntax.BinCmdOperator) bool) []*syntax.Stmt {
	var operands []*syntax.Stmt
	for {
		operands = append(operands, cmd.Y)
		left, ok := cmd.X.Cmd.(*syntax.BinaryCmd)
		if !ok || !same(left.Op) || len(cmd.X.Redirs) > 0 {
			operands = append(operands, cmd.X)
			slices.Reverse(operands)
			return operands
		}
		cmd = left
	}
}

func (w *walker) pipeline(cmd *syntax.BinaryCmd) {
	stages := flatten(cmd, func(op syntax.BinCmdOperator) bool {
		return op == syntax.Pipe || op == syntax.PipeAll
	})
	saved, outer := w.ctx, w.sc
	var left []int
	for i, s := range stages {
		if i > 0 {
			w.pipeFrom, w.in = left, nil
		}
		from := len(w.r.s.Calls)
		w.sc = outer.child()
		if i == len(stages)-1 && w.dialect == Zsh {
			w.sc = outer // zsh runs the last stage in the shell itself
		}
		w.stmt(s)
		right := w.direct(from)
		for _, j := range left {
			if w.r.s.Calls[j].PipeTo == nil {
				w.r.s.Calls[j].PipeTo = right
			}
		}
		left = right
	}
	w.ctx, w.sc = saved, outer
}

// forClause walks the body once per literal item, so that
// `for d in / /etc; do rm -rf $d; done` is read as what it does.
func (w *walker) forClause(cmd *syntax.ForClause) {
	iter, ok := cmd.Loop.(*syntax.WordIter)
	if !ok {
		if loop, ok := cmd.Loop.(*syntax.CStyleLoop); ok {
			for _, x := range []syntax.ArithmExpr{loop.Init, loop.Cond, loop.Post} {
				if x != nil {
					w.arithm("((", x, w.span(cmd))
				}
			}
		}
		w.stmts(cmd.Do)
		return
	}
	var items []Word
	for _, it := range iter.Items {
		items = w.fields(it, items)
	}
	if !iter.InPos.IsValid() { // for x; do: the parameters
		for _, v := range w.sc.params {
			items = append(items, Word{Value: v.text, Prefix: v.text, Literal: v.known, Glob: v.glob, Quoted: true, Span: w.span(iter)})
		}
	}
	w.wordCall("for", items, w.span(iter))
	// Items that leave the directory come first: the bound on repeated walks
	// must not hide them.
	slices.SortStableFunc(items, func(a, b Word) int { return rank(a) - rank(b) })
	walked := false
	seen := map[string]bool{}
	for _, it := range items {
		if !it.Literal || seen[it.Value] || walked && w.r.spent() {
			continue
		}
		seen[it.Value] = true
		done := func() {}
		if walked {
			done = w.r.counting()
		}
		walked = true
		w.sc.set(iter.Name.Value, value{text: it.Value, known: true, glob: it.Glob, at: it.Span})
		w.stmts(cmd.Do)
		done()
	}
	if !walked || len(seen) < len(items) {
		w.sc.set(iter.Name.Value, value{prefix: commonPrefix(items)})
		if !walked {
			w.stmts(cmd.Do)
		}
	}
}

func rank(w Word) int {
	if strings.HasPrefix(w.Value, "/") || strings.HasPrefix(w.Value, "~") || strings.Contains(w.Value, "..") {
		return 0
	}
	return 1
}

func commonPrefix(items []Word) string {
	if len(items) != 1 {
		return ""
	}
	return items[0].Prefix
}

// wordCall records the words of a construct that runs nothing by itself, when
// something in them matters to a reader: a glob or a path is no risk, but
// substitutions were walked already and only re-evaluated text is left.
func (w *walker) wordCall(name string, words []Word, sp Span) {
	for _, x := range words {
		if x.Eval {
			w.emit(Call{Words: append([]Word{literalWord(name, sp)}, x), Span: sp})
		}
	}
}

func literalWord(s string, sp Span) Word {
	return Word{Value: s, Prefix: s, Literal: true, Span: sp}
}

func (w *walker) caseClause(cmd *syntax.CaseClause) {
	w.wordCall("case", []Word{w.single(cmd.Word)}, w.span(cmd))
	for _, it := range cmd.Items {
		for _, p := range it.Patterns {
			w.single(p)
		}
		w.stmts(it.Stmts)
	}
}

// funcDecl walks the body where it is defined, with its parameters unknown.
func (w *walker) funcDecl(f *syntax.FuncDecl, s *syntax.Stmt) {
	if f.Body == nil {
		return
	}
	name := ""
	if f.Name != nil {
		name = f.Name.Value
	} else if len(f.Names) > 0 {
		name = f.Names[0].Value
	}
	if w.r.funcs == nil {
		w.r.funcs = map[string]*syntax.FuncDecl{}
	}
	w.r.funcs[name] = f
	saved, outer := w.ctx, w.sc
	w.sc = outer.child()
	w.sc.params, w.sc.hasParams = nil, false
	w.fn = name
	from := len(w.r.s.Calls)
	w.stmt(f.Body)
	calls := make([]int, 0, len(w.r.s.Calls)-from)
	for i := from; i < len(w.r.s.Calls); i++ {
		calls = append(calls, i)
	}
	w.ctx, w.sc = saved, outer
	w.r.s.Funcs = append(w.r.s.Funcs, Func{Name: name, Calls: calls, Span: w.span(s)})
}
