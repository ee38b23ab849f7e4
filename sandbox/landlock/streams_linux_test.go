package landlock

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRewritable(t *testing.T) {
	const file = unix.S_IFREG
	for _, c := range []struct {
		name       string
		mode       uint32
		links      uint64
		owner, uid uint32
		want       bool
	}{
		{"of root", file | 0o644, 1, 0, 1000, false},
		{"of root, for root", file | 0o444, 1, 0, 0, true},
		{"of others, for root", file | 0o444, 1, 1000, 0, true},
		{"own, that the mode does not let write", file | 0o400, 1, 1000, 1000, true},
		{"of others, for their group", file | 0o664, 1, 1, 1000, true},
		{"of others, for all", file | 0o646, 1, 1, 1000, true},
		{"without a name", file | 0o600, 0, 1000, 1000, false},
		{"a pipe", unix.S_IFIFO | 0o600, 1, 1000, 1000, false},
		{"a terminal", unix.S_IFCHR | 0o620, 1, 1000, 1000, false},
	} {
		if got := rewritable(c.mode, c.links, c.owner, c.uid); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// A file that was opened for reading is refused and named; one that was opened for
// writing, or is spared, is not.
func TestCheckStreams(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(flags int, spared bool) error {
		f, err := os.OpenFile(name, flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		null, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer null.Close()
		return CheckStreams([3]uintptr{f.Fd(), null.Fd(), null.Fd()}, uint32(os.Geteuid()), "why", func(at string) bool {
			if at != name {
				t.Errorf("asked about %q", at)
			}
			return spared
		})
	}
	var reopened *Reopened
	if err := check(os.O_RDONLY, false); !errors.As(err, &reopened) || reopened.Path != name || !strings.Contains(err.Error(), "cat FILE |") {
		t.Errorf("opened for reading: %v", err)
	}
	for _, err := range []error{check(os.O_RDONLY, true), check(os.O_RDWR, false), check(os.O_WRONLY, false)} {
		if err != nil {
			t.Error(err)
		}
	}
}
