package filter

// Calls decides by number alone. A call without a row answers ENOSYS.
//
// Sources: the system call tables of Linux up to LastReviewed, the default
// profile of container engines (github.com/moby/profiles), and trying it:
// git, compilers, interpreters, tracers and build tools run under this table.
func Calls() []Rule {
	return []Rule{
		{
			Calls: "read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek close close_range dup dup2 dup3 " +
				"fcntl flock fsync fdatasync sync syncfs sync_file_range fadvise64 fallocate ftruncate truncate readahead " +
				"sendfile copy_file_range splice tee vmsplice pipe pipe2 ioctl",
			Answer: Allow, Why: "input and output on open files; ioctl has rows in Args",
		},
		{
			Calls: "open openat creat mkdir mkdirat mknod mknodat rmdir unlink unlinkat rename renameat renameat2 link linkat symlink symlinkat " +
				"readlink readlinkat access faccessat faccessat2 chdir fchdir getcwd getdents getdents64 stat lstat fstat newfstatat statx " +
				"statfs fstatfs ustat umask chmod fchmod fchmodat chown fchown lchown fchownat utime utimes futimesat utimensat",
			Answer: Allow, Why: "files: Landlock decides which; modes have rows in Args",
		},
		{
			Calls:  "getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr",
			Answer: Allow, Why: "reading attributes changes nothing",
		},
		{
			Calls: "setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr", Answer: NotSupported,
			Why: "Landlock does not cover attributes of files outside; with ENOTSUP cp -a and tar go on, with EPERM they fail",
		},
		{Calls: "inotify_init inotify_init1 inotify_add_watch inotify_rm_watch", Answer: Allow, Why: "file watchers of build tools"},
		{
			Calls: "mmap mprotect munmap mremap msync mincore madvise brk mlock mlock2 munlock mlockall munlockall remap_file_pages " +
				"memfd_create memfd_secret membarrier pkey_mprotect pkey_alloc pkey_free mbind set_mempolicy get_mempolicy migrate_pages move_pages",
			Answer: Allow, Why: "memory of the process itself; move_pages and migrate_pages of others need ptrace access",
		},
		{
			Calls: "clone fork vfork execve execveat exit exit_group wait4 waitid set_tid_address set_robust_list get_robust_list rseq " +
				"futex futex_waitv restart_syscall arch_prctl set_thread_area get_thread_area prctl seccomp personality ptrace",
			Answer: Allow, Why: "processes; ptrace stays for debuggers: Landlock limits it to the sandbox; clone has rows in Args",
		},
		{Calls: "landlock_create_ruleset landlock_add_rule landlock_restrict_self", Answer: Allow, Why: "a program may confine itself further"},
		{
			Calls: "getpid getppid gettid getpgid getpgrp getsid setpgid setsid getuid geteuid getgid getegid getgroups getresuid getresgid " +
				"setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups capget capset",
			Answer: Allow, Why: "identity: without capabilities nobody becomes anybody else",
		},
		{
			Calls: "kill tkill tgkill rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_tgsigqueueinfo " +
				"rt_sigsuspend sigaltstack pause signalfd signalfd4 pidfd_open pidfd_send_signal",
			Answer: Allow, Why: "signals: Landlock scopes them; threads of others have rows in Args",
		},
		{
			Calls: "getrlimit setrlimit prlimit64 getrusage getpriority setpriority times sysinfo uname getcpu ioprio_get ioprio_set " +
				"sched_yield sched_setparam sched_getparam sched_setscheduler sched_getscheduler sched_get_priority_max sched_get_priority_min " +
				"sched_rr_get_interval sched_setaffinity sched_getaffinity sched_setattr sched_getattr",
			Answer: Allow, Why: "limits and scheduling; prlimit64 has a row in Args",
		},
		{
			Calls: "time gettimeofday clock_gettime clock_getres clock_nanosleep nanosleep getitimer setitimer alarm timer_create timer_settime " +
				"timer_gettime timer_getoverrun timer_delete timerfd_create timerfd_settime timerfd_gettime",
			Answer: Allow, Why: "reading clocks and waiting",
		},
		{
			Calls: "select pselect6 poll ppoll epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd eventfd2 " +
				"io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents",
			Answer: Allow, Why: "waiting for files; the old aio works on files that are open",
		},
		{
			Calls: "socket socketpair connect accept accept4 bind listen sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg shutdown " +
				"getsockname getpeername setsockopt getsockopt",
			Answer: Allow, Why: "sockets: the families have rows in Args and in the programs nounix and nonet",
		},
		{
			Calls: "shmget shmat shmctl shmdt semget semop semctl semtimedop msgget msgsnd msgrcv msgctl mq_open mq_unlink mq_timedsend " +
				"mq_timedreceive mq_notify mq_getsetattr",
			Answer: Allow, Why: "System V and POSIX objects between processes; shared with the host in tiers without an ipc namespace",
		},
		{Calls: "getrandom", Answer: Allow, Why: "random numbers"},

		{Calls: "clone3", Why: "its flags are in memory where a filter cannot see them; every C library falls back to clone"},
		{Calls: "openat2", Why: "its mode is in memory where a filter cannot see it; programs fall back to openat"},
		{Calls: "io_uring_setup io_uring_enter io_uring_register", Why: "a second road past this table, with a history of kernel bugs; runtimes probe for it and fall back"},
		{
			Calls: "process_vm_readv process_vm_writev kcmp pidfd_getfd process_madvise process_mrelease", Answer: NotPermitted,
			Why: "reach into another process; debuggers use ptrace",
		},
		{Calls: "bpf perf_event_open userfaultfd", Answer: NotPermitted, Why: "large kernel surface with a history of privilege escalation"},
		{Calls: "keyctl add_key request_key", Answer: NotPermitted, Why: "the user's kernel keyring holds credentials"},
		{Calls: "kexec_load kexec_file_load init_module finit_module delete_module", Answer: NotPermitted, Why: "replace kernel code"},
		{Calls: "open_by_handle_at name_to_handle_at", Answer: NotPermitted, Why: "open files past the path (CVE-2014-3519, the container escape by file handle)"},
		{
			Calls: "mount umount2 pivot_root chroot fsopen fsconfig fsmount fspick move_mount open_tree mount_setattr", Answer: NotPermitted,
			Why: "change what a path means",
		},
		{Calls: "setns unshare", Answer: NotPermitted, Why: "namespaces give capabilities over kernel code that ordinary users cannot reach"},
		{Calls: "settimeofday clock_settime clock_adjtime adjtimex", Answer: NotPermitted, Why: "set the host's clock"},
		{
			Calls: "swapon swapoff reboot acct quotactl quotactl_fd sethostname setdomainname syslog vhangup iopl ioperm modify_ldt", Answer: NotPermitted,
			Why: "administration of the host, or hardware",
		},
		{Calls: "fanotify_init fanotify_mark", Answer: NotPermitted, Why: "watch and hold up other users' file accesses"},

		{
			Calls: "uselib sysfs _sysctl create_module get_kernel_syms query_module nfsservctl getpmsg putpmsg afs_syscall tuxcall security " +
				"lookup_dcookie epoll_ctl_old epoll_wait_old vserver",
			Why: "removed from the kernel or never there",
		},
		{
			Calls: "set_mempolicy_home_node cachestat fchmodat2 map_shadow_stack futex_wake futex_wait futex_requeue statmount listmount lsm_get_self_attr " +
				"lsm_set_self_attr lsm_list_modules mseal setxattrat getxattrat listxattrat removexattrat open_tree_attr file_getattr file_setattr " +
				"listns rseq_slice_yield uretprobe uprobe",
			Why: "newer than Linux 5.16: every program falls back, and fchmodat2 and setxattrat would need rules that libseccomp 2.5 cannot write for them",
		},
	}
}

