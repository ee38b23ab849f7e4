//go:build linux

package protect

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// recalling is a workspace and a home whose searches share a memory.
type recalling struct {
	*testing.T
	dir, ws string
	memory  Memory
}

// newRecalling waits until nothing there is too young to be remembered.
func newRecalling(t *testing.T, files map[string]string) *recalling {
	t.Helper()
	dir := tree(t, files)
	time.Sleep(calm + 100*time.Millisecond)
	r := &recalling{T: t, dir: dir, ws: dir + "/ws"}
	if !tellsChanges(dir) {
		t.Skipf("%s lies on a file system of which nothing is remembered", dir)
	}
	r.find()
	if _, ok := r.memory.recall(r.ws, lookAt(r.ws), now()); !ok {
		t.Fatal("control: the workspace was not remembered")
	}
	return r
}

func (r *recalling) find() *Watch {
	r.Helper()
	w, err := Find(sandbox.Profile{Workspace: r.ws, Home: r.dir + "/home"}, Options{Memory: &r.memory})
	must(r.T, err)
	return w
}

func (r *recalling) wants(when string, want ...string) {
	r.Helper()
	var got []string
	for _, path := range r.find().Paths() {
		rest, err := filepath.Rel(r.dir, path)
		must(r.T, err)
		got = append(got, rest)
	}
	if !slices.Equal(got, want) {
		r.Errorf("%s: protects %q, want %q", when, got, want)
	}
}

// What was remembered must not hide what came or went since.
func TestMemoryOfNames(t *testing.T) {
	t.Parallel()
	r := newRecalling(t, map[string]string{"ws/.envrc": "x", "ws/a": "", "home/": "", "other/.mcp.json": "{}", "other/.envrc": "x"})
	r.wants("as it was", "ws/.envrc")
	grow(t, r.ws, map[string]string{".mcp.json": "{}"})
	r.wants("a file appeared", "ws/.envrc", "ws/.mcp.json")
	must(t, os.Remove(r.ws+"/.envrc"))
	r.wants("a file went", "ws/.mcp.json")
	grow(t, r.ws, repo(".git/", nil))
	r.wants("a repository appeared", "ws/.git/config", "ws/.git/hooks", "ws/.mcp.json")

	must(t, os.Rename(r.ws, r.dir+"/old"))
	must(t, os.Rename(r.dir+"/other", r.ws))
	r.wants("another directory took its name", "ws/.envrc", "ws/.mcp.json")
	must(t, os.Rename(r.ws, r.dir+"/other"))
	must(t, os.Rename(r.dir+"/old", r.ws))
	r.wants("the first one came back", "ws/.git/config", "ws/.git/hooks", "ws/.mcp.json")

	past := time.Now().Add(-time.Hour)
	before := lookAt(r.ws).mtime
	grow(t, r.ws, map[string]string{".bashrc": ""})
	must(t, os.Chtimes(r.ws, past, time.Unix(0, before)))
	r.wants("a file appeared and the old time was set", "ws/.bashrc", "ws/.git/config", "ws/.git/hooks", "ws/.mcp.json")
}

func TestMemoryOfConfigurations(t *testing.T) {
	t.Parallel()
	r := newRecalling(t, map[string]string{"ws/tools/pre-commit": "", "ws/more/pre-commit": "", "home/.gitconfig": "[user]\n\tname = a\n", "home/.config/git/extra": ""})
	if _, ok := r.memory.recall(r.dir+"/home/.gitconfig", lookAt(r.dir+"/home/.gitconfig"), now()); !ok {
		t.Fatal("control: the configuration was not remembered")
	}
	r.wants("as it was")
	grow(t, r.dir, map[string]string{"home/.gitconfig": "[core]\n\thooksPath = tools\n"})
	r.wants("changed in place", "ws/tools")
	grow(t, r.dir, map[string]string{"home/.gitconfig.new": "[include]\n\tpath = .config/git/extra\n"})
	must(t, os.Rename(r.dir+"/home/.gitconfig.new", r.dir+"/home/.gitconfig"))
	r.wants("replaced")
	grow(t, r.dir, map[string]string{"home/.config/git/extra": "[core]\n\thooksPath = more\n"})
	r.wants("an included file changed", "ws/more")
	grow(t, r.dir, map[string]string{"home/.config/git/config": "[core]\n\thooksPath = tools\n"})
	r.wants("a further file appeared", "ws/more", "ws/tools")
}

