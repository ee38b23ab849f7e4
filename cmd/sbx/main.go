// Command sbx checks commands and runs them confined to one directory.
//
// Output follows these rules. The standard output and error of exec and run
// belong to the command that runs. Ours goes to standard error, one line each:
// "sbx: error: …" (something could not be done), "sbx: refused: …" (the command
// may not run), "sbx: hint: …" (what to do about it); lower case. With --json
// one object is printed and nothing else.
package main

import (
	"os"
)

func main() {
	roomy()
	os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// Exit codes of sbx itself. The ones above 123 follow env(1) and timeout(1).
const (
	exitOK         = 0
	exitUsage      = 2 // of subcommands that judge
	exitFound      = 3 // a tag of --fail-on
	exitTime       = 124
	exitNotStarted = 125 // nothing ran; also misuse of exec and run
	exitRefused    = 126
)

// streams are the three standard streams.
type streams struct {
	in, out, err *os.File

	name string // by which the program was called; "": its own
}

func run(args []string, in, out, errs *os.File) int {
	s := &streams{in: in, out: out, err: errs}
	if len(args) > 0 {
		s.name = nameOf(args[0])
	}
	if len(args) > 0 && isWrapperName(args[0]) {
		return wrapper(s, args[1:])
	}
	if len(args) < 2 {
		s.fail(usage("no subcommand", "sbx --help shows what there is"))
		return exitUsage
	}
	name, rest := args[1], args[2:]
	switch name {
	case "--help", "-h", "-help", "help":
		return help(s, rest)
	case "--version", "-version", "version":
		return version(s, rest)
	case farName:
		return farCommand(s, rest)
	case manName:
		return manCommand(s, rest)
	case completeName:
		return completeCommand(s, rest)
	case namespaceProbe:
		return tryMount()
	}
	for _, c := range commands() {
		if c.name == name {
			return c.run(s, rest)
		}
	}
	return s.unknownCommand(name)
}

// unknownCommand also catches sbx configured as the wrapper itself: the
// runtime must see a refusal then, not the exit status of a usage error.
func (s *streams) unknownCommand(name string) int {
	if _, wrapping := os.LookupEnv(workspaceVar); wrapping {
		s.fail(usage("unknown subcommand "+quote(name), "to use sbx as a wrapper, configure the path of "+wrapperName+" (sbx wrapper install direct)"))
		return exitNotStarted
	}
	names := []string{"help", "version"}
	for _, c := range commands() {
		names = append(names, c.name)
	}
	s.fail(usage("unknown subcommand "+quote(name), meant(name, names, "sbx ", "sbx --help shows what there is; to run a program: sbx exec -- "+name)))
	return exitUsage
}
