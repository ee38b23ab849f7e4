package direct

import (
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/filter"
	"github.com/sbx-run/sbx/sandbox/landlock"
	"github.com/sbx-run/sbx/sandbox/proc"
)

// step is one act on the thread that starts the command. The names go into the
// plan, in this order, and into the error of the step that failed.
type step struct {
	name string
	run  func() error
}

// steps restricts the calling thread. Each is irreversible.
func (s *session) steps(ruleset int, t proc.Thread) []step {
	all := []step{{"drop capability bounding set", dropBounding}}
	if i := s.profile.Identity; i != nil {
		all = append(all, step{"take identity", func() error { return take(i) }})
	}
	all = append(
		all,
		step{"set no_new_privs", func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
		step{"drop capabilities", dropCapabilities},
		step{"enter landlock domain", func() error { return landlock.Restrict(ruleset) }},
	)
	name := "load system call filter " + strings.Join(s.decision.filters, "+") + "+thread"
	all = append(all, step{name, func() error { return load(s.shielded(t.ID)) }})
	return slices.DeleteFunc(all, func(st step) bool { return s.only.omit != nil && s.only.omit(st.name) })
}

// restrict runs the steps; the first that fails is named.
func (s *session) restrict(ruleset int, t proc.Thread) error {
	for _, st := range s.steps(ruleset, t) {
		if err := st.run(); err != nil {
			return &proc.StepError{Step: st.name, Err: err}
		}
	}
	return nil
}

// take changes the credentials of this thread alone: package syscall would
// change those of the whole process.
func take(i *sandbox.Identity) error {
	var groups unsafe.Pointer
	if len(i.Groups) > 0 {
		groups = unsafe.Pointer(&i.Groups[0])
	}
	if _, _, errno := syscall.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(i.Groups)), uintptr(groups), 0); errno != 0 {
		return errno
	}
	gid, uid := uintptr(i.GID), uintptr(i.UID)
	if _, _, errno := syscall.RawSyscall(unix.SYS_SETRESGID, gid, gid, gid); errno != 0 {
		return errno
	}
	if _, _, errno := syscall.RawSyscall(unix.SYS_SETRESUID, uid, uid, uid); errno != 0 {
		return errno
	}
	runtime.KeepAlive(i)
	return nil
}

// dropBounding needs a capability itself. Without it there is nothing to drop
// for: no_new_privs keeps exec from granting any.
func dropBounding() error {
	for c := uintptr(0); ; c++ {
		switch err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err {
		case nil:
		case unix.EINVAL: // past the last capability of this kernel
			return nil
		case unix.EPERM:
			return nil
		default:
			return err
		}
	}
}

func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}

// shielded puts the session's filter and the shield of the starting thread into
// one.
func (s *session) shielded(tid int) []syscall.SockFilter {
	return filter.Load(s.bpf, filter.ThreadShield(tid))
}

func load(program []syscall.SockFilter) error {
	if len(program) == 0 {
		return unix.ENOSYS
	}
	prog := syscall.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return errno
	}
	return nil
}
