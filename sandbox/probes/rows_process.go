package probes

import "github.com/sbx-run/sbx/sandbox"

func signals() []sandbox.Control { return []sandbox.Control{sandbox.Signals} }

// others: the process list is a control of its own, and where it is a gap the
// priority of processes is too.
func others() []sandbox.Control { return []sandbox.Control{sandbox.ProcessesHidden} }

// memoryOf: reaching into other processes is what the system call filter, the
// capabilities and the credentials of a process are about.
func memoryOf() []sandbox.Control {
	return []sandbox.Control{sandbox.CredentialsHidden, sandbox.NoCapabilities, sandbox.SyscallFilter}
}

func processRows() []Row {
	return grouped("processes and privileges", []Row{
		{ID: "P45a", Try: "gain privileges by a set-id program: the flag against it is absent", Canary: Exit, Controls: []sandbox.Control{sandbox.NoNewPrivileges}, Act: []string{"no-new-privileges"}},
		{ID: "P45b", Try: "keep a capability", Canary: Exit, Controls: []sandbox.Control{sandbox.NoCapabilities}, Act: []string{"status-zero", "CapInh", "CapPrm", "CapEff", "CapAmb"}, Needs: Needs{Root: true}},
		{ID: "P45c", Try: "keep a capability in the bounding set", Canary: Exit, Controls: []sandbox.Control{sandbox.NoCapabilities, sandbox.NoNewPrivileges}, Act: []string{"status-zero", "CapBnd"}},
		{
			ID: "P46", Try: "become another user by a set-id program", Canary: Exit, Controls: []sandbox.Control{sandbox.NoNewPrivileges}, Needs: Needs{Root: true},
			Shell: `"$B/bin/other" $MODE effective-uid 1`,
		},
		{ID: "P49a", Try: "change the memory of a process outside by ptrace", Controls: memoryOf(), Act: []string{"ptrace-poke", "$VICTIM", "$ADDRESS"}},
		{ID: "P49b", Try: "change the memory of a process outside by process_vm_writev", Controls: memoryOf(), Act: []string{"vm-write", "$VICTIM", "$ADDRESS"}},
		{ID: "P49c", Try: "read the memory of a process outside by process_vm_readv", Canary: Secret, Controls: memoryOf(), Act: []string{"vm-read", "$VICTIM", "$ADDRESS"}},
		{ID: "P49d", Try: "read the memory of a process outside by /proc", Canary: Secret, Controls: memoryOf(), Act: []string{"memory-read", "$VICTIM", "$ADDRESS"}},
		{ID: "P49e", Try: "change the memory of a process outside by /proc", Controls: memoryOf(), Act: []string{"memory-write", "$VICTIM", "$ADDRESS"}},
		{ID: "P49f", Try: "trace the process that started the command", Canary: Exit, Controls: memoryOf(), Act: []string{"ptrace-parent"}, ControlAct: []string{"ptrace-seize", "$VICTIM"}},
		{ID: "P49g", Try: "open the memory of the process that started the command", Canary: Exit, Controls: memoryOf(), Act: []string{"memory-parent"}, ControlAct: []string{"memory-open", "$VICTIM"}},
		{ID: "P49h", Try: "trace the first process", Canary: Exit, Controls: memoryOf(), Act: []string{"ptrace-first"}, ControlAct: []string{"ptrace-seize", "$VICTIM"}},
		{ID: "P49i", Try: "open the memory of the first process", Canary: Exit, Controls: memoryOf(), Act: []string{"memory-first"}, ControlAct: []string{"memory-open", "$VICTIM"}},
		{ID: "N30", Try: "take a descriptor out of a process outside", Canary: Exit, Controls: memoryOf(), Act: []string{"pidfd-getfd", "$VICTIM"}},
		{ID: "N31", Try: "compare kernel objects with a process outside", Canary: Exit, Controls: []sandbox.Control{sandbox.SyscallFilter, sandbox.ProcessesHidden}, Act: []string{"kcmp", "$VICTIM"}},
		{ID: "P50a", Try: "kill a process outside", Controls: signals(), Act: []string{"kill", "$VICTIM", "9"}},
		{ID: "P50b", Try: "signal a process outside", Controls: signals(), Act: []string{"kill", "$VICTIM", "10"}},
		{ID: "P50c", Try: "signal a process group outside", Controls: signals(), Act: []string{"kill-group", "$VICTIM"}},
		{ID: "P50d", Try: "signal a thread outside by tgkill", Controls: signals(), Act: []string{"tgkill", "$VICTIM"}},
		{ID: "P50e", Try: "signal a thread outside by tkill", Controls: signals(), Act: []string{"tkill", "$VICTIM"}},
		{ID: "P50f", Try: "signal a process outside by rt_sigqueueinfo", Controls: signals(), Act: []string{"sigqueue", "$VICTIM"}},
		{ID: "P50g", Try: "signal a process outside by a pidfd", Controls: signals(), Act: []string{"pidfd-signal", "$VICTIM"}},
		{ID: "P50h", Try: "let the kernel signal a process outside (F_SETOWN)", Controls: signals(), Act: []string{"owner-signal", "$VICTIM"}},
		{ID: "P50i", Try: "stop a process outside", Controls: signals(), Act: []string{"kill", "$VICTIM", "19"}},
		{ID: "P50j", Try: "signal the process that started the command", Canary: Caller, Controls: signals(), Act: []string{"kill-parent"}},
		{ID: "P50k", Try: "signal a thread of the process that started the command", Canary: Caller, Controls: signals(), Act: []string{"tgkill-parent"}},
		{ID: "P50l", Try: "signal one's own child", Want: Works, Act: []string{"signal-child"}, Needs: Needs{Programs: []string{"sleep"}}},
		{ID: "N32", Try: "lower the limits of a process outside", Controls: []sandbox.Control{sandbox.SyscallFilter, sandbox.ProcessesHidden}, Act: []string{"prlimit", "$VICTIM"}},
		{ID: "N33", Try: "lower the priority of a process outside", Controls: others(), Act: []string{"setpriority", "$VICTIM"}},
		{ID: "N33b", Try: "lower the priority of the caller's process group", Canary: Exit, Controls: calls(), Act: []string{"setpriority-group"}},
		{ID: "N33c", Try: "lower the priority of input and output of the caller's process group", Canary: Exit, Controls: calls(), Act: []string{"ioprio-group"}},
		{ID: "N34", Try: "bind a process outside to one processor", Controls: others(), Act: []string{"affinity", "$VICTIM"}},
		{ID: "N35", Try: "offer a process outside to the out-of-memory killer", Controls: writes(), Act: []string{"oom-score", "$VICTIM"}},
		{ID: "N36", Try: "see the command line of a process outside", Canary: Secret, Controls: others(), Act: []string{"scan-cmdline"}},
		{ID: "P53a", Try: "type into the terminal", Controls: calls(), Procedure: []string{"type", "type"}},
		{ID: "P53b", Try: "type into the terminal, with a high bit in the request", Controls: calls(), Procedure: []string{"type", "type-high"}},
		{ID: "P53c", Try: "paste into a console", Canary: Exit, Controls: calls(), Procedure: []string{"type", "console-paste"}},
		{ID: "P53d", Try: "change the line discipline of a terminal", Canary: Exit, Controls: calls(), Act: []string{"line-discipline"}},
		{ID: "N37", Try: "write to another terminal of the user", Controls: []sandbox.Control{sandbox.Terminals}, Act: []string{"terminal-write", "$PTS"}},
		{ID: "P56a", Try: "connect to an abstract socket", Controls: []sandbox.Control{sandbox.AbstractSockets}, Act: []string{"abstract-stream", "$ABSTRACT-stream"}},
		{ID: "P56b", Try: "send to an abstract socket", Controls: []sandbox.Control{sandbox.AbstractSockets}, Act: []string{"abstract-dgram", "$ABSTRACT-dgram"}},
		{ID: "P56c", Try: "connect to an abstract socket where unix sockets are allowed", Setup: Setup{Unix: true}, Controls: []sandbox.Control{sandbox.AbstractSockets}, Act: []string{"abstract-stream", "$ABSTRACT-stream"}},
		{ID: "P56d", Try: "connect to a unix socket outside", Controls: sockets(), Act: []string{"unix-stream", "$SOCK/stream"}},
		{ID: "P56e", Try: "connect to a unix socket outside by a link in the workspace", Controls: sockets(), Act: []string{"unix-link", "$SOCK/stream", "$W/s"}},
		{ID: "P56f", Try: "send to a unix socket outside by sendto", Controls: sockets(), Act: []string{"unix-dgram", "$SOCK/dgram"}},
		{ID: "P56g", Try: "send to a unix socket outside by sendmsg", Controls: sockets(), Act: []string{"unix-sendmsg", "$SOCK/dgram"}},
		{ID: "P56h", Try: "send to a unix socket outside by sendmmsg", Controls: sockets(), Act: []string{"unix-sendmmsg", "$SOCK/dgram"}},
		{ID: "P56i", Try: "send to a unix socket outside from one end of a pair", Controls: sockets(), Act: []string{"pair-send", "$SOCK/dgram"}},
		{ID: "P56j", Try: "connect one end of a pair to a unix socket outside", Controls: sockets(), Act: []string{"pair-connect", "$SOCK/dgram"}},
		{ID: "P56k", Try: "send to a unix socket outside from a socket of the type raw", Controls: sockets(), Act: []string{"unix-raw", "$SOCK/dgram"}},
		{ID: "P56l", Try: "connect to a unix socket outside where unix sockets are allowed", Setup: Setup{Unix: true}, Controls: sockets(), Act: []string{"unix-stream", "$SOCK/stream"}},
		{ID: "P57a", Try: "connect to a socket in /run, as a container engine's", Controls: sockets(), Act: []string{"unix-stream", "$RUN/stream"}},
		{ID: "P57b", Try: "connect to a socket in the temp directory, as an agent's", Controls: sockets(), Act: []string{"unix-stream", "$T/stream"}},
		{ID: "P57c", Try: "connect to a socket in /run where unix sockets are allowed", Setup: Setup{Unix: true}, Controls: sockets(), Act: []string{"unix-stream", "$RUN/stream"}},
		{ID: "P58", Try: "connect to Docker, D-Bus, systemd or the desktop", Canary: Exit, Controls: sockets(), Act: []string{"known-sockets"}},
		{ID: "P59", Try: "leave a job with at or cron", Beyond: "the job would stay on this machine if it got through; the way there is set-id programs (P45, P46) and sockets (P57)"},
		{ID: "P60", Try: "make a pair of sockets", Want: Works, Act: []string{"socketpair"}},
		{ID: "N38", Try: "serve a unix socket in the workspace, where unix sockets are allowed", Want: Works, Setup: Setup{Unix: true}, Act: []string{"own-unix-server", "$W/own.sock"}},
		{ID: "P61a", Try: "open a new terminal", Want: Works, Act: []string{"open-pty"}},
		{ID: "P61b", Try: "run a pool of Python processes", Want: Works, Needs: Needs{Programs: []string{"python3"}}, Shell: `cd "$W" && printf 'import multiprocessing as m\nif __name__ == "__main__":\n    assert m.Pool(2).map(abs, [-1, 2]) == [1, 2]\n' >p.py && python3 p.py`},
		{ID: "P61c", Try: "ask for the user's name", Want: Works, Shell: `id -un >/dev/null || id -u >/dev/null`},
		{ID: "P63", Try: "run a program that was just written, in TMPDIR", Want: Works, Shell: `cp "$PROBE" "$TMPDIR/p" && "$TMPDIR/p" $MODE nothing`},
		{ID: "N39", Try: "run a program from memory (memfd)", Want: Works, Act: []string{"memfd-exec"}},
		{ID: "N40", Try: "debug one's own child", Want: Works, Act: []string{"debug-child"}},
		{ID: "P64", Try: "read a secret in the environment of a process outside", Canary: Secret, Controls: []sandbox.Control{sandbox.CredentialsHidden, sandbox.NoCapabilities}, Act: []string{"scan-environ"}},
		{ID: "P65a", Try: "load code by LD_PRELOAD of the caller", Canary: Secret, Procedure: []string{"exec-environment", "LD_PRELOAD"}},
		{ID: "P65b", Try: "load code by BASH_ENV of the caller", Canary: Secret, Procedure: []string{"exec-environment", "BASH_ENV"}},
		{ID: "P65c", Try: "load code by NODE_OPTIONS of the caller", Canary: Secret, Procedure: []string{"exec-environment", "NODE_OPTIONS"}},
		{ID: "P65d", Try: "load code by PYTHONSTARTUP of the caller", Canary: Secret, Procedure: []string{"exec-environment", "PYTHONSTARTUP"}},
		{ID: "P65e", Try: "load code by PERL5OPT of the caller", Canary: Secret, Procedure: []string{"exec-environment", "PERL5OPT"}},
		{ID: "P65f", Try: "load code by RUBYOPT of the caller", Canary: Secret, Procedure: []string{"exec-environment", "RUBYOPT"}},
		{ID: "P65g", Try: "run a program by GIT_SSH_COMMAND of the caller", Canary: Secret, Procedure: []string{"exec-environment", "GIT_SSH_COMMAND"}},
		{ID: "P65h", Try: "see a token of the caller", Canary: Secret, Procedure: []string{"exec-environment", "PROBE_API_TOKEN"}},
		{ID: "P65i", Try: "see the agent's socket of the caller", Canary: Secret, Procedure: []string{"exec-environment", "SSH_AUTH_SOCK"}},
		{ID: "P66", Try: "see a secret in a variable whose name does not say so", Beyond: "variables are taken out by name and by the form of the value; a secret without form under a harmless name stays"},
		{ID: "N41a", Try: "read shared memory of the host by /dev/shm", Canary: Secret, Controls: sharing(), Act: []string{"read", "$SHM/f"}},
		{ID: "N41b", Try: "write to /dev/shm of the host", Controls: sharing(), Act: []string{"create", "$SHM/new"}},
		{ID: "N42a", Try: "write to System V shared memory of the host", Controls: sharing(), Act: []string{"sysv-memory", "$KEY"}},
		{ID: "N42b", Try: "send to a System V queue of the host", Controls: sharing(), Act: []string{"sysv-message", "$KEY"}},
		{ID: "N42c", Try: "raise a System V semaphore of the host", Controls: sharing(), Act: []string{"sysv-semaphore", "$KEY"}},
		{ID: "N42d", Try: "send to a POSIX queue of the host", Controls: sharing(), Act: []string{"posix-message", "$QUEUE"}},
	})
}

