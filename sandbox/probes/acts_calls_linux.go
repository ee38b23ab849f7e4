//go:build amd64 || arm64

package probes

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// callActs make system calls that a filter refuses. None of them changes the
// host when it gets through: arguments are chosen so that the kernel fails
// after its checks of rights, with an error that shows it (see past).
func callActs() []act {
	return []act{
		{"io-uring", ioUring},
		{"io-uring-answers", func(arguments) error {
			begun()
			var params [128]byte
			_, _, _ = unix.Syscall(unix.SYS_IO_URING_SETUP, 1, pointer(&params), 0)
			return nil // alive
		}},
		{"io-uring-open", ioUringOpen},
		{"keyctl", func(arguments) error {
			begun()
			_, err := unix.KeyctlInt(unix.KEYCTL_GET_KEYRING_ID, unix.KEY_SPEC_SESSION_KEYRING, 0, 0, 0)
			return past(err, unix.ENOKEY)
		}},
		{"add-key", func(arguments) error {
			begun()
			_, err := unix.AddKey("user", "sbx-probe", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
			return err
		}},
		{"request-key", func(arguments) error {
			begun() // without a callout text the kernel starts no program
			return past(call(unix.SYS_REQUEST_KEY, text("user"), text("sbx-probe-absent"), 0, 0), unix.ENOKEY)
		}},
		{"bpf", func(arguments) error {
			begun()
			return past(call(unix.SYS_BPF, 0, 0, 0), unix.EINVAL, unix.EFAULT, unix.E2BIG)
		}},
		{"perf", func(arguments) error {
			begun()
			attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}
			attr.Size = uint32(unsafe.Sizeof(attr))
			return closing(unix.PerfEventOpen(&attr, 0, -1, -1, 0))
		}},
		{"userfaultfd", func(arguments) error { begun(); return call(unix.SYS_USERFAULTFD, 1) }}, // UFFD_USER_MODE_ONLY
		{"name-to-handle", func(a arguments) error {
			begun()
			_, _, err := unix.NameToHandleAt(unix.AT_FDCWD, a.text(0), 0)
			return err
		}},
		{"open-by-handle", func(arguments) error {
			begun()
			_, err := unix.OpenByHandleAt(-1, unix.NewFileHandle(1, make([]byte, 8)), 0)
			return past(err, unix.EBADF, unix.ESTALE)
		}},
		{"fanotify", func(arguments) error { begun(); return closing(unix.FanotifyInit(unix.FAN_CLASS_CONTENT, 0)) }},
		{"swapon", func(a arguments) error { begun(); return past(call(unix.SYS_SWAPON, text(a.text(0)), 0), unix.EINVAL) }},
		{"acct", func(a arguments) error { begun(); return past(unix.Acct(a.text(0)+".absent"), unix.ENOENT) }},
		{"adjtimex", func(arguments) error {
			begun()
			_, err := unix.Adjtimex(&unix.Timex{Modes: unix.ADJ_TICK, Tick: 1})
			return past(err, unix.EINVAL)
		}},
		{"sethostname", func(arguments) error { begun(); return past(call(unix.SYS_SETHOSTNAME, 0, ^uintptr(0)), unix.EINVAL) }},
		{"setdomainname", func(arguments) error { begun(); return past(call(unix.SYS_SETDOMAINNAME, 0, ^uintptr(0)), unix.EINVAL) }},
		{"kernel-log", func(arguments) error { begun(); return call(unix.SYS_SYSLOG, 10, 0, 0) }}, // size of the buffer
		{"reboot", func(arguments) error { begun(); return past(call(unix.SYS_REBOOT, 1, 2, 3, 0), unix.EINVAL) }},
		{"init-module", func(arguments) error {
			begun()
			return past(call(unix.SYS_INIT_MODULE, 0, 0, 0), unix.EFAULT, unix.ENOEXEC)
		}},
		{"finit-module", func(arguments) error {
			begun()
			return past(call(unix.SYS_FINIT_MODULE, ^uintptr(0), 0, 0), unix.EBADF, unix.EFAULT)
		}},
		{"delete-module", func(arguments) error {
			begun()
			return past(call(unix.SYS_DELETE_MODULE, text("sbx_probe_absent"), unix.O_NONBLOCK), unix.ENOENT)
		}},
		{"kexec", func(arguments) error {
			begun()
			return past(call(unix.SYS_KEXEC_LOAD, 0, 1, 0, 1<<16), unix.EINVAL, unix.EFAULT)
		}},
		{"kexec-file", func(arguments) error {
			begun()
			return past(call(unix.SYS_KEXEC_FILE_LOAD, ^uintptr(0), ^uintptr(0), 0, 0, 0), unix.EBADF, unix.EINVAL)
		}},

		{"mount", func(a arguments) error {
			begun()
			return past(unix.Mount("", a.text(0), "", unix.MS_REMOUNT|unix.MS_BIND, ""), unix.EINVAL)
		}},
		{"propagation", func(arguments) error { // two kinds at once: refused for that, after the check of rights
			begun()
			return past(unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_SHARED, ""), unix.EINVAL)
		}},
		{"umount", func(a arguments) error { begun(); return past(unix.Unmount(a.text(0), 0), unix.EINVAL) }},
		{"fsopen", func(arguments) error { begun(); return past(call(unix.SYS_FSOPEN, text("sbxnofs"), 0), unix.ENODEV) }},
		{"open-tree", func(a arguments) error {
			begun()
			return closing(unix.OpenTree(unix.AT_FDCWD, a.text(0), unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC))
		}},
		{"move-mount", func(arguments) error {
			begun()
			return past(unix.MoveMount(-1, "", -1, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH), unix.EBADF)
		}},
		{"mount-setattr", func(a arguments) error {
			begun()
			return past(unix.MountSetattr(unix.AT_FDCWD, a.text(0), 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOEXEC}), unix.EINVAL)
		}},
		{"pivot-root", func(a arguments) error {
			begun()
			return past(unix.PivotRoot(a.text(0), a.text(0)), unix.EINVAL, unix.EBUSY)
		}},
		{"chroot", func(a arguments) error { begun(); return unix.Chroot(a.text(0)) }},
		{"unshare", func(a arguments) error { begun(); return childIn(uintptr(a.number(0)), true) }},
		{"clone", func(a arguments) error { begun(); return childIn(uintptr(a.number(0)), false) }},
		{"clone3", clone3},
		{"iopl", func(arguments) error { begun(); return iopl() }},
		{"set-id", setID},
		{"chmod-set-id", func(a arguments) error { begun(); return unix.Chmod(a.text(0), 0o4755) }},
		{"fchmod-set-id", onReadOnly(func(fd int) error { return unix.Fchmod(fd, 0o2755) })},
		{"fchmodat-set-id", func(a arguments) error { begun(); return unix.Fchmodat(unix.AT_FDCWD, a.text(0), 0o6755, 0) }},
		{"fchmodat2-set-id", func(a arguments) error {
			begun()
			return unix.Fchmodat(unix.AT_FDCWD, a.text(0), 0o4755, unix.AT_SYMLINK_NOFOLLOW)
		}},
		{"int80", func(arguments) error { begun(); return int80() }},
		{"x32", func(arguments) error { begun(); return call(0x40000000 | unix.SYS_GETPID) }},
		{"debug-child", func(arguments) error { begun(); return traceChild() }},
	}
}

