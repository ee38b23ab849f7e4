//go:build unix

package sbx

import (
	"errors"
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

// A runtime hands the command over in a file of the temp directory: that is
// read, no other file there.
func TestRunReadsTheHandedScript(t *testing.T) {
	temp := workspaceWith(t, map[string]string{"call.sh": "true\nrm -rf /\n", "other.sh": "rm -rf /\n", "calls.sh": "sh " + "other.sh\n"})
	environ := []string{"TMPDIR=" + temp, "HOME=/home/ann", "PATH=/usr/bin:/bin"}
	dir := workspaceWith(t, nil)
	_, b, err := runFake(t, Options{Environ: environ}, Request{Argv: []string{"sh", temp + "/call.sh"}, Workspace: dir})
	var denied *DeniedError
	if !errors.As(err, &denied) || denied.Refusals[0].Place() != temp+"/call.sh:2" || len(b.ran) > 0 {
		t.Errorf("%v", err)
	}
	for _, argv := range [][]string{{"sh", "-c", "sh " + temp + "/call.sh"}, {"sh", temp + "/calls.sh"}} {
		if _, b, err := runFake(t, Options{Environ: environ}, Request{Argv: argv, Workspace: dir}); err != nil || len(b.ran) != 1 {
			t.Errorf("%q: %v", argv, err)
		}
	}
}
