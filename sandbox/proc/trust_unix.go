//go:build unix

package proc

import (
	"fmt"
	"os"
	"syscall"
)

// onlyOurs refuses what somebody else than root or we can write to: a group may
// have other members, so its right counts.
func onlyOurs(paths ...string) error {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || st.Uid != 0 && int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
			return fmt.Errorf("%s can be changed by others", path)
		}
	}
	return nil
}
