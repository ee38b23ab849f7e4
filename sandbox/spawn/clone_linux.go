//go:build amd64 || arm64

package spawn

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rawClone starts a child by the system call nr, clone or clone3, that goes
// through the table of c and never returns. The parent gets its pid, or an
// errno. c escapes: the child outlives the call.
func rawClone(nr, a, b uintptr, c *context) (pid, errno uintptr)

// cloneArgs is struct clone_args of the kernel, as of its first version.
type cloneArgs struct {
	flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls uint64
}

// clone makes the child, on a stack that it shares with nobody. Where the kernel
// can, the child has no handlers of signals from its first instruction on.
func clone(flags uintptr, stack []uint64, c *context) (pid, errno uintptr) {
	flags |= unix.CLONE_VM
	base := uintptr(unsafe.Pointer(unsafe.SliceData(stack)))
	size := uintptr(len(stack)) * unsafe.Sizeof(stack[0])
	if !clearsHandlers() {
		return rawClone(unix.SYS_CLONE, flags|uintptr(unix.SIGCHLD), (base+size)&^15, c)
	}
	args := &cloneArgs{
		flags: uint64(flags) | unix.CLONE_CLEAR_SIGHAND, exitSignal: uint64(unix.SIGCHLD),
		stack: uint64(base), stackSize: uint64(size &^ 15),
	}
	return rawClone(unix.SYS_CLONE3, uintptr(unsafe.Pointer(args)), unsafe.Sizeof(*args), c)
}

// clearsHandlers finds out once whether clone3 is there: filters, ours among
// them, answer ENOSYS or EPERM, because they cannot see its flags. The kernel
// itself finds these flags contradictory. CLONE_CLEAR_SIGHAND came with Linux
// 5.5, before Landlock.
func clearsHandlers() bool {
	if clone3.Load() == unknown {
		args := &cloneArgs{flags: unix.CLONE_CLEAR_SIGHAND | unix.CLONE_SIGHAND | unix.CLONE_VM}
		_, _, errno := syscall.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(args)), unsafe.Sizeof(*args), 0)
		if errno == unix.EINVAL {
			clone3.Store(works)
		} else {
			clone3.Store(refused)
		}
	}
	return clone3.Load() == works
}

// clone3 is what is known of the system call.
var clone3 atomic.Int32

const (
	unknown = iota
	works
	refused
)

// initAddr is the address of the code of pid 1, which is only ever copied.
func initAddr() uintptr
