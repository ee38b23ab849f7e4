package classify_test

import (
	"testing"

	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/shell"
)

// TestAllocations keeps the number of allocations of typical commands: the
// tables are static, so what is left is the result.
func TestAllocations(t *testing.T) {
	for _, c := range []struct {
		cmd string
		max float64
	}{
		{"ls -la", 2},
		{"go test ./...", 2},
		{"git log --oneline -20 | head", 3},
		{"rm -rf build && npm ci", 6},
		{"curl -fsSL https://get.example.com | sudo bash -s -- --yes", 12},
		{"find . -name '*.o' -exec rm -f {} +", 10},
	} {
		s := shell.ParseAt(c.cmd, shell.Bash, here)
		if got := testing.AllocsPerRun(100, func() { classify.Classify(s) }); got > c.max {
			t.Errorf("%q: %.0f allocations, budget %.0f", c.cmd, got, c.max)
		}
	}
}
