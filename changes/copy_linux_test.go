package changes

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A copy keeps the times of what it was made of; a new file has none before its birth.
func TestIsCopy(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, file, 0, unix.STATX_BTIME, &st); err != nil {
		t.Fatal(err)
	}
	if st.Mask&unix.STATX_BTIME == 0 {
		t.Skip("this file system keeps no times of birth: everything may be a copy there")
	}
	born := time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
	for _, c := range []struct {
		name         string
		atime, mtime time.Duration // after the birth
		copied       bool
	}{
		{"new", 0, 0, false},
		{"written later", 0, time.Hour, false},
		{"read later", time.Hour, 0, false},
		{"unpacked with the time of writing", time.Hour, -time.Hour, false},
		{"copied", -time.Hour, -time.Hour, true},
		{"read within a tick before it was copied", 0, -time.Hour, true},
	} {
		if err := os.Chtimes(file, born.Add(c.atime), born.Add(c.mtime)); err != nil {
			t.Fatal(err)
		}
		s, err := stateAt(unix.AT_FDCWD, file)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&reader{}).isCopy(unix.AT_FDCWD, file, s); got != c.copied {
			t.Errorf("%s: copied %v", c.name, got)
		}
	}
}
