package direct_test

import (
	"cmp"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// Every act works without the sandbox (the control), is refused inside with the
// wanted errno, and leaves what is outside as it was (the canary).
func TestWritesAreConfined(t *testing.T) { eachTier(t, testWritesAreConfined) }

func testWritesAreConfined(r *room) {
	t := r.T
	open, shut := r.unconfined(), r.confined()
	out, ws := r.outside, r.workspace
	tests := []struct {
		name string
		args []string
		want string // in the landlock tier
		full string // in the full tier; empty: EROFS
	}{
		{"create", []string{out + "/new"}, "EACCES", ""},
		{"create", []string{ws + "/../outside/new"}, "EACCES", ""},
		{"create", []string{"/proc/self/root" + out + "/new"}, "EACCES", ""},
		{"append", []string{out + "/file"}, "EACCES", ""},
		{"open-truncate", []string{out + "/file"}, "EACCES", ""},
		{"truncate", []string{out + "/file"}, "EACCES", ""},
		{"mkdir", []string{out + "/dir"}, "EACCES", ""},
		{"rmdir", []string{out + "/empty"}, "EACCES", ""},
		{"unlink", []string{out + "/file"}, "EACCES", ""},
		{"rename", []string{ws + "/own", out + "/own"}, "EACCES", "EXDEV"},
		{"rename", []string{ws + "/own", out + "/file"}, "EACCES", "EXDEV"},
		{"rename", []string{out + "/file", ws + "/stolen"}, "EACCES", "EXDEV"},
		{"link", []string{out + "/file", ws + "/hard"}, "EXDEV|EACCES", "EXDEV|EROFS"},
		{"link", []string{ws + "/own", out + "/hard"}, "EXDEV|EACCES", "EXDEV|EROFS"},
		{"symlink", []string{"/etc", out + "/soft"}, "EACCES", ""},
		{"symlink-write", []string{out + "/file", ws + "/soft"}, "EACCES", ""},
		{"symlink-write", []string{out + "/new", ws + "/soft"}, "EACCES", ""},
		{"mkfifo", []string{out + "/fifo"}, "EACCES", ""},
		{"setxattr", []string{out + "/file"}, "EOPNOTSUPP|ENOTSUP", "EOPNOTSUPP|ENOTSUP"},
		{"chmod-setuid", []string{ws + "/own"}, "EPERM", "EPERM"},
		{"fchmodat-setgid", []string{ws + "/own"}, "EPERM", "EPERM"},
		{"create-setuid", []string{ws + "/suid"}, "EPERM", "EPERM"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r.reset()
			before := r.outsideState()
			if got := r.do(open, tt.name, tt.args...); got != "ok" {
				t.Fatalf("control %s %v: %s", tt.name, tt.args, got)
			}
			r.reset()
			want := tt.want
			if r.isFull() {
				want = cmp.Or(tt.full, "EROFS")
			}
			if got := r.do(shut, tt.name, tt.args...); !oneOf(want, got) {
				t.Errorf("%s %v: %s, want %s", tt.name, tt.args, got, want)
			}
			if after := r.outsideState(); after != before {
				t.Errorf("%s %v changed the outside:\n%s", tt.name, tt.args, after)
			}
		})
	}
}

func oneOf(want, got string) bool {
	for w := range strings.SplitSeq(want, "|") {
		if w == got {
			return true
		}
	}
	return false
}

func TestWorkInsideWorks(t *testing.T) { eachTier(t, testWorkInsideWorks) }

func testWorkInsideWorks(r *room) {
	t := r.T
	shut, ws := r.confined(), r.workspace
	tests := [][]string{
		{"create", ws + "/new"},
		{"append", ws + "/own"},
		{"truncate", ws + "/own"},
		{"mkdir", ws + "/dir"},
		{"rename", ws + "/a/f", ws + "/b/f"},
		{"rename", ws + "/a", ws + "/b/a"},
		{"rmdir", ws + "/a"},
		{"unlink", ws + "/own"},
		{"link", ws + "/own", ws + "/a/hard"},
		{"symlink", "/etc", ws + "/soft"},
		{"mkfifo", ws + "/fifo"},
		{"open-mode-ignored", ws + "/own"},
		{"write-open", "/dev/null"},
		{"write-open", "/dev/zero"},
		{"read", "/dev/urandom"},
		{"openpty"},
		{"shm"},
		{"socketpair", strconv.Itoa(unix.SOCK_STREAM)},
		{"socketpair", strconv.Itoa(unix.SOCK_SEQPACKET)},
		{"read", "/etc/passwd"},
		{"read", r.outside + "/file"},
		{"read", r.home + "/src/code"},
		{"read", r.home + "/.profile"},
		{"read", r.home + "/.config/other"},
		{"list", r.home},
		{"status", "NoNewPrivs", "1"},
		{"status", "CapEff", "0000000000000000"},
		{"status", "CapPrm", "0000000000000000"},
		{"status", "CapInh", "0000000000000000"},
		{"status", "CapAmb", "0000000000000000"},
		{"status", "Seccomp", "2"},
	}
	if os.Geteuid() == 0 {
		tests = append(tests, []string{"status", "CapBnd", "0000000000000000"})
	}
	for _, tt := range tests {
		r.reset()
		if tt[0] == "rmdir" {
			check(t, os.Remove(ws+"/a/f"))
		}
		if got := r.do(shut, tt[0], tt[1:]...); got != "ok" {
			t.Errorf("%v: %s", tt, got)
		}
	}
}

