package seatbelt

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// The language of sandbox-exec (SBPL) is Scheme: one rule is a list, and of the
// rules that match an operation the last one counts. Nothing here takes text that
// is already written in it: a path becomes a word by quoted, and by nothing else.

// rule is one line of a profile.
type rule struct {
	verdict    string   // "allow" or "deny"
	operations []string // "file-read*"
	filters    []filter // any of them; none: the operation as such
	why        string
	known      string // a word without which the system has no such rule; empty: all have it
}

// known is a rule for systems that know a word. To others it would be an error,
// and nothing would run.
func known(word string, r rule) rule {
	r.known = word
	return r
}

// filter is what a rule is about.
type filter interface{ sbpl() string }

type (
	subpath string // a path and all below it
	literal string // a path alone
	pattern string // a regular expression over paths, see below
	// word is a filter of this package's own, without anything of a profile in it.
	word string
	all  []filter // require-all
)

func (f subpath) sbpl() string { return "(subpath " + quoted(string(f)) + ")" }
func (f literal) sbpl() string { return "(literal " + quoted(string(f)) + ")" }
func (f pattern) sbpl() string { return "(regex " + quoted(string(f)) + ")" }
func (f word) sbpl() string    { return string(f) }
func (f all) sbpl() string     { return "(require-all " + join(f) + ")" }

func join(filters []filter) string {
	var list []string
	for _, f := range filters {
		list = append(list, f.sbpl())
	}
	return strings.Join(list, " ")
}

// named is a filter with one string: (global-name "…").
func named(kind, value string) filter { return word("(" + kind + " " + quoted(value) + ")") }

// local is a connection to a port of this machine. The language knows no other
// names of machines than localhost and *.
func local(port string) filter {
	return word("(remote ip " + quoted("localhost:"+port) + ")")
}

// unixSocket is a socket with a path below a directory, at an end of a connection:
// "local" or "remote".
func unixSocket(end, dir string) filter {
	return word("(" + end + " unix-socket " + subpath(dir).sbpl() + ")")
}

// String is the rule in the language.
func (r rule) String() string {
	text := "(" + r.verdict + " " + strings.Join(r.operations, " ")
	for _, f := range r.filters {
		text += "\n  " + f.sbpl()
	}
	text += ")"
	if r.known != "" {
		return "(if (defined? '" + r.known + ")\n" + text + ")"
	}
	return text
}

// quoted is a string of Scheme. Only the quote and the backslash end or change it;
// what a terminal or an editor would act on is written by its number, in two
// digits as the reader of TinyScheme takes it.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// matching is the filter of a place whose last element may be a pattern of
// path.Match: it, and all below. Of those only * is used.
func matching(place string) filter {
	if !strings.Contains(path.Base(place), "*") {
		return subpath(place)
	}
	expr := strings.ReplaceAll(regexp.QuoteMeta(place), `\*`, "[^/]*")
	return pattern("^" + expr + "(/|$)")
}
