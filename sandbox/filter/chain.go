package filter

import "encoding/binary"

const (
	instructionBytes = 8          // struct sock_filter
	opReturn         = 0x06       // BPF_RET | BPF_K
	opJump           = 0x05       // BPF_JMP | BPF_JA
	retAllow         = 0x7fff0000 // SECCOMP_RET_ALLOW
	retErrno         = 0x00050000 // SECCOMP_RET_ERRNO
)

// Chain makes one program of several: where one would allow, the next decides.
func Chain(programs ...[]byte) []byte {
	total := 0
	for _, p := range programs {
		total += len(p)
	}
	out := make([]byte, 0, total)
	for i, p := range programs {
		start := len(out)
		out = append(out, p...)
		if i < len(programs)-1 {
			goOn(out[start:])
		}
	}
	return out
}

// Programs makes one program of several by their parts: see Program and Chain.
func Programs(names []string) ([]byte, error) {
	var list [][]byte
	for _, name := range names {
		code, err := Program(name)
		if err != nil {
			return nil, err
		}
		list = append(list, code)
	}
	return Chain(list...), nil
}

// goOn makes a program jump behind its end where it would allow.
func goOn(code []byte) {
	for at := 0; at < len(code); at += instructionBytes {
		if binary.LittleEndian.Uint16(code[at:]) == opReturn && binary.LittleEndian.Uint32(code[at+4:]) == retAllow {
			binary.LittleEndian.PutUint16(code[at:], opJump)
			binary.LittleEndian.PutUint32(code[at+4:], uint32((len(code)-at)/instructionBytes-1))
		}
	}
}
