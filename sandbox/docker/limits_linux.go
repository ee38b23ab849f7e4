package docker

import (
	"strings"

	"github.com/sbx-run/sbx/sandbox"
)

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