func TestCredentialsAreHidden(t *testing.T) { eachTier(t, testCredentialsAreHidden) }

// readOnlyErrno is how writing to what is read-only ends.
func (r *room) readOnlyErrno() string {
	if r.isFull() {
		return "EROFS"
	}
	return "EACCES"
}

func testCredentialsAreHidden(r *room) {
	t := r.T
	open, shut := r.unconfined(), r.confined()
	secrets := []string{r.home + "/.ssh/id", r.home + "/.netrc", r.home + "/.config/gh/hosts.yml"}
	if os.Geteuid() == 0 {
		secrets = append(secrets, "/etc/shadow")
	}
	check(t, os.WriteFile(r.home+"/.pgpass", []byte("secret"), 0o644)) // appeared after the session was opened
	check(t, os.WriteFile(r.home+"/.new", []byte("open"), 0o644))
	secrets = append(secrets, r.home+"/.pgpass")
	for _, s := range secrets {
		if got := r.do(open, "read", s); got != "ok" {
			t.Fatalf("control: read %s: %s", s, got)
		}
		if got := r.do(shut, "read", s); got != "EACCES" {
			t.Errorf("read %s: %s", s, got)
		}
		if got := r.do(shut, "read", "/proc/self/root"+s); got != "EACCES" {
			t.Errorf("read /proc/self/root%s: %s", s, got)
		}
		if got := r.do(shut, "link", s, r.workspace+"/stolen"); !oneOf("EXDEV|EACCES|ENOENT", got) {
			t.Errorf("link %s: %s", s, got)
		}
	}
	if got := r.do(shut, "read", r.home+"/.new"); got != "ok" {
		t.Errorf("a new file that is no secret: %s", got)
	}
}

func TestCredentialsBehindLinksAreHidden(t *testing.T) {
	eachTier(t, testCredentialsBehindLinksAreHidden)
}

func testCredentialsBehindLinksAreHidden(r *room) {
	t := r.T
	check(t, os.MkdirAll(r.home+"/dotfiles/config/gcloud", 0o755))
	check(t, os.WriteFile(r.home+"/dotfiles/config/gcloud/key", []byte("secret"), 0o644))
	check(t, os.WriteFile(r.home+"/dotfiles/pgpass", []byte("secret"), 0o644))
	check(t, os.WriteFile(r.home+"/dotfiles/other", []byte("open"), 0o644))
	check(t, os.Symlink("dotfiles/pgpass", r.home+"/.pgpass"))
	check(t, os.Symlink("../dotfiles/config/gcloud", r.home+"/.config/gcloud"))
	open, shut := r.unconfined(), r.confined()
	for _, s := range []string{"/dotfiles/pgpass", "/.pgpass", "/dotfiles/config/gcloud/key", "/.config/gcloud/key"} {
		if got := r.do(open, "read", r.home+s); got != "ok" {
			t.Fatalf("control: read %s: %s", s, got)
		}
		if got := r.do(shut, "read", r.home+s); got != "EACCES" {
			t.Errorf("read %s: %s", s, got)
		}
	}
	if got := r.do(shut, "read", r.home+"/dotfiles/other"); got != "ok" {
		t.Errorf("beside the secret: %s", got)
	}
}

func TestReadAndHide(t *testing.T) { eachTier(t, testReadAndHide) }

func testReadAndHide(r *room) {
	t := r.T
	r.profile.Read = append(r.profile.Read, r.home+"/.config/gh")
	r.profile.Hide = []string{r.home + "/src"}
	shut := r.confined()
	if got := r.do(shut, "read", r.home+"/.config/gh/hosts.yml"); got != "ok" {
		t.Errorf("a path that was made readable: %s", got)
	}
	if got := r.do(shut, "read", r.home+"/src/code"); got != "EACCES" {
		t.Errorf("a path that was hidden: %s", got)
	}
}

