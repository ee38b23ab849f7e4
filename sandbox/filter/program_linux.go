//go:build linux && (amd64 || arm64)

package filter

import (
	"fmt"
	"syscall"
	"unsafe"
)

// Program returns the instructions of one program for this architecture, as
// struct sock_filter in memory order: what seccomp(2) loads and bwrap --seccomp
// reads.
func Program(name string) ([]byte, error) {
	switch name {
	case Base:
		return []byte(baseCode), nil
	case NoUnix:
		return []byte(noUnixCode), nil
	case NoNet:
		return []byte(noNetCode), nil
	}
	return nil, fmt.Errorf("filter %q: unknown name", name)
}

// Instructions turns a program into what seccomp(2) wants to be pointed at.
func Instructions(code []byte) []syscall.SockFilter {
	out := make([]syscall.SockFilter, len(code)/8)
	for i := range out {
		copy((*[8]byte)(unsafe.Pointer(&out[i]))[:], code[i*8:])
	}
	return out
}

const (
	load    = 0x20 // BPF_LD | BPF_W | BPF_ABS
	jumpEq  = 0x15 // BPF_JMP | BPF_JEQ | BPF_K
	ret     = 0x06 // BPF_RET | BPF_K
	retErr  = 0x00050000
	retPass = 0x7fff0000

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
func ThreadShield(tid int) []syscall.SockFilter {
	stmt := func(code uint16, k uint32) syscall.SockFilter { return syscall.SockFilter{Code: code, K: k} }
	jump := func(k uint32, yes, no uint8) syscall.SockFilter {
		return syscall.SockFilter{Code: jumpEq, Jt: yes, Jf: no, K: k}
	}
	return []syscall.SockFilter{
		stmt(load, offArch),
		jump(auditArch, 0, 12), // base kills what is not of this architecture
		stmt(load, offNumber),
		jump(syscall.SYS_KILL, 5, 0), // kill(2) takes the number of a thread, too
		jump(syscall.SYS_TKILL, 4, 0),
		jump(syscall.SYS_RT_SIGQUEUEINFO, 3, 0),
		jump(syscall.SYS_TGKILL, 4, 0),
		jump(syscall.SYS_RT_TGSIGQUEUEINFO, 3, 0),
		stmt(ret, retPass),
		stmt(load, offArg0),
		jump(uint32(tid), 2, 3),
		stmt(load, offArg1),
		jump(uint32(tid), 0, 1),
		stmt(ret, retErr|uint32(syscall.EPERM)),
		stmt(ret, retPass),
	}
}
