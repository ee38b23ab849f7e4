package docker

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox/pid1"
)

func goarch() string { return runtime.GOARCH }

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

// reap removes the containers of this user whose makers are gone. A running one
// ends by itself when its maker does; what is left here was never started, or
// belongs to an engine that was killed. Sessions live without their maker and
// are never touched while they run.
func (e *engine) reap(ctx context.Context) error {
	filters := make(client.Filters).Add("label", fmt.Sprintf("%s=%d", labelUser, os.Geteuid()))
	list, err := e.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filters})
	if err != nil {
		return err
	}
	for _, c := range list.Items {
		if c.Labels[labelKind] == kindSession && c.State == container.StateRunning || !ownerGone(c.Labels[labelOwner]) {
			continue
		}
		if _, err := e.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true}); err != nil {
			continue // another reaper was faster
		}
	}
	return nil
}
