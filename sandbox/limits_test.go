package sandbox

import (
	"slices"
	"testing"
	"time"
)

var someLimits = Limits{
	CPUTime: time.Second, MemoryBytes: 2, Processes: 3, FileBytes: 4, DiskBytes: 5, TempBytes: 6, OutputBytes: 7, OutputKill: true,
}

// Nothing that is said twice becomes wider.
func TestNarrow(t *testing.T) {
	wide := Limits{time.Minute, 20, 30, 40, 50, 60, 70, false}
	for _, tt := range []struct{ a, b, want Limits }{
		{Limits{}, Limits{}, Limits{}},
		{someLimits, Limits{}, someLimits},
		{Limits{}, someLimits, someLimits},
		{someLimits, wide, someLimits},
		{wide, someLimits, someLimits},
		{Limits{MemoryBytes: 5}, Limits{MemoryBytes: 9, Processes: 1}, Limits{MemoryBytes: 5, Processes: 1}},
	} {
		if got := tt.a.Narrow(tt.b); got != tt.want {
			t.Errorf("%+v by %+v: %+v", tt.a, tt.b, got)
		}
	}
}

// Every limit has a control, every control of a limit takes it away, and a limit
// that was asked for is required.
func TestLimitsHaveControls(t *testing.T) {
	asked := someLimits.Asked()
	if want := LimitControls(); !slices.Equal(append(asked, LimitsExact), want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
	left := someLimits
	for i, c := range asked {
		left = left.Without([]Control{c})
		if got := left.Asked(); !slices.Equal(got, asked[i+1:]) || left.Speaks(c) {
			t.Errorf("without %s: %v", c, got)
		}
		if _, err := (Profile{Limits: someLimits}).Judge("x", []Gap{{Control: c}}); err == nil {
			t.Errorf("%s was asked for, is missing, and nothing refuses", c)
		}
		if _, err := (Profile{Limits: someLimits, Accept: []Control{c}}).Judge("x", []Gap{{Control: c}}); err != nil {
			t.Errorf("%s was accepted: %v", c, err)
		}
		if _, err := (Profile{}).Judge("x", []Gap{{Control: c}}); err != nil {
			t.Errorf("%s was not asked for: %v", c, err)
		}
	}
	if left != (Limits{}) || left.Speaks(LimitsExact) || left.Record() != nil || !(Limits{}).Speaks(WritesConfined) {
		t.Errorf("left %+v", left)
	}
	if _, err := (Profile{Limits: someLimits}).Judge("x", []Gap{{Control: LimitsExact}}); err != nil {
		t.Errorf("that limits are exact is wanted only: %v", err)
	}
}