func TestWorkspaceBelowHiddenPath(t *testing.T) { eachTier(t, testWorkspaceBelowHiddenPath) }

func testWorkspaceBelowHiddenPath(r *room) {
	t := r.T
	ws := r.home + "/.config/gh/project"
	check(t, os.Mkdir(ws, 0o755))
	r.profile.Workspace = ws
	shut := r.confined()
	if got := r.do(shut, "create", ws+"/new"); got != "ok" {
		t.Errorf("write in the workspace: %s", got)
	}
	if got := r.do(shut, "read", ws+"/new"); got != "ok" {
		t.Errorf("read in the workspace: %s", got)
	}
	if got := r.do(shut, "read", r.home+"/.config/gh/hosts.yml"); !oneOf("EACCES|ENOENT", got) {
		t.Errorf("read beside the workspace: %s", got)
	}
}

func TestSystemCallsAreFiltered(t *testing.T) { eachTier(t, testSystemCallsAreFiltered) }

func testSystemCallsAreFiltered(r *room) {
	t := r.T
	open, shut := r.unconfined(), r.confined()
	n := func(v ...int) []string {
		var s []string
		for _, i := range v {
			s = append(s, strconv.Itoa(i))
		}
		return s
	}
	const nowhere = 4096 // no address
	tests := []struct {
		call string
		args []string
		want string
		root bool   // only root is not refused by the kernel itself
		tier string // where this is refused; empty: everywhere
	}{
		{"io_uring_setup", n(unix.SYS_IO_URING_SETUP, 1, nowhere), "ENOSYS", false, ""},
		{"clone3", n(unix.SYS_CLONE3, nowhere, 64), "ENOSYS", false, ""},
		{"openat2", n(unix.SYS_OPENAT2, 0, nowhere, nowhere, 24), "ENOSYS", false, ""},
		{"unshare", n(unix.SYS_UNSHARE, 0), "EPERM", false, ""},
		{"setns", n(unix.SYS_SETNS, 1000, 0), "EPERM", false, ""},
		{"clone with new user namespace", n(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_FS), "EPERM", false, ""},
		{"mount", n(unix.SYS_MOUNT, nowhere, nowhere, nowhere), "EPERM", true, ""},
		{"umount2", n(unix.SYS_UMOUNT2, nowhere, 0x8000), "EPERM", true, ""},
		{"fsopen", n(unix.SYS_FSOPEN, nowhere, 0), "EPERM", true, ""},
		{"pivot_root", n(unix.SYS_PIVOT_ROOT, nowhere, nowhere), "EPERM", true, ""},
		{"chroot", n(unix.SYS_CHROOT, nowhere), "EPERM", false, ""},
		{"bpf", n(unix.SYS_BPF, 10000, nowhere, 16), "EPERM", true, ""},
		{"perf_event_open", n(unix.SYS_PERF_EVENT_OPEN, nowhere), "EPERM", false, ""},
		{"keyctl", n(unix.SYS_KEYCTL, 10000), "EPERM", false, ""},
		{"add_key", n(unix.SYS_ADD_KEY, nowhere, nowhere, 0, 0, 0), "EPERM", false, ""},
		{"process_vm_readv", n(unix.SYS_PROCESS_VM_READV, os.Getpid(), nowhere, 1, nowhere, 1), "EPERM", false, ""},
		{"kcmp", n(unix.SYS_KCMP, 1000000000, 1000000000), "EPERM", false, ""},
		{"pidfd_getfd", n(unix.SYS_PIDFD_GETFD, 1000, 0, 0), "EPERM", false, ""},
		{"open_by_handle_at", n(unix.SYS_OPEN_BY_HANDLE_AT, 0, nowhere, 0), "EPERM", true, ""},
		{"name_to_handle_at", n(unix.SYS_NAME_TO_HANDLE_AT, 0, nowhere, nowhere, nowhere, 0), "EPERM", false, ""},
		{"fanotify_init", n(unix.SYS_FANOTIFY_INIT, 0x10000000, 0), "EPERM", true, ""},
		{"settimeofday", n(unix.SYS_SETTIMEOFDAY, nowhere, 0), "EPERM", true, ""},
		{"reboot", n(unix.SYS_REBOOT, 0, 0, 0), "EPERM", true, ""},
		{"acct", n(unix.SYS_ACCT, nowhere), "EPERM", true, ""},
		{"swapon", n(unix.SYS_SWAPON, nowhere, 0), "EPERM", true, ""},
		{"socket packet", n(unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_DGRAM, 0), "EAFNOSUPPORT", true, ""},
		{"socket vsock", n(unix.SYS_SOCKET, unix.AF_VSOCK, 99, 0), "EAFNOSUPPORT", false, ""},
		{"socket inet", n(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, 0), "EPERM", false, landlock},
		{"socket inet6 udp", n(unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_DGRAM, 0), "EPERM", false, landlock},
		{"socket netlink", n(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, 0), "EPERM", false, landlock},
		{"socket unix", n(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM, 0), "EPERM", false, landlock},
		{"prlimit64 of another", n(unix.SYS_PRLIMIT64, 1000000000, 0, 0, 0), "EPERM", false, ""},
		{"pidfd_open of a thread", n(unix.SYS_PIDFD_OPEN, 1000000000, 0o200), "EINVAL", false, ""},
		{"fcntl F_SETOWN_EX", n(unix.SYS_FCNTL, 1000, 15, nowhere), "EINVAL", false, ""},
		{"a number nobody knows", n(1000), "ENOSYS", false, ""},
	}
	for _, tt := range tests {
		if tt.tier != "" && tt.tier != r.confinedTier() {
			continue
		}
		control := r.do(open, "syscall", tt.args...)
		got := r.do(shut, "syscall", tt.args...)
		if got != tt.want {
			t.Errorf("%s: %s, want %s (unconfined: %s)", tt.call, got, tt.want, control)
		}
		same := control == tt.want
		if same && tt.call != "a number nobody knows" && (!tt.root || os.Geteuid() == 0) {
			t.Logf("%s: this kernel answers %s unconfined, too", tt.call, control)
		}
	}
}

