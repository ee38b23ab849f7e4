package classify

import (
	"sort"
	"strings"
)

// program is one row of a table: how the words of a program are read.
type program struct {
	name string // for a subcommand: one name or several, blank-separated; "*" is any other
	like string // the row whose grammar this one shares

	// opts lists the options that take a value or that matter, as
	// NAME[MARK][EFFECTS]: MARK is = (a value, attached or in the next word),
	// ? (a value only when attached), # (digits,
	// when attached) or + (none). The effects:
	//
	//	<  the value is a file that is read      >  … written
	//	o  … written by a build or an archiver   x  … deleted
	//	/  … a directory that operands lie in    T  … a target directory
	//	c  … program code                        !  … a program that is run
	//	@  … data, or a file behind @            F  … a form field, or a file behind =@
	//	~  nothing happens (help, dry run)       *  operands are changed in place
	//	,  the first operand's role is taken     d  something is deleted
	//	w  something is written (+), or the      s  more rights
	//	   value is a path that is
	//	n  the network is used                   b  detached
	opts string

	// args gives the roles of the operands, the last one for all that follow;
	// a role behind $ is that of the last operand when there are several:
	//
	//	-  no path   r  read   l  listed   w  written   m  moved away
	//	d  deleted   o  output of a build   c  program code
	args string

	sets  []rule // what holds whenever it runs
	subs  []program
	style style
	does  special // what no row can say
	out   flow    // what its output carries
}

// style is how a program writes its options.
type style uint8

const (
	gnu    style = iota // bundles, long names that may be cut short, options after operands
	posix               // the same, but options end at the first operand
	single              // one dash, long names (find, go, java)
	bare                // the first word may be a bundle without a dash (tar, ar)
	exact               // as gnu, but long names may not be cut short
)

// search finds a row by name in a sorted table.
func search(table []program, name string) *program {
	i := sort.Search(len(table), func(i int) bool { return table[i].name >= name })
	if i < len(table) && table[i].name == name {
		return &table[i]
	}
	return nil
}

// tables lists every family. Each is sorted by name.
var tables = [...][]program{
	coreutils, textTools, archivers, netTools, gitTools, containers, packages, interpreters, editors, databases, cloud, system, builtins, builders,
}

// lookup finds the row of a program.
func lookup(name string) *program {
	for _, t := range &tables {
		if p := search(t, name); p != nil {
			if p.like != "" {
				return lookup(p.like)
			}
			return p
		}
	}
	return versioned(name)
}

// versioned finds python3.11, gcc-13, clang++-17, ruby3.2 by their names
// without the version.
func versioned(name string) *program {
	end := len(name)
	for end > 0 && (name[end-1] >= '0' && name[end-1] <= '9' || name[end-1] == '.' || name[end-1] == '-') {
		end--
	}
	if end == 0 || end == len(name) || name[end-1] == ' ' {
		return nil
	}
	for _, base := range [...]string{"python", "pypy", "pip", "ruby", "node", "perl", "php", "lua", "gcc", "g++", "clang", "clang++", "java", "go"} {
		if name[:end] == base {
			return lookup(base)
		}
	}
	return nil
}

// sub finds the row of a subcommand.
func (p *program) sub(name string) *program {
	for i := range p.subs {
		if n := p.subs[i].name; n == name || n == "*" || listed(n, name) {
			if like := p.subs[i].like; like != "" {
				return p.sub(like)
			}
			return &p.subs[i]
		}
	}
	return nil
}

// listed reports whether a blank-separated list holds a name.
func listed(list, name string) bool {
	if name == "" || len(list) < len(name) {
		return false
	}
	for list != "" {
		end := strings.IndexByte(list, ' ')
		if end < 0 {
			return list == name
		}
		if end == len(name) && list[:end] == name {
			return true
		}
		list = list[end+1:]
	}
	return false
}

// option finds an option in a list by its name, or by the beginning of it: its
// full name, and its mark and effects.
func option(spec, name string, abbreviated bool) (full, how string, ok bool) {
	if name == "" {
		return "", "", false
	}
	begin, beginEnd := -1, 0
	for i := 0; i < len(spec); i++ {
		k := strings.IndexByte(spec[i:], name[0])
		if k < 0 {
			break
		}
		i += k
		if i > 0 && spec[i-1] != ' ' || !strings.HasPrefix(spec[i:], name) {
			continue
		}
		end := i + len(name)
		if end == len(spec) || isMark(spec[end]) {
			return spec[i:end], markOf(spec[end:]), true
		}
		if begin < 0 && abbreviated && len(name) > 1 {
			for begin, beginEnd = i, end; beginEnd < len(spec) && !isMark(spec[beginEnd]); beginEnd++ {
			}
		}
	}
	if begin < 0 {
		return "", "", false
	}
	return spec[begin:beginEnd], markOf(spec[beginEnd:]), true
}

func isMark(c byte) bool { return c == '=' || c == '+' || c == '?' || c == '#' || c == ' ' }

// markOf is what stands before the next blank.
func markOf(s string) string {
	if k := strings.IndexByte(s, ' '); k >= 0 {
		return s[:k]
	}
	return s
}
