//go:build unix

package proc

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// On a busy machine the time to wait for output can be over before the copying
// goroutine has run at all. What the command wrote is not lost.
func TestOutputIsReadAfterTheDeadline(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close() // a daemon holds the other end
	if _, err := write.WriteString("written before the end"); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	s, err := openStreams(sandbox.Command{Stdout: &got}, sandbox.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.close() }()
	o := s.outputs[0]
	o.pipe = read
	if err := read.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() {
		close(o.ended)
		_ = read.SetReadDeadline(time.Now().Add(-time.Second))
	})
	o.copy()
	if got.String() != "written before the end" || o.bytes.Load() != int64(got.Len()) {
		t.Errorf("%q, %d bytes", got.String(), o.bytes.Load())
	}
}

// A directory as a standard stream leads past all that is covered; it is refused
// in each place, and files are not.
func TestDirectoryIsNoStream(t *testing.T) {
	open := func(name string, flag int) *os.File {
		f, err := os.OpenFile(name, flag, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	dir, null := open(t.TempDir(), os.O_RDONLY), open(os.DevNull, os.O_RDWR)
	for name, c := range map[string]sandbox.Command{
		"standard input":  {Stdin: dir, Stdout: null, Stderr: null},
		"standard output": {Stdin: null, Stdout: dir, Stderr: null},
		"standard error":  {Stdin: null, Stdout: null, Stderr: dir},
	} {
		if s, err := openStreams(c, sandbox.Limits{}); err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("a directory as %s: %v", name, err)
			_ = s.close()
		}
	}
	s, err := openStreams(sandbox.Command{Stdin: null, Stdout: null, Stderr: null}, sandbox.Limits{}) // control
	if err != nil {
		t.Fatal(err)
	}
	_ = s.close()
}
