//go:build linux

package protect

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// reported runs a scan over what change does during a run.
func (r *recalling) reported(change func()) []string {
	r.Helper()
	time.Sleep(20 * time.Millisecond) // what was done before has another time
	w := r.find()
	change()
	trust := w.Report(Limit)
	if trust.Incomplete != "" {
		r.Errorf("the scan is incomplete: %s", trust.Incomplete)
	}
	var got []string
	for _, f := range trust.Findings {
		rest, err := filepath.Rel(r.ws, f.Path)
		must(r.T, err)
		got = append(got, rest+" "+string(f.Kind))
	}
	return got
}

// A directory that was listed before and has not changed is not listed again, and
// all that can change without it is found all the same.
func TestScanOfRemembered(t *testing.T) {
	t.Parallel()
	files := map[string]string{"home/": "", "ws/a/b/c/file": "", "ws/a/tool": "", "ws/x/y/z/": "", "ws/.claude/deep/down/file": ""}
	for name, text := range repo("ws/sub/one/.git/", nil) {
		files[name] = text
	}
	r := newRecalling(t, files)
	if got := r.reported(func() {}); got != nil {
		t.Fatalf("control: %q", got)
	}
	first := r.memory.tree(r.ws)
	if b := first[r.ws+"/a"]; b == nil || !slices.Equal(b.dirs, []string{r.ws + "/a/b"}) || first[r.ws+"/sub/one"] == nil || !first[r.ws+"/sub/one"].git {
		t.Fatalf("control: remembered is %v", first)
	}
	if first[r.ws+"/.claude/deep"] != nil {
		t.Error("a protected directory is remembered: its files have to be looked at")
	}
	r.reported(func() {})
	if second := r.memory.tree(r.ws); second[r.ws+"/a"] != first[r.ws+"/a"] {
		t.Error("what has not changed was listed again")
	}

	for _, tt := range []struct {
		name   string
		change func()
		want   []string
	}{
		{"a link far below", func() { grow(t, r.ws, map[string]string{"a/b/c/out": "-> /etc"}) }, []string{"a/b/c/out link"}},
		{"a link in a directory that had none below", func() { grow(t, r.ws, map[string]string{"x/y/z/out": "-> /etc"}) }, []string{"x/y/z/out link"}},
		{"the configuration of a nested repository, in place", func() {
			must(t, os.WriteFile(r.ws+"/sub/one/.git/config", []byte("[core]\n\tfsmonitor = x\n"), 0o600))
		}, []string{"sub/one/.git repository"}},
		{"a hook of a nested repository", func() { grow(t, r.ws, map[string]string{"sub/one/.git/hooks/pre-push": ""}) }, []string{"sub/one/.git/hooks/pre-push hook"}},
		{"a new nested repository", func() { grow(t, r.ws, repo("x/new/.git/", nil)) }, []string{"x/new/.git repository"}},
		{"a file of a protected directory, in place", func() {
			must(t, os.WriteFile(r.ws+"/.claude/deep/down/file", []byte("y"), 0o600))
		}, []string{".claude/deep/down/file settings"}},
		{"a directory that took the place of another", func() {
			grow(t, r.dir, map[string]string{"other/out": "-> /etc"})
			must(t, os.Rename(r.ws+"/a/b", r.dir+"/old"))
			must(t, os.Rename(r.dir+"/other", r.ws+"/a/b"))
		}, []string{"a/b/out link"}},
	} {
		if got := r.reported(tt.change); !slices.Equal(got, tt.want) {
			t.Errorf("%s: reported %q, want %q", tt.name, got, tt.want)
		}
	}
}

// What came between two runs is not remembered, and looked at in the second.
func TestScanAfterChange(t *testing.T) {
	t.Parallel()
	r := newRecalling(t, map[string]string{"home/": "", "ws/a/b/c/": ""})
	if got := r.reported(func() {}); got != nil {
		t.Fatalf("control: %q", got)
	}
	grow(t, r.ws, map[string]string{"a/b/new/down/": ""})
	got := r.reported(func() { grow(t, r.ws, map[string]string{"a/b/new/down/out": "-> /etc"}) })
	if want := []string{"a/b/new/down/out link"}; !slices.Equal(got, want) {
		t.Errorf("reported %q, want %q", got, want)
	}
}

// A scan that ran out of time comes further the next time.
func TestScanGoesOn(t *testing.T) {
	t.Parallel()
	r := newRecalling(t, map[string]string{"home/": "", "ws/a/b/c/": "", "ws/d/e/f/": ""})
	if got := r.reported(func() {}); got != nil {
		t.Fatalf("control: %q", got)
	}
	all := len(r.memory.tree(r.ws))
	if trust := r.find().Report(-time.Second); trust.Incomplete == "" {
		t.Error("a scan without time was complete")
	}
	if n := len(r.memory.tree(r.ws)); n != all {
		t.Errorf("%d directories are remembered, %d were", n, all)
	}
}
