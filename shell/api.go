// Package shell reads a command: source text or an argument vector becomes a
// Script, a flat list of the calls that would or could run, with resolved
// words, redirections and places in the text. It is the only caller of
// mvdan.cc/sh. Everything here is pure: no file system is read.
package shell

import "mvdan.cc/sh/v3/syntax"

// Dialect is the shell that will run the text.
type Dialect uint8

// The dialects. Sh is /bin/sh of unknown kind: the calls are the union of the
// Bash and the POSIX reading.
const (
	Bash Dialect = iota
	POSIX
	Mksh
	Zsh
	Sh
)

// Where is what a reading assumes about the surroundings. All paths are
// absolute; nothing is looked up.
type Where struct {
	Cwd       string // where the command starts
	Workspace string // what counts as inside; empty: Cwd
	Home      string
	User      string // login name; empty: the last element of Home
}

// Pos is a place in Script.Text.
type Pos struct {
	Offset int `json:"offset"` // bytes, from 0
	Line   int `json:"line"`   // from 1
	Column int `json:"column"` // bytes, from 1
}

// Span is a half-open range of bytes of Script.Text.
type Span struct{ Start, End int }

// Word is one word after expansion.
type Word struct {
	// Value is the text after quotes, escapes, braces, tilde, and known
	// variables are undone. Unknown pieces are left out.
	Value string
	// Literal says that the whole Value is known: nothing was left out.
	Literal bool
	// Prefix is the known beginning. It equals Value when Literal.
	Prefix string
	Glob   bool // an unquoted *, ? or [ is in it
	Quoted bool // some part was quoted
	// Vars names the unknown parameters that were left out.
	Vars []string
	// From lists the variables with a place in the text whose values are in it.
	From []Origin
	// Subs are the indices in Script.Calls of the calls inside command and
	// process substitutions of this word.
	Subs []int
	Proc byte // 0, '<' or '>': the word is a process substitution
	// Guess says that Value also holds what unknown pieces would become by
	// what the text shows: the default of ${x:-rm}, the output of $(echo rm).
	Guess bool
	// Eval says that the expansion itself evaluates text as code: ${x@P}.
	Eval bool
	Span Span // where it stands; the whole carrier word when the place is not known better

	src  *syntax.Word // nil when the value has no word of its own in the text
	sc   *scope       // in which src was resolved; a carrier may have changed it for what it runs
	frag bool         // one of several fields of src
	body int          // without src: 1 + the offset in Script.Text where Value stands unchanged; 0 when it does not
}

// Origin is where a variable got its value: by an assignment, as the argument of
// a function or script ("1"), or as the variable of a loop.
type Origin struct {
	Name string
	Span Span // of the last assignment before
}

// Assign is NAME=VALUE before a command, or as an operand of export and declare.
type Assign struct {
	Name   string
	Value  Word
	Append bool // +=
	Array  []Word
	Span   Span
}

// Redir is one redirection.
type Redir struct {
	Op      string // as written: > >> >| <> < &> &>> >& <& << <<- <<<
	Target  Word   // file name, descriptor or text of the here-document
	Heredoc bool   // Target is the text of a here-document or here-string
	Span    Span
}

// Writes reports whether the redirection opens a file for writing.
func (r Redir) Writes() bool {
	switch r.Op {
	case ">", ">>", ">|", "<>", "&>", "&>>":
		return true
	case ">&":
		return !isDescriptor(r.Target.Value)
	}
	return false
}

// Reads reports whether the redirection opens a file for reading.
func (r Redir) Reads() bool { return r.Op == "<" || r.Op == "<>" }

func isDescriptor(s string) bool {
	if s == "-" {
		return true
	}
	for i := 0; i < len(s); i++ {
		if (s[i] < '0' || s[i] > '9') && !(s[i] == '-' && i == len(s)-1) {
			return false
		}
	}
	return s != ""
}

// Via says how a carrier gets at the command it runs.
type Via uint8

// The ways.
const (
	ViaArgv  Via = iota // from its own words: sudo rm
	ViaText             // by parsing a text: sh -c, eval, trap, watch
	ViaStdin            // by parsing its standard input: echo rm | sh
	ViaFunc             // by calling a function or alias that the text defines
)

// Carrier is a command that runs another one: sudo, env, xargs, sh -c, eval, find -exec …
type Carrier struct {
	Name string // base name of the program
	Call int    // index in Script.Calls of the carrier's own call
	Via  Via
}

// Call is one simple command that would or could run. Words may be empty: then
// only assignments or redirections stand there.
type Call struct {
	Words   []Word
	Assigns []Assign
	Redirs  []Redir
	Span    Span
	// Decl says that Assigns are operands of the builtin in Words[0]
	// (export, declare, local, readonly, typeset).
	Decl     bool
	Dir      string    // working directory as far as cd was followed; "" when unknown
	Carriers []Carrier // outermost first; empty for a call that stands in the text itself
	// Stdin says where standard input comes from: the calls on the left of
	// the pipe (all calls of that stage, substitutions excluded).
	// A process substitution as input (< <(…)) counts as a pipe.
	PipeFrom []int
	PipeTo   []int // the calls on the right of the pipe
	// In is the text on standard input when it is a here-document or
	// here-string, also one of an enclosing compound command; else nil.
	In *Word
	// More says that further operands come from elsewhere (xargs, parallel):
	// they are not in Words.
	More       bool
	Background bool   // it is, or is part of, a list ended by & (or coproc)
	Func       string // inside the body of this function
	Trap       bool   // inside a trap
}

// Name is the base name of the program; "" when it is not literal or there is none.
func (c *Call) Name() string {
	if len(c.Words) == 0 || !c.Words[0].Literal {
		return ""
	}
	return base(c.Words[0].Value)
}

// Args are the words after the program.
func (c *Call) Args() []Word {
	if len(c.Words) == 0 {
		return nil
	}
	return c.Words[1:]
}

// Func is a function that the text defines.
type Func struct {
	Name  string
	Calls []int // the calls of its body
	Span  Span
}

// Unknown is a place that could not be read, and why.
type Unknown struct {
	Span Span
	Why  string
}

// Script is one command, read.
type Script struct {
	Text    string
	Dialect Dialect
	Where   Where
	Calls   []Call
	Funcs   []Func
	// Unknown lists what could not be read: program names that are not
	// literal are not in it, text that does not parse or is nested too deeply is.
	Unknown []Unknown
	// Err is the first syntax error with its position; the Calls then hold
	// what could be read.
	Err error

	lines []int // offsets of line starts; nil for a short text
}
