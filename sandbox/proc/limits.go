package proc

import (
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// Group is what holds a run to some of its limits by the kernel's own means.
type Group interface {
	Holds(c sandbox.Control) bool
	// Reached is the limit that the run came to, or "".
	Reached() sandbox.Ending
	// CPUTime is what the run has used; false when the group does not count.
	CPUTime() (time.Duration, bool)
}

// Temp is how full the file systems of one run are.
type Temp func() (used, free int64)

// SampleEvery is how often a run is measured that the kernel does not hold. A
// tree of very many processes takes longer to look at, and is then looked at
// less often: watching takes no more than a fifth of one processor.
const SampleEvery = 20 * time.Millisecond

// exitLimit is the exit status of a run that a limit other than time ended: it
// was ended by KILL.
const exitLimit = 128 + 9

// judgeLimits completes the result of a run that came to a limit. late is one
// that was found only when the command had ended.
func judgeLimits(r *sandbox.Result, l sandbox.Limits, late sandbox.Ending, tempFull bool) {
	byItself := r.Ending == sandbox.Exited || r.Ending == sandbox.Signaled
	if byItself && late != "" {
		r.Ending, byItself = late, false
	}
	switch r.Ending {
	case sandbox.TimedOut:
		r.Limit = r.Ending
	case sandbox.OverMemory, sandbox.OverProcesses, sandbox.OverCPU, sandbox.OverDisk, sandbox.OverOutput:
		r.Limit, r.ExitCode = r.Ending, exitLimit
	}
	if !byItself {
		return
	}
	switch {
	case l.CPUTime > 0 && endedBy(r, signalCPU):
		r.Ending, r.Limit = sandbox.OverCPU, sandbox.OverCPU
	case l.FileBytes > 0 && endedBy(r, signalFileSize):
		r.Ending, r.Limit = sandbox.OverFileSize, sandbox.OverFileSize
	case tempFull:
		r.Limit = sandbox.OverTemp
	case r.BytesCut > 0:
		r.Limit = sandbox.OverOutput
	}
}

// The signals by which the kernel ends a process that came to its own limit.
const (
	signalCPU      = 24 // SIGXCPU
	signalFileSize = 25 // SIGXFSZ
)

// endedBy says whether a signal ended the command, or what a shell that is the
// command says of its last program.
func endedBy(r *sandbox.Result, sig int) bool {
	return r.Signal == sig || r.Ending == sandbox.Exited && r.ExitCode == 128+sig
}
