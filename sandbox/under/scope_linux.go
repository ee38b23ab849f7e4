//go:build amd64 || arm64

package under

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	scopeAbstract = 1 // LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	scopeSignal   = 2 // LANDLOCK_SCOPE_SIGNAL
	scopingABI    = 6 // the first that has them
)

// Scopes says whether Landlock can keep the command from processes and abstract
// sockets outside. Namespaces alone do not: process group 0 of the command may be
// that of the caller, and the network that of the host.
func Scopes() bool {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	return errno == 0 && abi >= scopingABI
}

// scope makes the ruleset for that. It has no rules about files.
func scope() (int, error) {
	attr := unix.LandlockRulesetAttr{Scoped: scopeAbstract | scopeSignal}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil // it closes on exec, as all that the kernel makes of Landlock
}
