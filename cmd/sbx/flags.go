package main

import (
	"errors"
	"flag"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// errHelp asks for the help text instead of a run.
var errHelp = errors.New("help")

// flags adds to a flag.FlagSet what people expect of a command line: flags
// after operands, "--", and the nearest name for one that does not exist.
type flags struct {
	*flag.FlagSet
	operands []string // before "--"
	dashes   bool     // "--" was given
	after    []string // what stands behind it
	// stops says that the first operand begins the command line of a
	// program: everything from there on is its own.
	stops bool
}

func newFlags(name string) *flags {
	f := &flags{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError)}
	f.SetOutput(io.Discard)
	return f
}

func (f *flags) parse(args []string) error {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			f.dashes, f.after = true, args
			return nil
		case arg == "-h" || arg == "--help" || arg == "-help":
			return errHelp
		case arg != "-" && strings.HasPrefix(arg, "-"):
			var err error
			if args, err = f.one(arg, args); err != nil {
				return err
			}
		case f.stops:
			f.after = append([]string{arg}, args...)
			return nil
		default:
			f.operands = append(f.operands, arg)
		}
	}
	return nil
}

// one sets the flag arg, and returns the arguments that are left.
func (f *flags) one(arg string, rest []string) ([]string, error) {
	name := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
	name, value, given := strings.Cut(name, "=")
	found := f.Lookup(name)
	if found == nil {
		return nil, f.unknown(arg, name)
	}
	if b, ok := found.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
		if !given {
			value = "true"
		}
	} else if !given {
		if len(rest) == 0 {
			return nil, usage("--"+name+" needs a value", "sbx "+f.Name()+" --help has examples")
		}
		value, rest = rest[0], rest[1:]
	}
	if err := f.Set(name, value); err != nil {
		var hinted *hintedError
		if errors.As(err, &hinted) {
			return nil, usage("--"+name+" "+quote(value)+": "+hinted.msg, hinted.hint)
		}
		return nil, usage("--"+name+" "+quote(value)+": "+plainCause(err), "sbx "+f.Name()+" --help has examples")
	}
	return rest, nil
}

func (f *flags) unknown(arg, name string) error {
	var names []string
	f.VisitAll(func(known *flag.Flag) { names = append(names, known.Name) })
	hint := "sbx " + f.Name() + " --help has examples"
	if len(f.operands) > 0 && !strings.HasPrefix(arg, "--") { // sbx check ls -la
		hint = "a command with options is one word, in quotes, or stands behind --"
	}
	hint = meant(name, names, "--", hint)
	dashes := "--"
	if !strings.HasPrefix(arg, "--") {
		dashes = "-"
	}
	return usage("unknown flag "+dashes+name, hint)
}

// plainCause drops what strconv says about itself, and says what package flag
// calls a parse error of a word that is true or false.
func plainCause(err error) string {
	if err.Error() == "parse error" {
		return "want true or false"
	}
	var num *strconv.NumError
	if errors.As(err, &num) {
		err = num.Err
	}
	return err.Error()
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, " ") }
func (l *list) Set(v string) error {
	if v == "" {
		return errors.New("it is empty")
	}
	*l = append(*l, v)
	return nil
}

// choice is a flag with a few words as values.
type choice struct {
	value string
	set   bool
	words []string
}

func (c *choice) String() string { return c.value }
func (c *choice) Set(v string) error {
	for _, w := range c.words {
		if v == w {
			c.value, c.set = v, true
			return nil
		}
	}
	return &hintedError{msg: "no such value", hint: meant(v, c.words, "", "it is one of: "+strings.Join(c.words, ", "))}
}

// duration reads 90s, 5m, 1h30m; a bare number is seconds, as for timeout(1).
func duration(v string) (time.Duration, error) {
	if n, err := strconv.ParseFloat(v, 64); err == nil && n >= 0 && n < 1e9 {
		return time.Duration(n * float64(time.Second)), nil
	}
	if d, err := time.ParseDuration(v); err == nil && d >= 0 {
		return d, nil
	}
	return 0, &hintedError{msg: "not a duration", hint: "write 90s, 5m or 1h30m; a bare number is seconds"}
}

// absolute makes the paths of a list absolute.
func (l list) absolute() error {
	for i := range l {
		var err error
		if l[i], err = fromHere(l[i]); err != nil {
			return err
		}
	}
	return nil
}

// fromHere makes a path that a person typed absolute.
func fromHere(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", usage("find the current directory: "+err.Error(), "write an absolute path")
	}
	return abs, nil
}
