//go:build amd64 || arm64

package pid1

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// ownGroup is the container's control group, which the engine has limited. From
// inside it can be read.
type ownGroup struct{ limits sandbox.Limits }

// Holds says which limits the engine was told.
func (ownGroup) Holds(c sandbox.Control) bool {
	return c == sandbox.LimitMemory || c == sandbox.LimitProcesses
}

// Reached is the limit that the container came to.
func (g ownGroup) Reached() sandbox.Ending {
	if g.limits.MemoryBytes > 0 && (event("/sys/fs/cgroup/memory.events", "oom_kill") || event("/sys/fs/cgroup/memory/memory.oom_control", "oom_kill")) {
		return sandbox.OverMemory
	}
	if g.limits.Processes > 0 && (event("/sys/fs/cgroup/pids.events", "max") || event("/sys/fs/cgroup/pids/pids.events", "max")) {
		return sandbox.OverProcesses
	}
	return ""
}

// CPUTime is measured by looking at the processes.
func (ownGroup) CPUTime() (time.Duration, bool) { return 0, false }

// Add has nothing to do: what starts here is in the group.
func (ownGroup) Add(int) error { return nil }

// event reports a counter of a file of the kernel's that is not zero.
func event(file, key string) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		return false // of the two versions of control groups there is one
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == key {
			n, err := strconv.ParseUint(fields[1], 10, 64)
			return err == nil && n > 0
		}
	}
	return false
}
