package tree

import (
	"fmt"
	"slices"
	"strings"
)

// Change makes one side as the other is.
type Change struct {
	From Entry // what is there now
	To   Entry // what is to be there; of kind None: nothing
}

// content says whether bytes have to be carried.
func (c Change) content() bool {
	return c.To.Kind == File && (c.From.Kind != File || c.From.Size != c.To.Size || c.From.Sum != c.To.Sum)
}

// Changes are what one comparison comes to.
type Changes struct {
	There     []Change // to be made on the other side
	Here      []Change // to be made on this side
	Conflicts []Conflict
}

// Conflict is a name that has changed on both sides, to different things.
type Conflict struct{ Path, Why string }

// Before compares the two sides before a command. base is what both had when
// they were last the same; sent and fetched are what was being carried there and
// here when an exchange broke off. What is missing there is put there again: only
// a command's own deletions, which After sees, are carried here.
func Before(base, sent, fetched, here, there List) Changes {
	var c Changes
	for _, p := range paths(here, there) {
		h, t, b, s, f := here.find(p), there.find(p), base.find(p), sent.find(p), fetched.find(p)
		was := func(e, carried Entry) bool { return carried.Kind != None && e.same(carried) }
		unchangedHere, unchangedThere := h.same(b) || was(h, f), t.same(b) || was(t, s)
		switch {
		case h.same(t):
			c.times(h, t, b)
		case t.Kind == None, was(t, s), unchangedThere && !unchangedHere:
			c.There = append(c.There, Change{t, h})
		case unchangedHere:
			c.Here = append(c.Here, Change{h, t})
		default:
			c.conflict(h, t)
		}
	}
	return c.settle()
}

// After compares the two sides after a command. base is what both had before it.
func After(base, here, there List) Changes {
	var c Changes
	for _, p := range paths(here, there, base) {
		h, t, b := here.find(p), there.find(p), base.find(p)
		switch {
		case h.same(t):
			c.times(h, t, b)
		case t.same(b): // changed here meanwhile: the next command carries it there
		case h.same(b):
			c.Here = append(c.Here, Change{h, t})
		default:
			c.conflict(h, t)
		}
	}
	return c.settle()
}

// times carries when a file was changed: build tools go by it.
func (c *Changes) times(h, t, b Entry) {
	switch {
	case h.Kind != File || h.MTime == t.MTime:
	case h.MTime == b.MTime:
		c.Here = append(c.Here, Change{h, t})
	default:
		c.There = append(c.There, Change{t, h})
	}
}

func (c *Changes) conflict(h, t Entry) {
	say := func(e Entry) string {
		return [...]string{"removed", "a file", "a directory", "a link"}[e.Kind]
	}
	c.Conflicts = append(c.Conflicts, Conflict{h.Path, fmt.Sprintf("changed on both sides: %s here, %s there", say(h), say(t))})
}

// settle puts changes in the order in which they can be made: what is removed
// first, from below, then directories from above, then what is in them.
func (c Changes) settle() Changes {
	order(c.Here)
	order(c.There)
	return c
}

func order(list []Change) {
	rank := func(c Change) int {
		switch {
		case c.To.Kind == None:
			return 0
		case c.To.Kind == Directory:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(list, func(a, b Change) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		if a.To.Kind == None {
			return strings.Compare(b.From.Path, a.From.Path)
		}
		return strings.Compare(a.To.Path, b.To.Path)
	})
}

// paths are the names of some lists, each once.
func paths(lists ...List) []string {
	var all []string
	for _, l := range lists {
		for _, e := range l {
			all = append(all, e.Path)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// with is a list after changes were made.
func (l List) with(changes []Change) List {
	gone := make(map[string]bool, len(changes))
	for _, c := range changes {
		gone[c.From.Path] = true
	}
	out := make(List, 0, len(l)+len(changes))
	for _, e := range l {
		if !gone[e.Path] {
			out = append(out, e)
		}
	}
	for _, c := range changes {
		if c.To.Kind != None {
			out = append(out, c.To)
		}
	}
	out.sort()
	return out
}

// difference is what makes one list of another.
func difference(from, to List) []Change {
	var list []Change
	for _, p := range paths(from, to) {
		if f, t := from.find(p), to.find(p); !f.same(t) || f.MTime != t.MTime {
			list = append(list, Change{f, t})
		}
	}
	return list
}
