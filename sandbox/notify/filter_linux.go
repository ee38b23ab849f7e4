//go:build amd64 || arm64

package notify

import (
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	opLoad   = 0x20 // BPF_LD | BPF_W | BPF_ABS
	opEqual  = 0x15 // BPF_JMP | BPF_JEQ | BPF_K
	opSet    = 0x45 // BPF_JMP | BPF_JSET | BPF_K
	opReturn = 0x06 // BPF_RET | BPF_K

	offNumber = 0  // seccomp_data.nr
	offArch   = 4  // seccomp_data.arch
	offArgs   = 16 // seccomp_data.args, of 8 bytes each, low half first
)

// Filter is the program that stops the calls that do one of the acts, and
// allows all others: the filter of package filter, which is loaded beside it,
// has its own say on them.
func Filter(acts Acts) []syscall.SockFilter {
	var always, opens []call
	for _, c := range calls() {
		switch {
		case c.act == Write && c.flags != none && !acts.has(Read):
			opens = append(opens, c)
		case acts.has(c.act), c.nr == unix.SYS_UNLINKAT:
			always = append(always, c)
		}
	}
	// The end: one block for each open, then the two answers.
	blocks := 2 * len(opens)
	var code []syscall.SockFilter
	add := func(op uint16, yes, no int, k uint32) {
		code = append(code, syscall.SockFilter{Code: op, Jt: uint8(yes), Jf: uint8(no), K: k})
	}
	tests := len(always) + len(opens)
	allow := func() int { return 3 + tests + blocks - len(code) - 1 }
	stop := func() int { return allow() + 1 }
	add(opLoad, 0, 0, offArch)
	add(opEqual, 0, allow(), auditArch) // the other filter kills what is not of this architecture
	add(opLoad, 0, 0, offNumber)
	for i, c := range slices.Concat(opens, always) {
		switch {
		case i < len(opens): // to its block
			add(opEqual, 3+tests+2*i-len(code)-1, 0, c.nr)
		case i == tests-1:
			add(opEqual, stop(), allow(), c.nr)
		default:
			add(opEqual, stop(), 0, c.nr)
		}
	}
	for _, c := range opens {
		add(opLoad, 0, 0, uint32(offArgs+8*c.flags))
		add(opSet, stop(), allow(), opensForWriting)
	}
	add(opReturn, 0, 0, unix.SECCOMP_RET_ALLOW)
	add(opReturn, 0, 0, unix.SECCOMP_RET_USER_NOTIF)
	return code
}
