package filter

import "encoding/binary"

const (
	instructionBytes = 8          // struct sock_filter
	opReturn         = 0x06       // BPF_RET | BPF_K
	opJump           = 0x05       // BPF_JMP | BPF_JA
	retAllow         = 0x7fff0000 // SECCOMP_RET_ALLOW
	retErrno         = 0x00050000 // SECCOMP_RET_ERRNO
)

// Decided is a return value of base: allow, whatever the arguments, so no later
// program has to look. To the kernel it is SECCOMP_RET_ALLOW with a number in
// the part that is ignored; Chain clears the number, because the kernel skips
// the filter altogether only for calls that return the plain value.
const Decided = retAllow | 1

// Chain makes one program of several: where one would allow, the next decides.
func Chain(programs ...[]byte) []byte {
	out := Join(programs...)
	replace(out, func(at int, k uint32) (uint16, uint32) {
		if k == Decided {
			k = retAllow
		}
		return opReturn, k
	})
	return out
}

// Join is Chain for programs that will be chained again.
func Join(programs ...[]byte) []byte {
	total := 0
	for _, p := range programs {
		total += len(p)
	}
	out := make([]byte, 0, total)
	for i, p := range programs {
		start := len(out)
		out = append(out, p...)
		if i == len(programs)-1 {
			break
		}
		replace(out[start:], func(at int, k uint32) (uint16, uint32) {
			if k == retAllow {
				return opJump, uint32((len(p)-at)/instructionBytes - 1)
			}
			return opReturn, k
		})
	}
	return out
}

// replace rewrites the return instructions of a program.
func replace(code []byte, with func(at int, k uint32) (op uint16, newK uint32)) {
	for at := 0; at < len(code); at += instructionBytes {
		if binary.LittleEndian.Uint16(code[at:]) != opReturn {
			continue
		}
		op, k := with(at, binary.LittleEndian.Uint32(code[at+4:]))
		binary.LittleEndian.PutUint16(code[at:], op)
		binary.LittleEndian.PutUint32(code[at+4:], k)
	}
}