// A file that changed a moment ago can change again without a new time, and what a
// command can write may change without one at all.
func TestWhatIsNotRemembered(t *testing.T) {
	t.Parallel()
	r := newRecalling(t, map[string]string{"ws/.gitconfig": "[core]\n\thooksPath = tools\n", "ws/tools/x": "", "home/.gitconfig": "-> ../ws/.gitconfig"})
	r.wants("a configuration in the workspace", "ws/.gitconfig", "ws/tools")
	if _, ok := r.memory.have[r.ws+"/.gitconfig"]; ok {
		t.Error("a file that a command can write was remembered")
	}
	grow(t, r.ws, map[string]string{"young": ""})
	r.find()
	if _, ok := r.memory.recall(r.ws, lookAt(r.ws), now()); ok {
		t.Error("a directory that changed a moment ago was remembered")
	}
	if tellsChanges("/proc") {
		t.Error("/proc tells no changes")
	}
}

func TestRecall(t *testing.T) {
	at := now()
	old := stamp{exists: true, ino: 1, ctime: at.files - int64(calm) - 1}
	later := func(exact, files time.Duration) clock {
		return clock{at.files + int64(files), at.exact.Add(exact), true}
	}
	for _, tt := range []struct {
		name string
		kept stamp
		seen stamp
		when clock
		want bool
	}{
		{"unchanged", old, old, later(time.Hour, time.Hour), true},
		{"the computer slept", old, old, later(time.Minute, time.Hour), true},
		{"another file", old, stamp{exists: true, ino: 2, ctime: old.ctime}, later(time.Hour, time.Hour), false},
		{"gone", old, stamp{}, later(time.Hour, time.Hour), false},
		{"the clock was set back", old, old, later(time.Hour, time.Hour-time.Second), false},
		{"no clock", old, old, clock{}, false},
		{"changed a second before it was read", stamp{exists: true, ctime: at.files - 1e9}, stamp{exists: true, ctime: at.files - 1e9}, later(time.Hour, time.Hour), false},
		{"changed in the future", stamp{exists: true, ctime: at.files + 1e9}, stamp{exists: true, ctime: at.files + 1e9}, later(time.Hour, time.Hour), false},
	} {
		var m Memory
		m.keep("/", tt.kept, at, memo{})
		if len(m.have) == 0 && tt.want {
			t.Skip("nothing is remembered of this file system")
		}
		if _, got := m.recall("/", tt.seen, tt.when); got != tt.want {
			t.Errorf("%s: recalled %v", tt.name, got)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	var m Memory
	at := now()
	p := stamp{exists: true, ctime: at.files - 2*int64(calm)}
	if !m.keep("/", p, at, memo{}) {
		t.Skip("nothing is remembered of this file system")
	}
	for i := range maxMemos + 10 {
		m.have[string(rune(i))] = memo{}
		if len(m.have) >= maxMemos {
			break
		}
	}
	m.keep("/", p, at, memo{})
	if n := len(m.have); n != 1 {
		t.Errorf("%d are remembered", n)
	}
}

// What appears during a run is reported where the names were remembered, too.
func TestReportOfARemembered(t *testing.T) {
	t.Parallel()
	r := newRecalling(t, map[string]string{"ws/a": "", "home/": ""})
	w := r.find()
	if trust := w.Report(Limit); len(trust.Findings) > 0 || trust.Incomplete != "" {
		t.Errorf("control: %+v", trust)
	}
	w = r.find()
	grow(t, r.ws, map[string]string{".envrc": "x", "out": "-> /etc"})
	must(t, os.Chmod(r.ws+"/a", 0o755|os.ModeSetuid))
	var got []string
	for _, f := range w.Report(Limit).Findings {
		got = append(got, filepath.Base(f.Path)+" "+string(f.Kind))
	}
	if want := []string{".envrc shell", "a set-id", "out link"}; !slices.Equal(got, want) {
		t.Errorf("reported %q, want %q", got, want)
	}
}
