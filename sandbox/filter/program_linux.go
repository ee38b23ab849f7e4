//go:build linux && (amd64 || arm64)

package filter

import (
	"encoding/binary"
	"fmt"
	"strings"
	"syscall"
	"unsafe"
)

// Program returns the instructions of the program of these parts for this
// architecture, as struct sock_filter in memory order: what seccomp(2) loads and
// bwrap --seccomp reads.
func Program(parts ...string) ([]byte, error) {
	switch strings.Join(parts, "+") {
	case Base:
		return []byte(baseCode), nil
	case Base + "+" + NoUnix:
		return []byte(noUnixCode), nil
	case Base + "+" + NoNet:
		return []byte(noNetCode), nil
	case Base + "+" + NoUnix + "+" + NoNet:
		return []byte(noSocketCode), nil
	}
	return nil, fmt.Errorf("filter of %q: there is none", parts)
}

// Load is what seccomp(2) wants to be pointed at: the programs one after the
// other, as if each had been loaded by itself. One load costs less at start,
// and less at every call, than several.
func Load(programs ...[]byte) []syscall.SockFilter {
	code := Chain(programs...)
	out := make([]syscall.SockFilter, len(code)/instructionBytes)
	for i := range out {
		copy((*[instructionBytes]byte)(unsafe.Pointer(&out[i]))[:], code[i*instructionBytes:])
	}
	return out
}

const (
	load   = 0x20 // BPF_LD | BPF_W | BPF_ABS
	jumpEq = 0x15 // BPF_JMP | BPF_JEQ | BPF_K

	offNumber = 0  // seccomp_data.nr
	offArch   = 4  // seccomp_data.arch
	offArg0   = 16 // low half of args[0], little endian
	offArg1   = 24
)

// ThreadShield is a program that refuses every signal aimed at one thread. A
// command confined by way of a thread of its supervisor shares that thread's
// Landlock domain, so Landlock would let it signal the thread, and a fatal
// signal to one thread ends the whole process. (The other roads to a single
// thread, PIDFD_THREAD and F_SETOWN_EX, are closed in Args.)
func ThreadShield(tid int) []byte {
	var code []byte
	add := func(op uint16, yes, no byte, k uint32) {
		code = binary.LittleEndian.AppendUint16(code, op)
		code = append(code, yes, no)
		code = binary.LittleEndian.AppendUint32(code, k)
	}
	add(load, 0, 0, offArch)
	add(jumpEq, 0, 12, auditArch) // base kills what is not of this architecture
	add(load, 0, 0, offNumber)
	add(jumpEq, 5, 0, syscall.SYS_KILL) // kill(2) takes the number of a thread, too
	add(jumpEq, 4, 0, syscall.SYS_TKILL)
	add(jumpEq, 3, 0, syscall.SYS_RT_SIGQUEUEINFO)
	add(jumpEq, 4, 0, syscall.SYS_TGKILL)
	add(jumpEq, 3, 0, syscall.SYS_RT_TGSIGQUEUEINFO)
	add(opReturn, 0, 0, retAllow)
	add(load, 0, 0, offArg0)
	add(jumpEq, 2, 3, uint32(tid))
	add(load, 0, 0, offArg1)
	add(jumpEq, 0, 1, uint32(tid))
	add(opReturn, 0, 0, retErrno|uint32(syscall.EPERM))
	add(opReturn, 0, 0, retAllow)
	return code
}
