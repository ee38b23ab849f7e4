package bound

import (
	"slices"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/cgroup"
)

// By which means a limit is held, and what is said about it, follows from a few
// facts alone.
func TestBound(t *testing.T) {
	all := func(w cgroup.Want) cgroup.Want { return w }
	none := func(cgroup.Want) cgroup.Want { return cgroup.Want{} }
	pids := func(w cgroup.Want) cgroup.Want { return cgroup.Want{Processes: w.Processes} }
	for _, tt := range []struct {
		name      string
		limits    sandbox.Limits
		terms     Terms
		group     cgroup.Want
		processes uint64
		crowd     bool
		gaps      []sandbox.Control
	}{
		{"nothing asked", sandbox.Limits{}, Terms{Able: nil}, cgroup.Want{}, 0, false, nil},
		{
			"root",
			sandbox.Limits{MemoryBytes: 5, Processes: 9, CPUTime: 1, FileBytes: 1, OutputBytes: 1},
			Terms{Full: true, Root: true, Able: all},
			cgroup.Want{MemoryBytes: 5, Processes: 10, CPU: true},
			0, false, nil,
		},
		{"root, landlock", sandbox.Limits{Processes: 9}, Terms{Root: true, Able: all}, cgroup.Want{Processes: 9}, 0, false, nil},
		{"root without groups", sandbox.Limits{Processes: 9}, Terms{Full: true, Root: true, Able: none}, cgroup.Want{}, 0, false, []sandbox.Control{sandbox.LimitProcesses, sandbox.LimitsExact}},
		{"user", sandbox.Limits{Processes: 20}, Terms{Full: true, Able: none}, cgroup.Want{}, 47, false, []sandbox.Control{sandbox.LimitsExact}},
		{"user, landlock", sandbox.Limits{Processes: 20}, Terms{Able: none}, cgroup.Want{}, 0, true, []sandbox.Control{sandbox.LimitsExact}},
		{"user, thread", sandbox.Limits{Processes: 20, FileBytes: 1}, Terms{Late: true, TempFix: "x", Able: none}, cgroup.Want{}, 0, false, []sandbox.Control{sandbox.LimitProcesses, sandbox.LimitFileSize, sandbox.LimitsExact}},
		{"a part", sandbox.Limits{Processes: 20, MemoryBytes: 7}, Terms{Able: pids}, cgroup.Want{Processes: 20}, 0, false, []sandbox.Control{sandbox.LimitsExact}},
		{"temp", sandbox.Limits{TempBytes: 1}, Terms{Full: true, Able: none}, cgroup.Want{}, 0, false, nil},
		{"temp, landlock", sandbox.Limits{TempBytes: 1}, Terms{TempFix: "x", Able: none}, cgroup.Want{}, 0, false, []sandbox.Control{sandbox.LimitTemp}},
		{"disk", sandbox.Limits{DiskBytes: 1}, Terms{Full: true, Root: true, Able: all}, cgroup.Want{}, 0, false, []sandbox.Control{sandbox.LimitsExact}},
		{"time, late", sandbox.Limits{CPUTime: time.Second}, Terms{Late: true, Able: all}, cgroup.Want{}, 0, false, []sandbox.Control{sandbox.LimitsExact}},
	} {
		b, gaps := Of(tt.limits, tt.terms)
		if b.group != tt.group || b.processes != tt.processes || b.crowd != tt.crowd {
			t.Errorf("%s: %+v", tt.name, b)
		}
		if got := sandbox.GapControls(gaps); !slices.Equal(got, tt.gaps) && len(got)+len(tt.gaps) > 0 {
			t.Errorf("%s: gaps %v, want %v", tt.name, got, tt.gaps)
		}
		for _, g := range gaps {
			if g.Why == "" || g.Fix == "" {
				t.Errorf("%s: gap %s has no reason or no remedy", tt.name, g.Control)
			}
		}
	}
}
