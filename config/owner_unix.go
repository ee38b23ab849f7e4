//go:build unix

package config

import (
	"os"
	"syscall"
)

// ours reports whether a file belongs to the user that sbx runs as.
func ours(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(st.Uid) == os.Geteuid()
}
