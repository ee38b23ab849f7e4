//go:build amd64 || arm64

package under_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/bwrap"
	"github.com/sbx-run/sbx/sandbox/firejail"
	"github.com/sbx-run/sbx/sandbox/landlock"
)

// A file outside that is a stream can be opened anew, past all mounts: for writing
// only when it was given for writing. Without a sandbox the same command writes it.
// So can one that is protected, which is refused.
func TestStreamsAreNotOpenedForWriting(t *testing.T) {
	for _, name := range []string{bwrap.Name, firejail.Name} {
		t.Run(name, func(t *testing.T) { testStreams(t, backends()[name]) })
	}
}

func testStreams(t *testing.T, b sandbox.Backend) {
	if _, err := b.Probe(t.Context()); err != nil {
		if slices.Contains(strings.Split(os.Getenv("SBX_REQUIRE"), ","), b.Name()) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	workspace, outside := t.TempDir(), filepath.Join(t.TempDir(), "file")
	protected := filepath.Join(workspace, "protected")
	if err := os.WriteFile(protected, []byte("canary\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := b.Open(t.Context(), sandbox.Profile{Workspace: workspace, Home: os.Getenv("HOME"), Protect: []string{protected}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	// given runs a script whose input and error are the file and tells what is in it then.
	given := func(name string, flags int, run func(in *os.File) (string, error)) (string, string, error) {
		if err := os.WriteFile(name, []byte("canary\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		in, err := os.OpenFile(name, flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		out, err := run(in)
		text, failed := os.ReadFile(name)
		if failed != nil {
			t.Fatal(failed)
		}
		return string(text), out, err
	}
	confined := func(script string) func(in *os.File) (string, error) {
		return func(in *os.File) (string, error) {
			var out bytes.Buffer
			_, err := s.Run(t.Context(), sandbox.Command{Argv: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Stdin: in, Stdout: &out, Stderr: in})
			return out.String(), err
		}
	}
	const bad = "cat; echo bad 1<>/proc/self/fd/0; : >/dev/stdin; truncate -s 0 /proc/self/fd/2"
	outsideToo := func(in *os.File) (string, error) {
		c := exec.Command("sh", "-c", bad)
		c.Stdin, c.Stderr = in, in
		out, err := c.Output()
		return string(out), err
	}
	if text, out, _ := given(outside, os.O_RDONLY, outsideToo); text != "" {
		t.Errorf("control without a sandbox: %q, %q", text, out)
	}
	if text, out, err := given(outside, os.O_RDWR, confined("echo it is 1<>/proc/self/fd/0; echo err >/dev/stderr; echo out")); text != "err\n" || out != "out\n" || err != nil {
		t.Errorf("control, opened for writing: %q, %q, %v", text, out, err)
	}
	abi, _ := landlock.ABI()
	text, out, err := given(outside, os.O_RDONLY, confined(bad))
	if held := out == text && err == nil; text != "canary\n" || held != landlock.HoldsStreams(abi) || !held && (out != "" || err == nil) {
		t.Errorf("opened for reading, ABI %d: %q, %q, %v", abi, text, out, err)
	}
	if text, out, err := given(protected, os.O_RDONLY, confined(bad)); text != "canary\n" || out != "" || err == nil || !strings.Contains(err.Error(), "protected") {
		t.Errorf("protected: %q, %q, %v", text, out, err)
	}
	// What may be written still may.
	const works = `mkdir a b; echo x >a/f; mv a/f b/g; ln b/g a/h; : >b/g; echo t >/tmp/t; mkdir /tmp/d; mv /tmp/t /tmp/d; echo n >/dev/null; rm -r a b /tmp/d`
	if _, out, err = given(outside, os.O_RDWR, confined("exec 2>&1; set -e;"+works+"; echo done >/dev/stdout")); out != "done\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
}