const (
	// CLONE_NEWTIME is not among them: it shares its bit with the exit signal of
	// clone, and exists for clone3 and unshare only.
	newNamespace = 0x7e020000 // CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
	setID        = 0o6000     // S_ISUID, S_ISGID

	openCreate  = 0o100      // O_CREAT
	openTemp    = 0o20000000 // the bit of O_TMPFILE that is not O_DIRECTORY
	pidfdThread = 0o200      // PIDFD_THREAD = O_EXCL
	setOwnerEx  = 15         // F_SETOWN_EX
	tiocsti     = 0x5412     // TIOCSTI
	tioclinux   = 0x541c     // TIOCLINUX
	tiocsetd    = 0x5423     // TIOCSETD
	subvolMask  = 0xffffff00 // of requests, all but the number
	subvolumes  = 0x50009400 // BTRFS_IOC_SNAP_CREATE, SUBVOL_CREATE, SNAP_DESTROY and their like
	subvolFlags = 0x4008941a // BTRFS_IOC_SUBVOL_SETFLAGS
	verity      = 0x40806685 // FS_IOC_ENABLE_VERITY
	addKey      = 0xc0506617 // FS_IOC_ADD_ENCRYPTION_KEY
	removeKey   = 0xc0406618 // FS_IOC_REMOVE_ENCRYPTION_KEY
	removeKeys  = 0xc0406619 // FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS
	prioProcess = 0          // PRIO_PROCESS
	ioProcess   = 1          // IOPRIO_WHO_PROCESS
	typeMask    = 0xf        // SOCK_TYPE_MASK
	typeDgram   = 2          // SOCK_DGRAM
	typeRaw     = 3          // SOCK_RAW; for the unix family another name of SOCK_DGRAM
	typePacket  = 10         // SOCK_PACKET
	familyUnix  = 1          // AF_UNIX
	familyIP4   = 2          // AF_INET
	familyIP6   = 10         // AF_INET6
	familyLink  = 16         // AF_NETLINK
	formatMask  = 0o170000   // S_IFMT
	formatChar  = 0o020000   // S_IFCHR
	formatBlock = 0o060000   // S_IFBLK
)

