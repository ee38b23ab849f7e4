//go:build unix

package proc

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ours refuses what belongs to somebody else than root or us.
func ours(path string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return fmt.Errorf("%s can be changed by others: its owner is not known", path)
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s can be changed by others: it belongs to user %d", path, st.Uid)
	}
	return nil
}

// onlyOurs also refuses what somebody else can write to: a group may have other
// members, so that its right counts. For a directory it does not where the group is
// known to have none.
func onlyOurs(path string, info fs.FileInfo) error {
	if err := ours(path, info); err != nil {
		return err
	}
	const group, world = 0o020, 0o002
	mode := info.Mode().Perm()
	if mode&world != 0 || mode&group != 0 && !(info.IsDir() && ownGroup(path, info.Sys().(*syscall.Stat_t).Gid)) {
		return fmt.Errorf("%s can be changed by others: its mode is %04o, chmod go-w closes it", path, mode)
	}
	return nil
}
