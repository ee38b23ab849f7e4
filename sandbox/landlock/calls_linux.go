package landlock

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The system calls are made here and not by way of go-landlock: that restricts all
// threads of the process, and sbx restricts one.

// ABI asks the kernel for its Landlock ABI. The error is an errno: ENOSYS, the kernel is
// older or somebody filters the call; EOPNOTSUPP, it is switched off.
func ABI() (int, error) {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return int(v), nil
}

// Create makes a ruleset that refuses the handled rights on files, and what is scoped.
// It closes on exec, as all that the kernel makes of Landlock.
func Create(handled, scoped uint64) (int, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled, Scoped: scoped}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if scoped != 0 { // older kernels refuse a longer struct only when it is not zero
		size = unsafe.Offsetof(attr.Scoped) + unsafe.Sizeof(attr.Scoped)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// Allow grants rights on an open file, or below an open directory.
func Allow(ruleset, fd int, rights uint64) error {
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	runtime.KeepAlive(&attr)
	if errno != 0 {
		return errno
	}
	return nil
}

// Restrict puts the calling thread, and what it starts, under a ruleset.
func Restrict(ruleset int) error {
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return errno
	}
	return nil
}
