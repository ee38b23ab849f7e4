package main

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	seccomp "github.com/seccomp/libseccomp-golang"

	"github.com/sbx-run/sbx/sandbox/filter"
)

// The kernel runs a filter once for every number and translates it to machine
// code when it is loaded, so each process pays for its length. A number finds
// its answer by halves, the jumps of that search lead straight to what answers,
// and the arguments of a call are looked at in one place.

const (
	x32Bit = 0x40000000 // __X32_SYSCALL_BIT

	offNumber = 0  // seccomp_data.nr
	offArch   = 4  // seccomp_data.arch
	offArgs   = 16 // low half of args[0], little endian
)

// span is a run of numbers with one answer.
type span struct {
	first uint32
	to    label
}

// compile makes one program. A call without a row in calls answers ENOSYS; the
// first row of args whose conditions hold refuses.
func compile(m machine, calls, args []filter.Rule) ([]byte, error) {
	a := newAssembler()
	answers, err := answersOf(m.arch, calls, args)
	if err != nil {
		return nil, err
	}
	fallback := answerLabel(filter.NotImplemented)
	spans := spansOf(answers, fallback)
	if m.x32 {
		// Minus one is what a tracer writes to skip a call.
		spans = append(spans, span{x32Bit, "kill"}, span{^uint32(0), fallback})
	}
	a.load(offArch)
	// Another architecture on the same kernel (i386) has other numbers: nothing
	// that is decided here would hold.
	a.jump(jumpEqual, m.audit, "number", "kill")
	a.place("number")
	a.load(offNumber)
	a.search(spans)
	for _, call := range slices.Sorted(slices.Values(called(args))) {
		a.block(blockLabel(call), rowsOf(args, call))
	}
	return a.finish()
}

// answersOf sorts the calls of a table by number.
func answersOf(arch seccomp.ScmpArch, calls, args []filter.Rule) (map[uint32]label, error) {
	answers := map[uint32]label{}
	looked := called(args)
	for _, r := range calls {
		for name := range strings.FieldsSeq(r.Calls) {
			n, err := number(arch, name, r.Answer == filter.NotImplemented)
			if err != nil {
				return nil, err
			}
			switch {
			case n < 0: // this architecture has no such call
			case r.Answer == filter.Allow && slices.Contains(looked, name):
				answers[uint32(n)] = blockLabel(name)
			default:
				answers[uint32(n)] = answerLabel(r.Answer)
			}
		}
	}
	return answers, nil
}

// number asks libseccomp; it is negative where the architecture lacks the call.
func number(arch seccomp.ScmpArch, name string, unknown bool) (int32, error) {
	n, err := seccomp.GetSyscallFromNameByArch(name, arch)
	if err != nil && unknown { // newer than libseccomp
		return -1, nil
	}
	if err != nil {
		return 0, fmt.Errorf("call %q: %w", name, err)
	}
	return int32(n), nil
}

// called lists the calls that rules name, each once.
func called(rules []filter.Rule) []string {
	var names []string
	for _, r := range rules {
		for name := range strings.FieldsSeq(r.Calls) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func rowsOf(rules []filter.Rule, call string) []filter.Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r filter.Rule) bool {
		return !slices.Contains(strings.Fields(r.Calls), call)
	})
}

func spansOf(answers map[uint32]label, fallback label) []span {
	spans := []span{{0, fallback}}
	mark := func(at uint32, to label) {
		if last := &spans[len(spans)-1]; last.first == at {
			last.to = to
		} else {
			spans = append(spans, span{at, to})
		}
		if n := len(spans); n > 1 && spans[n-2].to == spans[n-1].to {
			spans = spans[:n-1]
		}
	}
	numbers := make([]uint32, 0, len(answers))
	for n := range answers {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		mark(n, answers[n])
		mark(n+1, fallback)
	}
	return spans
}

func answerLabel(a filter.Answer) label {
	if a == filter.Allow {
		return "allow"
	}
	return label(fmt.Sprintf("errno %d", errno(a)))
}

func blockLabel(call string) label { return label("call " + call) }

func errno(a filter.Answer) syscall.Errno {
	return map[filter.Answer]syscall.Errno{
		filter.NotImplemented:    syscall.ENOSYS,
		filter.NotPermitted:      syscall.EPERM,
		filter.NotSupported:      syscall.ENOTSUP,
		filter.FamilyUnsupported: syscall.EAFNOSUPPORT,
		filter.Denied:            syscall.EACCES,
		filter.Invalid:           syscall.EINVAL,
	}[a]
}
