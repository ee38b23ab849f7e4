package main

import (
	"fmt"
	"strconv"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/config"
	"github.com/sbx-run/sbx/sandbox"
)

// limitFlags are the flags that bound what a command may use. A flag that was
// given wins over the configuration, also with 0, which is no limit.
type limitFlags struct {
	cpu                                  timeLimit
	memory, file, disk, tempSize, output size
	processes                            count
	outputOver                           choice

	project sandbox.Limits // what .sbx.json of the workspace asks for
}

func (l *limitFlags) declare(f *flags) {
	l.memory.read, l.file.read, l.disk.read, l.tempSize.read, l.output.read = config.MemorySize, config.Size, config.Size, config.Size, config.Size
	l.outputOver.words = []string{"truncate", "kill"}
	f.Var(&l.cpu, "cpu-time", "")
	f.Var(&l.memory, "memory", "")
	f.Var(&l.processes, "processes", "")
	f.Var(&l.file, "file-size", "")
	f.Var(&l.disk, "disk", "")
	f.Var(&l.tempSize, "temp-size", "")
	f.Var(&l.output, "output", "")
	f.Var(&l.outputOver, "output-over", "")
}

// over puts the flags over PEPE_SANDBOX_MEM over the configuration.
func (l *limitFlags) over(file config.Limits, memory *int64) sandbox.Limits {
	if memory != nil {
		file.Memory = memory
	}
	over := file.OutputOver
	if l.outputOver.set {
		over = l.outputOver.value
	}
	limits := limitsOf(file)
	l.memory.wins(&limits.MemoryBytes)
	l.file.wins(&limits.FileBytes)
	l.disk.wins(&limits.DiskBytes)
	l.tempSize.wins(&limits.TempBytes)
	l.output.wins(&limits.OutputBytes)
	if l.cpu.set {
		limits.CPUTime = l.cpu.value
	}
	if l.processes.set {
		limits.Processes = l.processes.value
	}
	limits.OutputKill = over == "kill" && limits.OutputBytes > 0
	return limits
}

// limitsOf translates what a file says.
func limitsOf(file config.Limits) sandbox.Limits {
	var l sandbox.Limits
	put(&l.CPUTime, file.CPUTime)
	put(&l.MemoryBytes, file.Memory)
	put(&l.Processes, file.Processes)
	put(&l.FileBytes, file.FileSize)
	put(&l.DiskBytes, file.Disk)
	put(&l.TempBytes, file.TempSize)
	put(&l.OutputBytes, file.Output)
	l.OutputKill = file.OutputOver == "kill" && l.OutputBytes > 0
	return l
}

func put[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// narrow lets a project's file make the limits smaller.
func (l *limitFlags) narrow(limits sandbox.Limits, project config.Limits) sandbox.Limits {
	l.project = limitsOf(project)
	return limits.Narrow(l.project)
}

// size is a flag that is a number of bytes.
type size struct {
	value int64
	set   bool
	read  func(string) (int64, error)
}

func (s *size) String() string { return sizeText(s.value) }
func (s *size) Set(v string) (err error) {
	if s.value, err = s.read(v); err != nil {
		return &hintedError{msg: "not a size", hint: err.Error() + "; a bare number is bytes, 0 is no limit"}
	}
	s.set = true
	return nil
}

// wins puts a flag that was given over what a file says.
func (s *size) wins(over *int64) {
	if s.set {
		*over = s.value
	}
}

// count is a flag that is a number of processes.
type count struct {
	value int
	set   bool
}

func (c *count) String() string { return strconv.Itoa(c.value) }
func (c *count) Set(v string) (err error) {
	if c.value, err = config.Processes(v); err != nil {
		return &hintedError{msg: "not a number of processes", hint: err.Error()}
	}
	c.set = true
	return nil
}

// sizeText writes a number of bytes as a flag would.
func sizeText(n int64) string {
	for i, unit := range [...]string{"t", "g", "m", "k"} {
		if shift := 40 - 10*i; n > 0 && n%(1<<shift) == 0 {
			return strconv.FormatInt(n>>shift, 10) + unit
		}
	}
	return strconv.FormatInt(n, 10)
}

// limitRemark says in one sentence which limit was reached and what raises it;
// "" when none was.
func (c *execCall) limitRemark(r sbx.Result) (kind, text string) {
	var l sandbox.Limits
	if r.Limits != nil {
		l = *r.Limits
	}
	kind = "error"
	var flag, key string
	own := c.limits.project // of the workspace, which no flag raises
	var ours bool
	switch r.Limit {
	case sandbox.OverMemory:
		text, flag, key = "ended at the memory limit of "+sizeText(l.MemoryBytes), "memory", "memory"
		ours = own.MemoryBytes == l.MemoryBytes
	case sandbox.OverProcesses:
		text, flag, key = fmt.Sprintf("ended at the limit of %d processes and threads", l.Processes), "processes", "processes"
		ours = own.Processes == l.Processes
	case sandbox.OverCPU:
		text, flag, key = "ended at the limit of "+l.CPUTime.String()+" of processor time", "cpu-time", "cpu_time"
		ours = own.CPUTime == l.CPUTime
	case sandbox.OverDisk:
		text, flag, key = "ended at the limit of "+sizeText(l.DiskBytes)+" written to disk", "disk", "disk"
		ours = own.DiskBytes == l.DiskBytes
	case sandbox.OverFileSize:
		text, flag, key = "ended at the limit of "+sizeText(l.FileBytes)+" for one file", "file-size", "file_size"
		ours = own.FileBytes == l.FileBytes
	case sandbox.OverOutput:
		text, flag, key = "ended at the output limit of "+sizeText(l.OutputBytes), "output", "output"
		ours = own.OutputBytes == l.OutputBytes
		if r.Ending != sandbox.OverOutput {
			kind, text = "hint", fmt.Sprintf("output is cut at %s a stream: %d bytes more are left out", sizeText(l.OutputBytes), r.BytesCut)
		}
	case sandbox.OverTemp:
		kind, text, flag, key = "hint", "the temp directories were full at "+sizeText(l.TempBytes), "temp-size", "temp_size"
		ours = own.TempBytes == l.TempBytes
	default:
		return "", ""
	}
	switch {
	case ours:
		return kind, text + " (limits." + key + " in " + config.WorkspaceFileName + " of the workspace sets it)"
	case c.wrapping:
		return kind, text + " (sbx.limits." + key + " in the configuration raises it)"
	}
	return kind, text + " (--" + flag + " raises it)"
}