func TestNetworkProfiles(t *testing.T) { eachTier(t, testNetworkProfiles) }

func testNetworkProfiles(r *room) {
	t := r.T
	if r.isFull() {
		t.Skip("the full tier has its own networks: TestFullNetwork")
	}
	inet := []string{strconv.Itoa(unix.AF_INET), strconv.Itoa(unix.SOCK_STREAM), "0"}
	unixStream := []string{strconv.Itoa(unix.AF_UNIX), strconv.Itoa(unix.SOCK_STREAM), "0"}
	for _, tt := range []struct {
		network    sandbox.Network
		unix       bool
		inet, path string
		gap, given sandbox.Control
	}{
		{sandbox.NetworkNone, false, "EPERM", "EPERM", sandbox.Loopback, sandbox.NetworkOff},
		{sandbox.NetworkNone, true, "EPERM", "ok", sandbox.UnixSockets, sandbox.NetworkOff},
		{sandbox.NetworkHost, false, "ok", "EPERM", sandbox.HostNetwork, sandbox.UnixSockets},
		{sandbox.NetworkHost, true, "ok", "ok", sandbox.HostNetwork, sandbox.Signals},
	} {
		r.profile.Network, r.profile.UnixAllow = tt.network, tt.unix
		s := r.confined()
		if got := r.do(s, "socket", inet...); got != tt.inet {
			t.Errorf("network %v: socket inet: %s", tt.network, got)
		}
		if got := r.do(s, "socket", unixStream...); got != tt.path {
			t.Errorf("unix %v: socket unix: %s", tt.unix, got)
		}
		plan, err := s.Plan(sandbox.Command{Argv: []string{"true"}})
		check(t, err)
		if !gapNamed(plan.Gaps, tt.gap) {
			t.Errorf("network %v, unix %v: no gap %s", tt.network, tt.unix, tt.gap)
		}
	}
}

func gapNamed(gaps []sandbox.Gap, c sandbox.Control) bool {
	for _, g := range gaps {
		if g.Control == c {
			return true
		}
	}
	return false
}

// A datagram pair could be sent from to any socket path.
func TestDatagramPairsAreRefused(t *testing.T) { eachTier(t, testDatagramPairsAreRefused) }

func testDatagramPairsAreRefused(r *room) {
	t := r.T
	if r.isFull() {
		t.Skip("the full tier has its own networks: TestFullNetwork")
	}
	open, shut := r.unconfined(), r.confined()
	for _, kind := range []int{unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC} {
		if got := r.do(open, "socketpair", strconv.Itoa(kind)); got != "ok" {
			t.Fatalf("control: %s", got)
		}
		if got := r.do(shut, "socketpair", strconv.Itoa(kind)); got != "EPERM" {
			t.Errorf("socketpair of type %d: %s", kind, got)
		}
	}
}

func TestUnixSocketsOutside(t *testing.T) { eachTier(t, testUnixSocketsOutside) }

