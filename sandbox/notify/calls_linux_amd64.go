package notify

import "golang.org/x/sys/unix"

// oldCalls are those that start at the current directory, or take times in
// formats of the past. Newer architectures have none of them.
func oldCalls() []call {
	return []call{
		one(unix.SYS_OPEN, "open", Write, none, 0, 1, true),
		one(unix.SYS_CREAT, "creat", Write, none, 0, none, true),

		one(unix.SYS_MKDIR, "mkdir", Create, none, 0, none, false),
		one(unix.SYS_MKNOD, "mknod", Create, none, 0, none, false),
		one(unix.SYS_SYMLINK, "symlink", Create, none, 1, none, false),

		one(unix.SYS_UNLINK, "unlink", Delete, none, 0, none, false),
		one(unix.SYS_RMDIR, "rmdir", DeleteDir, none, 0, none, false),

		two(unix.SYS_RENAME, "rename", Rename, [2]int{none, none}, [2]int{0, 1}, none),
		two(unix.SYS_LINK, "link", Link, [2]int{none, none}, [2]int{0, 1}, none),

		one(unix.SYS_CHMOD, "chmod", Mode, none, 0, none, true),
		one(unix.SYS_CHOWN, "chown", Owner, none, 0, none, true),
		one(unix.SYS_LCHOWN, "lchown", Owner, none, 0, none, false),
		one(unix.SYS_UTIME, "utime", Times, none, 0, none, true),
		one(unix.SYS_UTIMES, "utimes", Times, none, 0, none, true),
		one(unix.SYS_FUTIMESAT, "futimesat", Times, 0, 1, none, true),
	}
}

const auditArch = unix.AUDIT_ARCH_X86_64