const (
	whySetID = "a program that runs as its owner would outlive the sandbox; set-group-id of a directory looks the same to a filter " +
		"and is refused too (new directories still inherit it from their parent)"
	whySetIDOpen = whySetID + "; the mode counts only when a file is made, otherwise it is whatever was in the register"
	whyDevice    = "a device node is a door to hardware"
	whyOldFamily = "old protocols nobody uses: kernel surface"
	whyRaw       = "forges packets"
	whySubvolume = "no rule by path is asked: a snapshot is a second name for all files of a subvolume, hidden ones too, which its owner may make " +
		"of a descriptor that was opened for reading; so are subvolumes made, removed and changed outside"
	whyEncryption = "locks and unlocks the user's encrypted directories, for everybody, by any descriptor of the file system"
	whyGroup      = "the process group 0 is the caller's, and no pid namespace keeps its members from being meant"
)

// Args refuses some arguments of calls that Calls allows. The first row whose
// conditions hold answers.
func Args() []Rule {
	return []Rule{
		{Calls: "prlimit64", When: []Cond{differs(0, 0)}, Answer: NotPermitted, Why: "changes limits of another process; Landlock does not cover it"},
		{Calls: "ioctl", When: []Cond{is(1, tiocsti)}, Answer: NotPermitted, Why: "types into the terminal (CVE-2017-5226, and CVE-2019-10063 for the mask)"},
		{Calls: "ioctl", When: []Cond{is(1, tioclinux)}, Answer: NotPermitted, Why: "pastes into a console"},
		{Calls: "ioctl", When: []Cond{is(1, tiocsetd)}, Answer: NotPermitted, Why: "loads line disciplines: kernel surface with a history of privilege escalation (CVE-2023-6546)"},
		{Calls: "ioctl", When: []Cond{masked(1, subvolMask, subvolumes)}, Answer: NotPermitted, Why: whySubvolume},
		{Calls: "ioctl", When: []Cond{is(1, subvolFlags)}, Answer: NotPermitted, Why: whySubvolume},
		{Calls: "ioctl", When: []Cond{is(1, verity)}, Answer: NotPermitted, Why: "makes a file read-only for ever, by a descriptor that was opened for reading"},
		{Calls: "ioctl", When: []Cond{is(1, addKey)}, Answer: NotPermitted, Why: whyEncryption},
		{Calls: "ioctl", When: []Cond{is(1, removeKey)}, Answer: NotPermitted, Why: whyEncryption},
		{Calls: "ioctl", When: []Cond{is(1, removeKeys)}, Answer: NotPermitted, Why: whyEncryption},
		{Calls: "setpriority", When: []Cond{differs(0, prioProcess)}, Answer: NotPermitted, Why: whyGroup},
		{Calls: "ioprio_set", When: []Cond{differs(0, ioProcess)}, Answer: NotPermitted, Why: whyGroup},
		{Calls: "pidfd_open", When: []Cond{hasAny(1, pidfdThread)}, Answer: Invalid, Why: "a handle on a single thread passes the rules that protect the starter's thread (package direct)"},
		{Calls: "fcntl", When: []Cond{is(1, setOwnerEx)}, Answer: Invalid, Why: "sends a signal of choice to a single thread, see pidfd_open"},
		{Calls: "clone", When: []Cond{hasAny(0, newNamespace)}, Answer: NotPermitted, Why: "makes a namespace, see unshare"},

		{Calls: "chmod fchmod creat mkdir mknod", When: []Cond{hasAny(1, setID)}, Answer: NotPermitted, Why: whySetID},
		{Calls: "fchmodat mkdirat mknodat", When: []Cond{hasAny(2, setID)}, Answer: NotPermitted, Why: whySetID},
		{Calls: "open", When: []Cond{hasAny(1, openCreate|openTemp), hasAny(2, setID)}, Answer: NotPermitted, Why: whySetIDOpen},
		{Calls: "openat", When: []Cond{hasAny(2, openCreate|openTemp), hasAny(3, setID)}, Answer: NotPermitted, Why: whySetIDOpen},
		{Calls: "mknod", When: []Cond{masked(1, formatMask, formatChar)}, Answer: NotPermitted, Why: whyDevice},
		{Calls: "mknod", When: []Cond{masked(1, formatMask, formatBlock)}, Answer: NotPermitted, Why: whyDevice},
		{Calls: "mknodat", When: []Cond{masked(2, formatMask, formatChar)}, Answer: NotPermitted, Why: whyDevice},
		{Calls: "mknodat", When: []Cond{masked(2, formatMask, formatBlock)}, Answer: NotPermitted, Why: whyDevice},

		{Calls: "socketpair", When: []Cond{above(0, familyUnix)}, Answer: FamilyUnsupported, Why: "only the unix family has pairs that programs use"},
		{Calls: "socket", When: []Cond{above(0, familyLink)}, Answer: FamilyUnsupported, Why: "vsock, packet, alg and the rest: kernel surface, or a road to the host"},
		{Calls: "socket", When: []Cond{within(0, familyIP4+1, familyIP6-1)}, Answer: FamilyUnsupported, Why: whyOldFamily},
		{Calls: "socket", When: []Cond{within(0, familyIP6+1, familyLink-1)}, Answer: FamilyUnsupported, Why: whyOldFamily},
		{Calls: "socket", When: []Cond{is(0, familyLink), above(2, 0)}, Answer: FamilyUnsupported, Why: "of netlink only the routing protocol, which lists interfaces"},
		{Calls: "socket", When: []Cond{masked(1, typeMask, typeRaw), within(0, familyIP4, familyIP6)}, Answer: NotPermitted, Why: whyRaw},
		{Calls: "socket", When: []Cond{masked(1, typeMask, typePacket), within(0, familyIP4, familyIP6)}, Answer: NotPermitted, Why: whyRaw},
	}
}

// NoUnixRules is the program nounix.
func NoUnixRules() []Rule {
	return []Rule{
		{Calls: "socket", When: []Cond{is(0, familyUnix)}, Answer: NotPermitted, Why: "a path to a socket outside is a door to a daemon: Docker, ssh-agent, D-Bus"},
		{Calls: "socketpair", When: []Cond{masked(1, typeMask, typeDgram)}, Answer: NotPermitted, Why: "one end of a datagram pair can be connected, or sent from, to any path"},
		{Calls: "socketpair", When: []Cond{masked(1, typeMask, typeRaw)}, Answer: NotPermitted, Why: "the unix family makes a datagram socket of it"},
	}
}

// NoNetRules is the program nonet.
func NoNetRules() []Rule {
	return []Rule{
		{Calls: "socket", When: []Cond{above(0, familyUnix)}, Answer: NotPermitted, Why: "the network is off; Landlock would leave UDP, fast open and multipath TCP"},
	}
}
