package proc

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// siginfoPid reads si_pid, which follows three ints at the alignment of a
// pointer.
func siginfoPid(info *unix.Siginfo) int {
	const word = unsafe.Sizeof(uintptr(0))
	at := (3*unsafe.Sizeof(int32(0)) + word - 1) / word * word
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), at)))
}
