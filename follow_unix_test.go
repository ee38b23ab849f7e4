//go:build unix

package sbx

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe that nobody writes to does not hold the reading up.
func TestFollowPipe(t *testing.T) {
	dir := workspaceWith(t, map[string]string{"x.sh": "rm a\n"})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := followed(dir, "sh pipe; sh x.sh")
	if read(r, dir) != "x.sh" || len(r.Followed) != 2 || r.Followed[0].Skipped == "" {
		t.Errorf("%+v", r.Followed)
	}
}
