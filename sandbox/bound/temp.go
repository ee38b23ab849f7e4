package bound

import "github.com/sbx-run/sbx/sandbox"

// TempSize is the size of the file systems in memory that a run has; 0: the
// kernel's default, half of the memory.
func TempSize(l sandbox.Limits) int64 {
	if l.TempBytes > 0 {
		return l.TempBytes
	}
	return l.MemoryBytes // its files are memory
}
