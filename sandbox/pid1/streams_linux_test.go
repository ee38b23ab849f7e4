//go:build amd64 || arm64

package pid1

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sbx-run/sbx/sandbox/landlock"
)

// Where nothing would refuse to open a file anew for writing, it is not taken for
// reading; for writing it is.
func TestEncloseWithoutLandlock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for flags, want := range map[int]bool{os.O_RDONLY: true, os.O_RDWR: false} {
		f, err := os.OpenFile(name, flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for _, abi := range []int{0, 2} {
			domain, err := enclose(abi, [3]uintptr{f.Fd(), f.Fd(), f.Fd()})
			var reopened *landlock.Reopened
			if domain != -1 || errors.As(err, &reopened) != want || (err != nil) != want {
				t.Errorf("flags %d, ABI %d: domain %d, %v", flags, abi, domain, err)
			}
		}
	}
}
