package shell

import "strings"

// File is a script that a call runs by name.
type File struct {
	Path    Word
	Args    []Word
	Dialect Dialect
	// Direct says that the file itself is executed: its first line says by
	// what, and it may be no script at all.
	Direct bool
}

// Runs finds the file that the call at index i runs as a shell script: the
// operand of a shell, of source and of ".", or the program itself when it is
// named by a path.
func (s *Script) Runs(i int) (File, bool) {
	c := &s.Calls[i]
	name := commandName(c)
	args := c.Args()
	if name == "source" || name == "." {
		if len(args) > 0 && args[0].Value == "--" {
			args = args[1:]
		}
		if len(args) == 0 || args[0].Proc != 0 {
			return File{}, false
		}
		return File{Path: args[0], Args: args[1:], Dialect: s.Dialect}, true
	}
	if sp, ok := lookupCarrier(name); ok && sp.kind == runsShell {
		o := sp.options(args)
		rest := args[o.operand:]
		if o.has("c") || o.has("s") || len(rest) == 0 || rest[0].Value == "-" || rest[0].Proc != 0 {
			return File{}, false
		}
		return File{Path: rest[0], Args: rest[1:], Dialect: shellDialect(name)}, true
	}
	if len(c.Words) > 0 && c.Words[0].Literal && strings.Contains(c.Words[0].Value, "/") {
		return File{Path: c.Words[0], Args: args, Dialect: Sh, Direct: true}, true
	}
	return File{}, false
}

// ParseFile reads the text of a script that is called with arguments.
func ParseFile(text string, d Dialect, at Where, name string, args []Word) *Script {
	sc := &scope{dir: at.Cwd, zero: name}
	sc.setParams(args)
	for i := range sc.params {
		sc.params[i].at = Span{} // their places are in another text
	}
	return parseIn(text, d, at, sc)
}
