package bound

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/cgroup"
	"github.com/sbx-run/sbx/sandbox/proc"
)

// Bounds is how the limits of a profile are held in a tier.
type Bounds struct {
	Limits sandbox.Limits
	group  cgroup.Want // what a control group of the run holds
	// processes is the resource limit that the kernel counts in the user
	// namespace of the run, see roomy; 0: it would count others too, or not at all.
	processes uint64
	// crowd: it counts the user's other processes too. A limit well above them
	// keeps the number so small that measuring from outside is fast enough.
	crowd bool
}

// Terms is what the bounds depend on beside the limits.
type Terms struct {
	Full bool // a user and a pid namespace of the run's own
	Root bool // for uid 0 of the host the kernel does not count processes
	Late bool // limits are set when the command has begun to run
	// TempFix is what would give the run file systems of its own, without full.
	TempFix string
	Able    func(cgroup.Want) cgroup.Want
}

// Of chooses the means, and names what they miss.
func Of(l sandbox.Limits, t Terms) (Bounds, []sandbox.Gap) {
	b := Bounds{Limits: l}
	if len(l.Asked()) == 0 {
		return b, nil
	}
	want := cgroup.Want{MemoryBytes: l.MemoryBytes, Processes: l.Processes, CPU: l.CPUTime > 0}
	if t.Full && l.Processes > 0 {
		want.Processes++ // process 1 is ours
	}
	if want != (cgroup.Want{}) && !t.Late { // what enters late has left children outside
		b.group = t.Able(want)
	}
	if l.Processes > 0 && b.group.Processes == 0 && t.Full && !t.Root {
		b.processes = uint64(1 + roomy(l.Processes))
	}
	b.crowd = l.Processes > 0 && b.group.Processes == 0 && !t.Full && !t.Root && !t.Late
	var gaps []sandbox.Gap
	able := proc.Measured()
	for _, c := range l.Asked() {
		switch {
		case c == sandbox.LimitTemp && t.Full:
		case c == sandbox.LimitTemp:
			gaps = append(gaps, sandbox.Gap{Control: c, Why: "the temp directory cannot be a file system of its own in this tier", Fix: t.TempFix})
		case c == sandbox.LimitFileSize && t.Late:
			gaps = append(gaps, sandbox.Gap{Control: c, Why: "it can be set only when the command has begun to run, and may have written", Fix: "the tier full"})
		case c == sandbox.LimitProcesses && b.group.Processes == 0 && b.processes == 0 && !b.crowd:
			gaps = append(gaps, sandbox.Gap{
				Control: c, Why: "nothing here keeps processes from being made faster than they can be ended: for root the kernel does not count them",
				Fix: "a control group that may be changed, or a command that runs as an ordinary user",
			})
		case !slices.Contains(able, c):
			gaps = append(gaps, sandbox.Gap{Control: c, Why: "this kernel does not count what a process writes", Fix: "a kernel with CONFIG_TASK_IO_ACCOUNTING"})
		}
	}
	if g, missing := b.inexact(t); missing {
		gaps = append(gaps, g)
	}
	b.Limits = l.Without(sandbox.GapControls(gaps)) // what is missing was accepted, or nothing runs
	return b, gaps
}

// inexact is the gap of limits that are measured from outside.
func (b Bounds) inexact(t Terms) (sandbox.Gap, bool) {
	var measured, unseen []string
	miss := func(limit, what string) {
		measured, unseen = append(measured, limit), append(unseen, what)
	}
	l := b.Limits
	if l.MemoryBytes > 0 && b.group.MemoryBytes == 0 {
		miss("memory", "memory that no process has open or mapped (System V segments, files on their way through a socket)")
	}
	if l.Processes > 0 && b.group.Processes == 0 {
		miss("processes", "up to half as many processes again for a moment")
		if b.crowd {
			unseen[len(unseen)-1] += ", nor a program that is refused one and ends before anybody looked"
		}
	}
	if l.CPUTime > 0 && !b.group.CPU {
		miss("processor time", "the time of processes that nobody waits for")
	}
	if l.DiskBytes > 0 {
		miss("disk", "what processes write that nobody waits for")
	}
	why := ""
	if len(measured) > 0 {
		why = fmt.Sprintf("%s: measured from outside, about every %d ms; not seen are what is taken between two looks, and %s",
			strings.Join(measured, ", "), proc.SampleEvery/time.Millisecond, strings.Join(unseen, ", "))
	}
	if t.Late {
		why = strings.Join(slices.DeleteFunc([]string{why, "limits are set when the command has begun to run"}, func(s string) bool { return s == "" }), "; ")
	}
	if why == "" {
		return sandbox.Gap{}, false
	}
	return sandbox.Gap{Control: sandbox.LimitsExact, Why: why, Fix: "a control group that may be changed (root has one) holds memory, processes and processor time"}, true
}

// roomy is the number of processes that the kernel holds a run to which is
// watched from outside. The kernel tells nobody that it refused one more, so the
// run must be able to go over its limit to be seen there: a bomb whose processes
// come and go is never at the kernel's bound when somebody looks.
func roomy(limit int) int { return limit + limit/2 + 16 }

// Hold is what holds one run.
type Hold struct {
	group     *cgroup.Group // nil: none
	processes uint64        // 0: no limit
}

// Open makes what one run needs.
func (b Bounds) Open() (*Hold, error) {
	h := &Hold{processes: b.processes}
	if b.crowd {
		n, err := userTasks()
		if err != nil {
			return nil, fmt.Errorf("count processes: %w: %w", err, sandbox.ErrStart)
		}
		h.processes = uint64(n + roomy(b.Limits.Processes))
	}
	var have unix.Rlimit
	if h.processes > 0 && unix.Getrlimit(unix.RLIMIT_NPROC, &have) == nil {
		h.processes = min(h.processes, have.Max) // above that it cannot be set
	}
	if b.group == (cgroup.Want{}) {
		return h, nil
	}
	var err error
	if h.group, err = (cgroup.Host{}).Make(b.group); err != nil {
		return nil, fmt.Errorf("make control group: %w: %w", err, sandbox.ErrStart)
	}
	return h, nil
}

// Processes is the resource limit on their number; 0: none. It counts only
// where the user namespace of the run is in force.
func (h *Hold) Processes() uint64 { return h.processes }

// Close takes the control group away. One that cannot be removed now is found by
// the next run.
func (h *Hold) Close() {
	if h.group != nil {
		_ = h.group.Close()
	}
}

// Apply gives the limits to a job.
func (b Bounds) Apply(j *proc.Job, h *Hold) {
	j.Limits = b.Limits
	if h.group != nil {
		j.Group = held{h.group}
	}
}

// held is a control group as package proc sees it.
type held struct{ *cgroup.Group }

func (h held) Holds(c sandbox.Control) bool {
	return c == sandbox.LimitMemory && h.Has(cgroup.Memory) || c == sandbox.LimitProcesses && h.Has(cgroup.PIDs)
}

func (h held) Reached() sandbox.Ending {
	switch {
	case h.Exhausted():
		return sandbox.OverMemory
	case h.Crowded():
		return sandbox.OverProcesses
	}
	return ""
}

func (h held) CPUTime() (time.Duration, bool) { return h.Group.CPUTime(), h.Has(cgroup.CPU) }
