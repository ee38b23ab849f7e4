package docker

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
)

// Gaps are the limits that a rootless engine cannot set here, whatever it is
// asked for: not every version says so when it makes the container.
func (e *engine) Gaps() []sandbox.Gap {
	if e.nature == machine {
		return nil
	}
	have := delegated()
	var gaps []sandbox.Gap
	for _, c := range [...]struct {
		control    sandbox.Control
		controller string
	}{{sandbox.LimitMemory, "memory"}, {sandbox.LimitProcesses, "pids"}} {
		if !slices.Contains(have, c.controller) {
			gaps = append(gaps, sandbox.Gap{
				Control: c.control, Why: "a rootless engine cannot set it here: its user has no control group with the controller " + c.controller,
				Fix: "cgroup v2 with that controller delegated to the user, or an engine that runs as root",
			})
		}
	}
	return gaps
}

// delegated are the controllers of the control group of this process: with the
// first version of control groups a user has none.
func delegated() []string {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			list, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", path, "cgroup.controllers"))
			if err == nil {
				return strings.Fields(string(list))
			}
		}
	}
	return nil
}

// limitGaps reads what an engine says when it creates a container whose limits
// it cannot keep: on many hosts a rootless engine cannot set them.
func limitGaps(warnings []string) []sandbox.Gap {
	var gaps []sandbox.Gap
	for _, w := range warnings {
		if !strings.Contains(w, "imit") || strings.Contains(strings.ToLower(w), "swap") {
			continue
		}
		gaps = append(gaps, sandbox.Gap{Control: limitControl(w), Why: "the engine says: " + strings.TrimSuffix(w, "."), Fix: "an engine with cgroup v2, or one that runs as root"})
	}
	return gaps
}

func limitControl(warning string) sandbox.Control {
	text := strings.ToLower(warning)
	switch {
	case strings.Contains(text, "pids"):
		return sandbox.LimitProcesses
	case strings.Contains(text, "cpu"):
		return sandbox.LimitCPU
	}
	return sandbox.LimitMemory
}
