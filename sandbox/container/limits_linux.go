package container

import (
	"slices"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/proc"
)

// Effective are the limits of a container: those that were asked for, and a
// bound on memory in any case.
func Effective(l sandbox.Limits) sandbox.Limits {
	if l.MemoryBytes == 0 {
		l.MemoryBytes = sandbox.DefaultContainerMemory
	}
	return l
}

// bound says which limits are kept, and how. Memory and processes are held by
// the engine's control group, the size of a file and of temp directories by the
// kernel, output by who copies it; the rest is measured inside.
func (d *decision) bound(l sandbox.Limits) {
	if len(l.Asked()) == 0 {
		return
	}
	var measured []string
	for _, c := range l.Asked() {
		if c == sandbox.LimitCPU || c == sandbox.LimitDisk {
			if !slices.Contains(proc.Measured(), c) {
				d.gap(c, "this kernel does not count it", "a kernel with CONFIG_TASK_IO_ACCOUNTING")
				continue
			}
			measured = append(measured, string(c))
		}
		d.enforced = append(d.enforced, c)
	}
	if len(measured) > 0 {
		d.gap(sandbox.LimitsExact, strings.Join(measured, ", ")+": measured, about every 20 ms; what processes use that nobody waits for is not seen", "the tier full of the backend direct")
		return
	}
	d.enforced = append(d.enforced, sandbox.LimitsExact)
}
