//go:build unix

package sbx

import (
	"os"
	"syscall"
)

// callerUID is the user sbx runs as.
func callerUID() uint32 { return uint32(os.Geteuid()) }

// fileID tells two directories of the same name apart and says who owns them.
type fileID struct {
	dev, ino uint64
	uid, gid uint32
	links    uint64
}

func identify(info os.FileInfo) fileID {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}
	}
	return fileID{dev: uint64(st.Dev), ino: st.Ino, uid: st.Uid, gid: st.Gid, links: uint64(st.Nlink)}
}
