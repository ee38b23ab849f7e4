//go:build unix && !linux

package tree

import "syscall"

// changeTime is not asked for here: a file whose times were put back is then
// taken for unchanged.
func changeTime(*syscall.Stat_t) int64 { return 0 }
