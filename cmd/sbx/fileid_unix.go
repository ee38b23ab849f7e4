//go:build unix

package main

import (
	"io/fs"
	"os"
	"syscall"
)

// fileID tells files apart, whatever their names.
type fileID struct{ dev, ino uint64 }

// identify gives the file behind a name, and how many names it has.
func identify(info fs.FileInfo) (id fileID, names uint64, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, 0, false
	}
	return fileID{uint64(st.Dev), st.Ino}, uint64(st.Nlink), true
}

// ownFile reports a file that belongs to the caller.
func ownFile(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
