package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// kernelState is what the host's kernel says of itself. Texts are "" where there is
// no such file.
type kernelState struct {
	release      string
	landlock     int   // ABI; 0: none
	landlockErr  error // why none
	lsms         string
	maxUser      string // user.max_user_namespaces
	cloneAllowed string // kernel.unprivileged_userns_clone: Debian's
	apparmorOnly string // kernel.apparmor_restrict_unprivileged_userns: Ubuntu's
	label        string // of this process
	container    string // what says that this is one; "" when nothing does
	seccomp      string // mode of this process: 2 is a filter
	userErr      error  // of an attempt to make a user namespace with mounts
}

func readKernel() kernelState {
	k := kernelState{
		lsms: fileText("/sys/kernel/security/lsm"), maxUser: fileText("/proc/sys/user/max_user_namespaces"),
		cloneAllowed: fileText("/proc/sys/kernel/unprivileged_userns_clone"), apparmorOnly: fileText("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
		label: fileText("/proc/self/attr/current"), container: containerMark(), userErr: tryUserNamespace(),
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		k.release = unix.ByteSliceToString(u.Release[:])
	}
	const createRulesetVersion = 1 // LANDLOCK_CREATE_RULESET_VERSION
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, createRulesetVersion)
	if errno != 0 {
		k.landlockErr = errno
	} else {
		k.landlock = int(abi)
	}
	for line := range strings.Lines(fileText("/proc/self/status")) {
		if mode, ok := strings.CutPrefix(line, "Seccomp:"); ok {
			k.seccomp = strings.TrimSpace(mode)
		}
	}
	return k
}

func fileText(path string) string {
	text, _ := os.ReadFile(path)
	return strings.Trim(string(text), " \n\x00")
}

// containerMark is what shows that this is a container, as engines leave it.
func containerMark() string {
	for _, path := range [...]string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(path); err == nil {
			return path + " exists"
		}
	}
	for _, entry := range strings.Split(fileText("/proc/1/environ"), "\x00") {
		if strings.HasPrefix(entry, "container=") {
			return "process 1 has " + entry
		}
	}
	return ""
}

// tryUserNamespace makes one, with mounts, for a program that ends at once.
func tryUserNamespace() error {
	cmd := exec.Command("/proc/self/exe", namespaceProbe)
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	return cmd.Run()
}

// namespaceProbe makes sbx try a mount and end: see tryUserNamespace.
const namespaceProbe = "__namespace"

// tryMount is what the program in the namespace does: where AppArmor takes the
// rights away, the namespace is there and useless.
func tryMount() int {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return 1
	}
	return exitOK
}

func (c *doctorCall) kernel() { c.kernelFindings(readKernel()) }

// kernelFindings judges what the kernel says. It asks nothing itself.
func (c *doctorCall) kernelFindings(k kernelState) {
	switch {
	case k.landlockErr != nil:
		do := "start the kernel with landlock in lsm= (and CONFIG_SECURITY_LANDLOCK)"
		if k.landlockErr == unix.ENOSYS {
			do = "Linux 5.13 or newer, built with CONFIG_SECURITY_LANDLOCK"
		}
		if k.container != "" || k.seccomp == "2" {
			do += "; in a container its filter of system calls may forbid it"
		}
		c.add(levelBroken, fmt.Sprintf("Landlock cannot be used (%v; Linux %s): the backend direct does not work", k.landlockErr, k.release), do)
	case k.landlock < 3:
		c.add(levelWarning, fmt.Sprintf("Landlock ABI %d (Linux %s) does not control truncate: the tier landlock leaves a gap", k.landlock, k.release), "Linux 6.2 or newer")
	case k.landlock < 6:
		c.add(levelNote, fmt.Sprintf("Landlock ABI %d (Linux %s): signals and abstract sockets are not scoped", k.landlock, k.release), "Linux 6.12 or newer")
	default:
		c.add(levelOK, fmt.Sprintf("Landlock ABI %d, Linux %s", k.landlock, k.release), "")
	}
	if k.userErr == nil {
		c.add(levelOK, "user namespaces can be made, with mounts in them", "")
		return
	}
	for _, why := range forbidsNamespaces(k) {
		c.add(levelWarning, "user namespaces cannot be used: "+why.what, why.do)
	}
}

// reason is what forbids something, and what would allow it.
type reason struct{ what, do string }

// forbidsNamespaces finds what forbids user namespaces, by what the kernel says.
func forbidsNamespaces(k kernelState) []reason {
	var list []reason
	if k.maxUser == "0" {
		list = append(list, reason{"user.max_user_namespaces is 0", "sysctl -w user.max_user_namespaces=15000"})
	}
	if k.cloneAllowed == "0" {
		list = append(list, reason{"kernel.unprivileged_userns_clone is 0", "sysctl -w kernel.unprivileged_userns_clone=1"})
	}
	if k.apparmorOnly == "1" && strings.HasPrefix(k.label, "unconfined") {
		list = append(list, reason{
			"AppArmor takes their rights away from programs without a profile (kernel.apparmor_restrict_unprivileged_userns is 1)",
			"a profile for sbx with the rule userns, or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
		})
	} else if k.label != "" && !strings.HasPrefix(k.label, "unconfined") {
		list = append(list, reason{"this process runs under the profile " + k.label, "a profile that allows userns and mount"})
	}
	if len(list) > 0 {
		return list // which is sure; that engines forbid them is only likely
	}
	if k.container != "" {
		list = append(list, reason{"this is a container (" + k.container + "), and engines forbid them", "the tier landlock works there; or run the container with less strict options"})
	} else if k.seccomp == "2" {
		list = append(list, reason{"a filter of system calls lies on this process", "start sbx outside of the sandbox that it is in"})
	}
	if len(list) == 0 {
		list = append(list, reason{k.userErr.Error(), "the tier landlock works without them"})
	}
	return list
}
