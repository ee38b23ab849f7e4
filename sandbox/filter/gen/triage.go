package main

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"syscall"

	seccomp "github.com/seccomp/libseccomp-golang"

	"github.com/sbx-run/sbx/sandbox/filter"
)

// The kernel runs a filter once for every number when it is loaded, so each
// process pays for the length of the way to an answer. libseccomp's way goes
// past every rule; this program finds the range of a number by halves, and only
// the calls whose arguments matter go on to what libseccomp compiled.

// leaf is what triage says about a number: a return value, or what continues.
type leaf uint32

const (
	goOn    leaf = 0x7fff0000 // SECCOMP_RET_ALLOW, which filter.Join turns into a jump
	decided leaf = filter.Decided
	enosys       = leaf(0x00050000 | uint32(syscall.ENOSYS))
	kill    leaf = 0x80000000 // SECCOMP_RET_KILL_PROCESS

	x32 = 0x40000000 // __X32_SYSCALL_BIT
)

// span is a run of numbers with one answer.
type span struct {
	first uint32
	leaf  leaf
}

func triage(arch seccomp.ScmpArch, audit uint32) ([]byte, error) {
	spans, err := number(arch)
	if err != nil {
		return nil, err
	}
	if arch == seccomp.ArchAMD64 {
		// Minus one is what a tracer writes to skip a call.
		spans = append(spans, span{x32, kill}, span{0xffffffff, enosys})
	}
	body, err := search(spans)
	if err != nil {
		return nil, err
	}
	code := instruction(0x20, 0, 0, 4) // the architecture
	code = append(code, instruction(0x15, 1, 0, audit)...)
	code = append(code, instruction(0x06, 0, 0, uint32(kill))...)
	code = append(code, instruction(0x20, 0, 0, 0)...) // the number
	return append(code, body...), nil
}

// number asks libseccomp for the numbers of the table's names and sorts them
// into spans. A number without a row answers ENOSYS.
func number(arch seccomp.ScmpArch) ([]span, error) {
	answers := map[uint32]leaf{}
	for _, r := range filter.Calls() {
		for name := range strings.FieldsSeq(r.Calls) {
			call, err := seccomp.GetSyscallFromNameByArch(name, arch)
			if err != nil && r.Answer != filter.NotImplemented {
				return nil, fmt.Errorf("call %q: %w", name, err)
			}
			if err != nil || call < 0 { // this architecture has no such call
				continue
			}
			answers[uint32(call)] = toLeaf(r.Answer, name)
		}
	}
	spans := []span{{0, enosys}}
	numbers := make([]uint32, 0, len(answers))
	for n := range answers {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		spans = mark(spans, n, answers[n])
		spans = mark(spans, n+1, enosys)
	}
	return spans, nil
}

// mark begins a span at a number; an earlier one that begins there gives way.
func mark(spans []span, at uint32, l leaf) []span {
	if last := &spans[len(spans)-1]; last.first == at {
		last.leaf = l
	} else {
		spans = append(spans, span{at, l})
	}
	if n := len(spans); n > 1 && spans[n-2].leaf == spans[n-1].leaf {
		spans = spans[:n-1]
	}
	return spans
}

func toLeaf(a filter.Answer, name string) leaf {
	if a == filter.Allow {
		if looksAtArguments(name) {
			return goOn
		}
		return decided
	}
	return leaf(0x00050000 | uint32(errno(a)))
}

func looksAtArguments(name string) bool {
	for _, rules := range [][]filter.Rule{filter.Args(), filter.NoUnixRules(), filter.NoNetRules(), filter.ShieldedCalls()} {
		for _, r := range rules {
			if slices.Contains(strings.Fields(r.Calls), name) {
				return true
			}
		}
	}
	return false
}

// search writes a binary search over the spans.
func search(spans []span) ([]byte, error) {
	if len(spans) == 1 {
		return instruction(0x06, 0, 0, uint32(spans[0].leaf)), nil
	}
	middle := len(spans) / 2
	below, err := search(spans[:middle])
	if err != nil {
		return nil, err
	}
	above, err := search(spans[middle:])
	if err != nil {
		return nil, err
	}
	jump := len(below) / 8
	if jump > 255 {
		return nil, fmt.Errorf("a jump over %d instructions", jump)
	}
	code := instruction(0x35, byte(jump), 0, spans[middle].first)
	return append(append(code, below...), above...), nil
}

// instruction encodes a struct sock_filter.
func instruction(op uint16, yes, no byte, k uint32) []byte {
	code := binary.LittleEndian.AppendUint16(nil, op)
	return binary.LittleEndian.AppendUint32(append(code, yes, no), k)
}