func ioUring(arguments) error {
	begun()
	var params [128]byte
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, pointer(&params), 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// clone3 with a new user namespace; ENOSYS makes programs fall back to clone.
func clone3(arguments) error {
	begun()
	var args struct{ flags, pidfd, child, parent, exit, stack, size, tls uint64 }
	args.flags = unix.CLONE_NEWUSER | unix.CLONE_FS // not allowed together: EINVAL once the call is let through
	return past(call(unix.SYS_CLONE3, pointer(&args), unsafe.Sizeof(args)), unix.EINVAL)
}

// childIn starts a process in new namespaces. With unshare the child leaves
// them by itself, with one thread as unshare(2) wants for user namespaces.
func childIn(flags uintptr, unshare bool) error {
	self, err := os.Executable()
	if err != nil {
		return setup("find own program", err)
	}
	c := exec.Command(self)
	c.Args = append(helperPrefix(), modeAct, "nothing")
	c.SysProcAttr = &unix.SysProcAttr{}
	if unshare {
		c.SysProcAttr.Unshareflags = flags
	} else {
		c.SysProcAttr.Cloneflags = flags
	}
	return c.Run()
}

// helperPrefix is how this process was called up to its mode.
func helperPrefix() []string {
	for i, a := range os.Args {
		if i > 0 && strings.HasPrefix(a, "__") {
			return append([]string(nil), os.Args[:i]...)
		}
	}
	return []string{os.Args[0]}
}

// setID makes files with set-id bits in each way that has a mode.
func setID(a arguments) error {
	begun()
	name := a.text(1)
	switch a.text(0) {
	case "open":
		return closing(unix.Open(name, unix.O_CREAT|unix.O_WRONLY, 0o4755))
	case "creat":
		return closing(unix.Creat(name, 0o4755))
	case "mknod":
		return unix.Mknod(name, unix.S_IFREG|0o4755, 0)
	case "mknodat":
		return unix.Mknodat(unix.AT_FDCWD, name, unix.S_IFREG|0o2755, 0)
	case "openat2":
		return closing(unix.Openat2(unix.AT_FDCWD, name, &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o4755}))
	case "tmpfile":
		fd, err := unix.Open(name, unix.O_TMPFILE|unix.O_WRONLY, 0o4755)
		if err != nil {
			return err
		}
		return linkOut(fd, name+"/linked")
	}
	return setup("set-id", errors.New("no such way"))
}

// traceChild is what a debugger does.
func traceChild() error {
	runtime.LockOSThread()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := exec.Command(self)
	c.Args = append(helperPrefix(), modeAct, "nothing")
	c.SysProcAttr = &unix.SysProcAttr{Ptrace: true}
	if err := c.Start(); err != nil {
		return err
	}
	var ws unix.WaitStatus
	if _, err := unix.Wait4(c.Process.Pid, &ws, 0, nil); err != nil {
		return err
	}
	if err := unix.PtraceDetach(c.Process.Pid); err != nil {
		return err
	}
	return c.Wait()
}

// text is a C string as an argument of a system call.
func text(s string) uintptr {
	b, _ := unix.BytePtrFromString(s)
	pinned.Pin(b)
	return uintptr(unsafe.Pointer(b))
}

// pinned keeps what text returns where it is; the process ends soon.
var pinned runtime.Pinner
