package sandbox

import (
	"slices"
	"time"
)

// Limits bound what one command, with everything it starts, may use. A zero is
// no limit. Wall time is Command.Timeout.
type Limits struct {
	CPUTime     time.Duration `json:"cpu_time_ns,omitempty"`  // user and system time of the whole tree
	MemoryBytes int64         `json:"memory_bytes,omitempty"` // of the whole tree; swap counts too where the kernel says so
	Processes   int           `json:"processes,omitempty"`    // processes and threads at a time
	FileBytes   int64         `json:"file_bytes,omitempty"`   // size of any one file that is written
	DiskBytes   int64         `json:"disk_bytes,omitempty"`   // written in total; what is deleted again counts
	// TempBytes makes the temp directories file systems in memory of this size,
	// which are gone after the run.
	TempBytes   int64 `json:"temp_bytes,omitempty"`
	OutputBytes int64 `json:"output_bytes,omitempty"` // of each of the two output streams
	// OutputKill ends the command that writes more than OutputBytes. Otherwise
	// the rest is counted and thrown away.
	OutputKill bool `json:"output_kill,omitempty"`
}

// The controls of limits. Each counts as required when its limit is asked for,
// and is not spoken of otherwise.
const (
	LimitCPU       Control = "limit-cpu"
	LimitMemory    Control = "limit-memory"
	LimitProcesses Control = "limit-processes"
	LimitFileSize  Control = "limit-file-size"
	LimitDisk      Control = "limit-disk"
	LimitTemp      Control = "limit-temp"
	LimitOutput    Control = "limit-output"
	// LimitsExact says that nothing gets past a limit for a moment or uncounted:
	// the kernel holds all that are asked for. Where some are measured from
	// outside instead, it is a gap.
	LimitsExact Control = "limits-exact"
)

// The endings of runs that a limit ended.
const (
	OverMemory    Ending = "memory"
	OverProcesses Ending = "pids"
	OverCPU       Ending = "cpu"
	OverDisk      Ending = "disk"
	OverFileSize  Ending = "file-size"
	OverOutput    Ending = "output"
	OverTemp      Ending = "temp" // in Result.Limit only: a full file system ends no command
)

// LimitControls lists the controls that are about limits.
func LimitControls() []Control {
	return []Control{LimitCPU, LimitMemory, LimitProcesses, LimitFileSize, LimitDisk, LimitTemp, LimitOutput, LimitsExact}
}

// Asked lists the controls of the limits that are set, without LimitsExact.
func (l Limits) Asked() []Control {
	var list []Control
	for _, x := range [...]struct {
		set bool
		c   Control
	}{
		{l.CPUTime > 0, LimitCPU},
		{l.MemoryBytes > 0, LimitMemory},
		{l.Processes > 0, LimitProcesses},
		{l.FileBytes > 0, LimitFileSize},
		{l.DiskBytes > 0, LimitDisk},
		{l.TempBytes > 0, LimitTemp},
		{l.OutputBytes > 0, LimitOutput},
	} {
		if x.set {
			list = append(list, x.c)
		}
	}
	return list
}

// Speaks says whether a plan under these limits has to speak of a control: of
// a limit only when it is asked for.
func (l Limits) Speaks(c Control) bool {
	if c == LimitsExact {
		return len(l.Asked()) > 0
	}
	return !slices.Contains(LimitControls(), c) || slices.Contains(l.Asked(), c)
}

// Kept lists the controls of the limits that are set and that no gap is about.
func (l Limits) Kept(gaps []Gap) []Control {
	var list []Control
	for _, c := range LimitControls() {
		if l.Speaks(c) && !slices.Contains(GapControls(gaps), c) {
			list = append(list, c)
		}
	}
	return list
}

// Narrow returns the limits that keep both: of each the smaller one.
func (l Limits) Narrow(by Limits) Limits {
	return Limits{
		CPUTime: smaller(l.CPUTime, by.CPUTime), MemoryBytes: smaller(l.MemoryBytes, by.MemoryBytes),
		Processes: smaller(l.Processes, by.Processes), FileBytes: smaller(l.FileBytes, by.FileBytes),
		DiskBytes: smaller(l.DiskBytes, by.DiskBytes), TempBytes: smaller(l.TempBytes, by.TempBytes),
		OutputBytes: smaller(l.OutputBytes, by.OutputBytes), OutputKill: l.OutputKill || by.OutputKill,
	}
}

// smaller is the smaller of two limits, where 0 is none.
func smaller[T ~int | ~int64](a, b T) T {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Without returns the limits that are left when some controls are dropped.
func (l Limits) Without(dropped []Control) Limits {
	for _, c := range dropped {
		switch c {
		case LimitCPU:
			l.CPUTime = 0
		case LimitMemory:
			l.MemoryBytes = 0
		case LimitProcesses:
			l.Processes = 0
		case LimitFileSize:
			l.FileBytes = 0
		case LimitDisk:
			l.DiskBytes = 0
		case LimitTemp:
			l.TempBytes = 0
		case LimitOutput:
			l.OutputBytes, l.OutputKill = 0, false
		}
	}
	return l
}

// Record is what records say of limits: nil when none is set.
func (l Limits) Record() *Limits {
	if l == (Limits{}) {
		return nil
	}
	return &l
}

// GapControls lists the controls of gaps.
func GapControls(gaps []Gap) []Control {
	list := make([]Control, 0, len(gaps))
	for _, g := range gaps {
		list = append(list, g.Control)
	}
	return list
}
