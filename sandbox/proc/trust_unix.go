//go:build unix

package proc

import (
	"fmt"
	"os"
	"syscall"
)

// onlyOurs refuses what somebody else than root or we can write to: a group may
// have other members, so its right counts.
func onlyOurs(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return causeOf(err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return fmt.Errorf("%s can be changed by others: its owner is not known", path)
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s can be changed by others: it belongs to user %d", path, st.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s can be changed by others: its mode is %04o, chmod go-w closes it", path, info.Mode().Perm())
	}
	return nil
}
