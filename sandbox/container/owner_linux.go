package container

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox/pid1"
)

// owner names this process for all time: its number, when it started, the pid
// namespace in which the number counts, and the start of the machine.
func owner() string {
	pid := os.Getpid()
	return strings.Join([]string{strconv.Itoa(pid), pid1.StartTime(pid), pidNamespace(), bootID()}, ":")
}

func pidNamespace() string {
	var st unix.Stat_t
	if unix.Stat("/proc/self/ns/pid", &st) != nil {
		return ""
	}
	return strconv.FormatUint(st.Ino, 10)
}

func bootID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text))
}

// ownerGone reports whether the process that a label names is certainly gone.
// Of a process in another pid namespace we know nothing while the machine is up.
func ownerGone(label string) bool {
	fields := strings.Split(label, ":")
	if len(fields) != 4 || fields[3] == "" {
		return false
	}
	if fields[3] != bootID() {
		return true
	}
	pid, err := strconv.Atoi(fields[0])
	return err == nil && fields[2] == pidNamespace() && pid1.StartTime(pid) != fields[1]
}

// Abandoned says whether a container with these labels is nobody's any more. A
// running one ends by itself when its maker does; what a reaper finds was never
// started, or belongs to an engine that was killed. Sessions live without their
// maker and are never touched while they run.
func Abandoned(labels map[string]string, running bool) bool {
	return (Kind(labels[LabelKind]) != Session || !running) && ownerGone(labels[LabelOwner])
}