func testUnixSocketsOutside(r *room) {
	t := r.T
	r.profile.UnixAllow = true
	open, shut := r.unconfined(), r.confined()
	name := "sbx-test-" + strconv.Itoa(os.Getpid())
	l, err := net.Listen("unix", "@"+name)
	check(t, err)
	defer l.Close()
	if got := r.do(open, "connect-abstract", name); got != "ok" {
		t.Fatalf("control: %s", got)
	}
	if got := r.do(shut, "connect-abstract", name); !oneOf("EPERM|ECONNREFUSED", got) {
		t.Errorf("connect to an abstract socket outside: %s", got)
	}
}

func TestProcessesOutside(t *testing.T) { eachTier(t, testProcessesOutside) }

func testProcessesOutside(r *room) {
	t := r.T
	open, shut := r.unconfined(), r.confined()
	victim := exec.Command("sleep", "600")
	victim.Env = []string{"CANARY=in-the-environment"}
	check(t, victim.Start())
	defer func() { _ = victim.Process.Kill(); _ = victim.Wait() }()
	pid := strconv.Itoa(victim.Process.Pid)
	if got := r.do(shut, "read", "/proc/"+strconv.Itoa(os.Getpid())+"/environ"); !oneOf("EACCES|ENOENT", got) {
		t.Errorf("read the environment of the embedding process: %s", got)
	}
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"kill", []string{pid}, "EPERM"},
		{"ptrace", []string{pid}, "EPERM"},
		{"prlimit", []string{pid}, "EPERM"},
		{"environ-of", []string{pid, "CANARY"}, "EACCES"},
		{"read", []string{"/proc/" + pid + "/maps"}, "EACCES"},
		{"readlink", []string{"/proc/" + pid + "/cwd"}, "EACCES"},
	} {
		if got := r.do(open, tt.name, tt.args...); got != "ok" {
			t.Fatalf("control: %s: %s", tt.name, got)
		}
		want := tt.want
		if r.isFull() { // it is not there
			want = "ESRCH|ENOENT|" + map[string]string{"prlimit": "EPERM"}[tt.name]
		}
		if got := r.do(shut, tt.name, tt.args...); !oneOf(want, got) {
			t.Errorf("%s: %s, want %s", tt.name, got, want)
		}
	}
}

// The thread that starts the command shares its Landlock domain with it and its
// memory with us.
func TestStarterIsOutOfReach(t *testing.T) { eachTier(t, testStarterIsOutOfReach) }

func testStarterIsOutOfReach(r *room) {
	t := r.T
	acts := map[string]string{"starter-memory": "EACCES", "starter-ptrace": "EPERM", "starter-tgkill": "EPERM", "starter-kill": "EPERM"}
	if r.isFull() { // it is process 1: signals reach it and mean nothing
		acts = map[string]string{"starter-memory": "EACCES", "starter-ptrace": "EPERM"}
	}
	for name, want := range acts {
		if got := r.do(r.unconfined(), name); name != "starter-ptrace" && got != "ok" {
			t.Fatalf("control: %s: %s", name, got)
		}
		if got := r.do(r.confined(), name); got != want {
			t.Errorf("in a library: %s: %s, want %s", name, got, want)
		}
		if got, _ := r.runSupervised(orders{Argv: []string{self(t), name}}); got != want {
			t.Errorf("supervised: %s: %s, want %s", name, got, want)
		}
	}
}

func TestDescriptorsAreShut(t *testing.T) { eachTier(t, testDescriptorsAreShut) }

func testDescriptorsAreShut(r *room) {
	t := r.T
	f, err := os.OpenFile(r.outside+"/file", os.O_WRONLY|os.O_APPEND, 0)
	check(t, err)
	defer f.Close()
	const number = 9
	cmd, _ := r.supervised(orders{Argv: []string{self(t), "write-fd", strconv.Itoa(number)}})
	for len(cmd.ExtraFiles) < number-2 {
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	out, err := cmd.Output()
	check(t, err)
	if string(out) != "EBADF" {
		t.Errorf("supervised: write to an inherited descriptor: %s", out)
	}
	// In a library: a descriptor that does not close on exec.
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD, 200)
	check(t, err)
	defer unix.Close(fd)
	if got := r.do(r.confined(), "write-fd", strconv.Itoa(fd)); got != "EBADF" {
		t.Errorf("in a library: write to an inherited descriptor: %s", got)
	}
	if text, _ := os.ReadFile(r.outside + "/file"); string(text) != "canary\n" {
		t.Errorf("the canary is %q", text)
	}
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags != 0 {
		t.Errorf("the embedding program's descriptor changed: %d, %v", flags, err)
	}
}
