package main

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/sbx-run/sbx/sandbox/filter"
)

// The instructions of classic BPF that are needed.
const (
	opLoad      = 0x20 // BPF_LD | BPF_W | BPF_ABS
	opAnd       = 0x54 // BPF_ALU | BPF_AND | BPF_K
	opReturn    = 0x06 // BPF_RET | BPF_K
	jumpEqual   = 0x15 // BPF_JMP | BPF_JEQ | BPF_K
	jumpGreater = 0x25 // BPF_JMP | BPF_JGT | BPF_K
	jumpAtLeast = 0x35 // BPF_JMP | BPF_JGE | BPF_K
	jumpSet     = 0x45 // BPF_JMP | BPF_JSET | BPF_K

	retKill  = 0x80000000 // SECCOMP_RET_KILL_PROCESS
	retErrno = 0x00050000 // SECCOMP_RET_ERRNO
	retAllow = 0x7fff0000 // SECCOMP_RET_ALLOW
)

// label names a place in a program. The names of answers ("allow", "kill",
// "errno N") stand for an instruction that returns it, which finish appends.
type label string

type instruction struct {
	op      uint16
	yes, no label // of jumps
	k       uint32
}

// assembler writes a program with names instead of distances.
type assembler struct {
	code   []instruction
	places map[label]int
	blocks map[string]label // by what they do: many calls are looked at in the same way
	alias  map[label]label
	fresh  int
}

func newAssembler() *assembler {
	return &assembler{places: map[label]int{}, blocks: map[string]label{}, alias: map[label]label{}}
}

func (a *assembler) place(l label) { a.places[l] = len(a.code) }

func (a *assembler) newLabel() label {
	a.fresh++
	return label(fmt.Sprintf("place %d", a.fresh))
}

func (a *assembler) load(offset uint32) {
	a.code = append(a.code, instruction{op: opLoad, k: offset})
}

func (a *assembler) jump(op uint16, k uint32, yes, no label) {
	a.code = append(a.code, instruction{op, yes, no, k})
}

// search writes a binary search over the spans.
func (a *assembler) search(spans []span) {
	middle := len(spans) / 2
	below, above := spans[:middle], spans[middle:]
	enter := func(half []span) label {
		if len(half) == 1 {
			return half[0].to
		}
		return a.newLabel()
	}
	no, yes := enter(below), enter(above)
	a.jump(jumpAtLeast, above[0].first, yes, no)
	if len(below) > 1 {
		a.place(no)
		a.search(below)
	}
	if len(above) > 1 {
		a.place(yes)
		a.search(above)
	}
}

// word is what the accumulator holds: an argument under a mask.
type word struct {
	arg  uint
	mask uint32
}

// block writes what looks at the arguments of one call.
func (a *assembler) block(at label, rules []filter.Rule) {
	key := ""
	for _, r := range rules {
		key += fmt.Sprintf("%v %d\n", r.When, r.Answer)
	}
	if same, ok := a.blocks[key]; ok {
		a.alias[at] = same
		return
	}
	a.blocks[key] = at
	a.place(at)
	var held []word // on each way that leads here; empty: something else
	for i, r := range rules {
		next := label("allow")
		if i < len(rules)-1 {
			next = a.newLabel()
		}
		var missed []word
		for j, c := range r.When {
			want := word{c.Arg, ^uint32(0)}
			if c.Op == filter.Masked {
				want.mask = c.Mask
			}
			a.hold(held, want)
			held = []word{want}
			missed = append(missed, want)
			yes := answerLabel(r.Answer)
			if j < len(r.When)-1 {
				yes = a.newLabel()
			}
			a.test(c, yes, next)
			if j < len(r.When)-1 {
				a.place(yes)
			}
		}
		held = missed
		if i < len(rules)-1 {
			a.place(next)
		}
	}
}

// hold makes sure that the accumulator has the word.
func (a *assembler) hold(held []word, want word) {
	all := len(held) > 0
	for _, h := range held {
		all = all && h == want
	}
	if all {
		return
	}
	a.load(offArgs + 8*uint32(want.arg))
	if want.mask != ^uint32(0) {
		a.code = append(a.code, instruction{op: opAnd, k: want.mask})
	}
}

// test writes one condition on the word in the accumulator.
func (a *assembler) test(c filter.Cond, yes, no label) {
	switch c.Op {
	case filter.Masked:
		a.jump(jumpEqual, c.Value, yes, no)
	case filter.AnyBit:
		a.jump(jumpSet, c.Mask, yes, no)
	case filter.Greater:
		a.jump(jumpGreater, c.Value, yes, no)
	case filter.Differs:
		a.jump(jumpEqual, c.Value, no, yes)
	case filter.Within:
		in := a.newLabel()
		a.jump(jumpAtLeast, c.Value, in, no)
		a.place(in)
		a.jump(jumpGreater, c.Last, no, yes)
	}
}

// finish appends the answers and writes the distances down.
func (a *assembler) finish() ([]byte, error) {
	for i := 0; i < len(a.code); i++ { // grows meanwhile
		for _, l := range []label{a.code[i].yes, a.code[i].no} {
			if _, placed := a.places[a.real(l)]; l == "" || placed {
				continue
			}
			k, err := answerOf(l)
			if err != nil {
				return nil, err
			}
			a.place(l)
			a.code = append(a.code, instruction{op: opReturn, k: k})
		}
	}
	var out []byte
	for i, in := range a.code {
		yes, err := a.distance(i, in.yes)
		if err != nil {
			return nil, err
		}
		no, err := a.distance(i, in.no)
		if err != nil {
			return nil, err
		}
		out = binary.LittleEndian.AppendUint16(out, in.op)
		out = append(out, yes, no)
		out = binary.LittleEndian.AppendUint32(out, in.k)
	}
	return out, nil
}

func (a *assembler) real(l label) label {
	if same, ok := a.alias[l]; ok {
		return same
	}
	return l
}

func answerOf(l label) (uint32, error) {
	if l == "allow" {
		return retAllow, nil
	}
	if l == "kill" {
		return retKill, nil
	}
	number, ok := strings.CutPrefix(string(l), "errno ")
	n := uint32(0)
	if _, err := fmt.Sscan(number, &n); !ok || err != nil || n == 0 {
		return 0, fmt.Errorf("nothing stands at %q", l)
	}
	return retErrno | n, nil
}

// distance is what a jump from an instruction skips to get to a label.
func (a *assembler) distance(from int, to label) (byte, error) {
	if to == "" {
		return 0, nil
	}
	d := a.places[a.real(to)] - from - 1
	if d < 0 || d > 255 {
		return 0, fmt.Errorf("a jump over %d instructions to %q", d, to)
	}
	return byte(d), nil
}
