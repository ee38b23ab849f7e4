package probes

import (
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// limitRows use more than a limit allows. Each amount is small enough to do no
// harm where nothing stops it: that is the control.
func limitRows() []Row {
	by := func(c sandbox.Control) []sandbox.Control { return []sandbox.Control{c, sandbox.LimitsExact} }
	const several = `for i in 1 2 3 4 5 6 7 8; do "$PROBE" $MODE hold 30 1000 & done; wait`
	return grouped("limits of a command", []Row{
		{ID: "P76", Try: "start 80 processes where 40 are allowed", Controls: by(sandbox.LimitProcesses), Setup: Setup{Limits: sandbox.Limits{Processes: 40}}, Procedure: []string{"limit", "pids", "crowd", "80"}},
		{ID: "P77a", Try: "hold 256 MiB of memory where 128 are allowed", Controls: by(sandbox.LimitMemory), Setup: Setup{Limits: sandbox.Limits{MemoryBytes: 128 << 20}}, Procedure: []string{"limit", "memory", "hold", "256", "1000"}},
		{ID: "P77b", Try: "hold 240 MiB of memory in eight processes where 128 are allowed", Controls: by(sandbox.LimitMemory), Setup: Setup{Limits: sandbox.Limits{MemoryBytes: 128 << 20}}, Procedure: []string{"limit", "memory", "sh", several}},
		{ID: "P78a", Try: "write 64 MiB to one file where 16 are allowed in total", Controls: by(sandbox.LimitDisk), Setup: Setup{Limits: sandbox.Limits{DiskBytes: 16 << 20}}, Procedure: []string{"limit", "disk", "fill", "$W/big", "64", "200"}},
		{ID: "P78b", Try: "write 8 MiB to one file where 1 is allowed", Controls: by(sandbox.LimitFileSize), Setup: Setup{Limits: sandbox.Limits{FileBytes: 1 << 20}}, Procedure: []string{"limit", "file-size", "sh", `dd if=/dev/zero of="$W/big" bs=1048576 count=8`}},
		{ID: "P78c", Try: "fill a temp directory of 4 MiB with 8", Controls: by(sandbox.LimitTemp), Setup: Setup{Limits: sandbox.Limits{TempBytes: 4 << 20}}, Procedure: []string{"limit", "temp", "fill", "$B/private/tmp/big", "8", "0"}},
		{ID: "N70", Try: "use a second of processor time where 0.3 are allowed", Controls: by(sandbox.LimitCPU), Setup: Setup{Limits: sandbox.Limits{CPUTime: 300 * time.Millisecond}}, Procedure: []string{"limit", "cpu", "spin", "1000"}},
		{ID: "N71", Try: "write 4 MiB to both output streams where more than 1 ends a command", Controls: by(sandbox.LimitOutput), Setup: Setup{Limits: sandbox.Limits{OutputBytes: 1 << 20, OutputKill: true}}, Procedure: []string{"limit", "output", "flood", "4"}},
		{ID: "N72", Try: "write 4 MiB to both output streams where 1 is passed on", Controls: by(sandbox.LimitOutput), Setup: Setup{Limits: sandbox.Limits{OutputBytes: 1 << 20}}, Procedure: []string{"limit", "output", "flood", "4"}},
		{ID: "N74", Try: "run although a limit was asked for that is not kept here", NoControl: "it is about the contract", Procedure: []string{"limits-required"}},
		{ID: "N73", Try: "stay below every limit", Want: Works, Controls: by(sandbox.LimitsExact), Setup: Setup{Limits: sandbox.Limits{
			MemoryBytes: 1 << 30, Processes: 100, CPUTime: time.Minute, FileBytes: 64 << 20, DiskBytes: 256 << 20, OutputBytes: 1 << 20, OutputKill: true,
		}}, Act: []string{"fill", "$W/big", "4", "0"}},
	})
}