func sockets() []sandbox.Control { return []sandbox.Control{sandbox.UnixSockets} }
func sharing() []sandbox.Control { return []sandbox.Control{sandbox.SharedMemory} }

func callRows() []Row {
	const group = "system calls"
	filtered := []struct {
		id, try string
		act     []string
		root    bool
	}{
		{"P51", "open a ring of io_uring", []string{"io-uring"}, false},
		{"P54a", "look at the kernel's keyring", []string{"keyctl"}, false},
		{"P54b", "add a key to the kernel's keyring", []string{"add-key"}, false},
		{"P54c", "ask for a key of the kernel's keyring", []string{"request-key"}, false},
		{"P54d", "load a BPF program", []string{"bpf"}, false},
		{"P54e", "count events of the processor", []string{"perf"}, false},
		{"P54f", "handle page faults in user space", []string{"userfaultfd"}, false},
		{"P54g", "load another kernel", []string{"kexec"}, true},
		{"P54h", "load another kernel from a file", []string{"kexec-file"}, true},
		{"P54i", "load a kernel module", []string{"init-module"}, true},
		{"P54j", "load a kernel module from a file", []string{"finit-module"}, true},
		{"P54k", "unload a kernel module", []string{"delete-module"}, true},
		{"N50a", "get a handle on a file", []string{"name-to-handle", "$O/f"}, false},
		{"N50b", "open a file by its handle", []string{"open-by-handle"}, true},
		{"N51", "watch the file accesses of others", []string{"fanotify"}, true},
		{"N52a", "swap to a file", []string{"swapon", "$O/f"}, true},
		{"N52b", "switch process accounting", []string{"acct", "$O/f"}, true},
		{"N52c", "adjust the clock", []string{"adjtimex"}, true},
		{"N52d", "set the host's name", []string{"sethostname"}, true},
		{"N52e", "set the host's domain", []string{"setdomainname"}, true},
		{"N52f", "read the kernel's log", []string{"kernel-log"}, true},
		{"N52g", "restart the machine", []string{"reboot"}, true},
		{"N52h", "get at the ports of the machine", []string{"iopl"}, true},
		{"P47a", "make a user namespace by unshare", []string{"unshare", "0x10000000"}, false},
		{"P47b", "make a user namespace by clone", []string{"clone", "0x10000000"}, false},
		{"P47c", "make a user namespace by clone3", []string{"clone3"}, false},
		{"P47d", "make a mount namespace", []string{"unshare", "0x00020000"}, true},
		{"P47e", "make a network namespace", []string{"unshare", "0x40000000"}, true},
		{"P47f", "make a process namespace", []string{"clone", "0x20000000"}, true},
		{"P47g", "make an ipc namespace", []string{"unshare", "0x08000000"}, true},
		{"P47h", "make a host name namespace", []string{"unshare", "0x04000000"}, true},
		{"P47i", "make a control group namespace", []string{"unshare", "0x02000000"}, true},
		{"P47j", "make a user and a mount namespace", []string{"unshare", "0x10020000"}, false},
		{"P47k", "join a namespace", []string{"setns"}, true},
		{"P47l", "mount", []string{"mount", "$W/a"}, true},
		{"P47m", "change how mounts propagate", []string{"propagation"}, true},
		{"P47n", "unmount", []string{"umount", "$W/a"}, true},
		{"P47o", "open a file system for mounting", []string{"fsopen"}, true},
		{"P47p", "copy a mount", []string{"open-tree", "$W/a"}, true},
		{"P47q", "move a mount", []string{"move-mount"}, true},
		{"P47r", "change the flags of a mount", []string{"mount-setattr", "$W/a"}, true},
		{"P47s", "change the root by pivot_root", []string{"pivot-root", "$W/a"}, true},
		{"P47t", "change the root by chroot", []string{"chroot", "$W/a"}, true},
		{"P52a", "enter the kernel by the gate of 32-bit programs", []string{"int80"}, false},
		{"P52b", "call by the numbers of x32", []string{"x32"}, false},
		{"N53a", "open a vsock socket, which leads to the hypervisor", []string{"vsock"}, false},
		{"N53b", "open a packet socket", []string{"packet"}, true},
		{"N53c", "open a raw socket", []string{"raw"}, true},
		{"N53d", "open a raw socket of IPv6", []string{"raw6"}, true},
		{"N53e", "open a packet socket in the old way", []string{"packet-old"}, true},
		{"N53f", "open a socket of the kernel's ciphers", []string{"alg"}, false},
		{"N53g", "open a socket of XDP", []string{"xdp"}, true},
		{"N53h", "open the audit netlink", []string{"netlink-audit"}, false},
		{"N53i", "open the netfilter netlink", []string{"netlink-netfilter"}, false},
		{"N53j", "open the device netlink", []string{"netlink-uevent"}, false},
		{"N53k", "open the generic netlink", []string{"netlink-generic"}, false},
	}
	var rows []Row
	for _, f := range filtered {
		rows = append(rows, Row{ID: f.id, Try: f.try, Canary: Exit, Controls: calls(), Act: f.act, Needs: Needs{Root: f.root}})
	}
	for i, way := range []string{"open", "creat", "mknod", "mknodat", "openat2"} {
		rows = append(rows, Row{
			ID: "N54" + string(rune('a'+i)), Try: "make something set-id in the workspace by " + way, Controls: calls(), Act: []string{"set-id", way, "$W/suid"},
		})
	}
	rows = append(rows,
		Row{ID: "N54g", Try: "make a set-id file without a name and give it one", Controls: calls(), Act: []string{"set-id", "tmpfile", "$W"}},
		Row{ID: "N54h", Try: "make a file of the workspace set-id by chmod", Controls: calls(), Act: []string{"chmod-set-id", "$W/own"}},
		Row{ID: "N54i", Try: "make a file of the workspace set-id by fchmod", Controls: calls(), Act: []string{"fchmod-set-id", "$W/own"}},
		Row{ID: "N54j", Try: "make a file of the workspace set-id by fchmodat", Controls: calls(), Act: []string{"fchmodat-set-id", "$W/own"}},
		Row{ID: "N54k", Try: "make a file of the workspace set-id by fchmodat2", Controls: calls(), Act: []string{"fchmodat2-set-id", "$W/own"}},
		Row{ID: "N55a", Try: "copy a subvolume with all that is hidden in it (btrfs)", Canary: Exit, Controls: calls(), Act: []string{"file-request", "$W", "0x50009401"}},
		Row{ID: "N55b", Try: "the same by the newer request", Canary: Exit, Controls: calls(), Act: []string{"file-request", "$W", "0x50009417"}},
		Row{ID: "N55c", Try: "make a subvolume (btrfs)", Canary: Exit, Controls: calls(), Act: []string{"file-request", "$W", "0x5000940e"}},
		Row{ID: "N55d", Try: "lock the user's encrypted directories", Canary: Exit, Controls: calls(), Act: []string{"file-request", "$W", "0xc0406618"}},
		Row{ID: "N55e", Try: "make a file read-only for ever (fs-verity)", Canary: Exit, Controls: calls(), Act: []string{"file-request", "$W/own", "0x40806685"}},
		Row{ID: "N55f", Try: "copy a file by sharing its blocks, where the file system can", Want: Works, Act: []string{"file-request", "$W/own", "0x40049409"}},
		Row{ID: "P51b", Try: "be told that there is no io_uring, instead of being killed", Want: Works, Act: []string{"io-uring-answers"}},
	)
	return grouped(group, rows)
}
