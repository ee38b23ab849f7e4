package sbx

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

func privateEngine(t *testing.T) (e *Engine, home, workspace string) {
	t.Helper()
	home, workspace = realPath(t.TempDir()), realPath(t.TempDir())
	return testEngine(t, Options{Environ: []string{"HOME=" + home, "TMPDIR=" + realPath(t.TempDir())}}), home, workspace
}

func TestPrivateIsKeptBetweenRuns(t *testing.T) {
	e, home, ws := privateEngine(t)
	p, err := e.openPrivate(ws, nil, []string{ws})
	must(t, err)
	if !within(p.dir, filepath.Join(home, ".cache", "sbx")) {
		t.Errorf("private directory is %s", p.dir)
	}
	must(t, os.WriteFile(filepath.Join(p.temp(), "x"), nil, 0o600))
	p.close()
	again, err := e.openPrivate(ws, nil, []string{ws})
	must(t, err)
	defer again.close()
	if again.dir != p.dir || !exists(filepath.Join(again.temp(), "x")) {
		t.Errorf("second run has %s, the first had %s", again.dir, p.dir)
	}
	other, err := e.openPrivate(ws+"x", nil, []string{ws})
	must(t, err)
	defer other.close()
	if other.dir == p.dir {
		t.Error("another workspace has the same private directory")
	}
	for _, dir := range []string{p.dir, p.temp(), p.cache()} {
		if info, err := os.Lstat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v; want mode 0700", dir, info.Mode(), err)
		}
	}
}

func TestPrivateExpiresWhenIdle(t *testing.T) {
	e, _, ws := privateEngine(t)
	age := func(p *private, by time.Duration) {
		old := time.Now().Add(-by)
		must(t, os.Chtimes(filepath.Join(p.dir, "lock"), old, old))
	}
	outside := filepath.Join(t.TempDir(), "kept")
	must(t, os.Mkdir(outside, 0o700), os.WriteFile(filepath.Join(outside, "f"), nil, 0o600))

	live, err := e.openPrivate(ws, nil, nil)
	must(t, err)
	file, cached := filepath.Join(live.temp(), "d", "x"), filepath.Join(live.cache(), "y")
	must(t, os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, nil, 0o600), os.WriteFile(cached, nil, 0o600),
		os.Symlink(outside, filepath.Join(live.temp(), "link")))

	age(live, tempIdle+time.Hour)
	second, err := e.openPrivate(ws, nil, nil)
	must(t, err)
	if !exists(file) {
		t.Fatal("a live run lost its temp files")
	}
	second.close()
	live.close()

	age(live, tempIdle-time.Hour)
	third, err := e.openPrivate(ws, nil, nil)
	must(t, err)
	third.close()
	if !exists(file) {
		t.Error("temp files went before their time")
	}

	age(live, tempIdle+time.Hour)
	fourth, err := e.openPrivate(ws, nil, nil)
	must(t, err)
	defer fourth.close()
	if exists(file) || exists(filepath.Join(fourth.temp(), "link")) {
		t.Error("idle temp files were kept")
	}
	if !exists(cached) {
		t.Error("the cache went with the temp files")
	}
	if !exists(filepath.Join(outside, "f")) {
		t.Error("a link was followed out of the temp directory")
	}
}

// What a command could have left there is not trusted.
func TestPrivateRefusesForeignThings(t *testing.T) {
	for name, spoil := range map[string]func(p *private, victim string){
		"link for tmp":      func(p *private, victim string) { os.Remove(p.temp()); os.Symlink(victim, p.temp()) },
		"link for cache":    func(p *private, victim string) { os.Remove(p.cache()); os.Symlink(victim, p.cache()) },
		"file for tmp":      func(p *private, _ string) { os.Remove(p.temp()); os.WriteFile(p.temp(), nil, 0o600) },
		"link for the room": func(p *private, victim string) { os.RemoveAll(p.dir); os.Symlink(victim, p.dir) },
		"open to others":    func(p *private, _ string) { os.Chmod(p.dir, 0o777) },
		"link for the lock": func(p *private, victim string) {
			os.Remove(filepath.Join(p.dir, "lock"))
			os.Symlink(filepath.Join(victim, "lock"), filepath.Join(p.dir, "lock"))
		},
	} {
		e, _, ws := privateEngine(t)
		victim := realPath(t.TempDir())
		p, err := e.openPrivate(ws, nil, nil)
		must(t, err)
		p.close()
		spoil(p, victim)
		again, err := e.openPrivate(ws, nil, nil)
		if err == nil {
			for _, dir := range []string{again.dir, again.temp(), again.cache()} {
				if realPath(dir) != dir || within(dir, victim) {
					t.Errorf("%s: used %s", name, dir)
				}
			}
			if again.dir == p.dir {
				t.Errorf("%s: the spoiled directory was used", name)
			}
			again.close()
		}
		if entries, _ := os.ReadDir(victim); len(entries) > 0 {
			t.Errorf("%s: %d entries were made in the victim", name, len(entries))
		}
	}
}

// A command that changed the mode of its own temp directory does not lose it.
func TestPrivateModeIsRepaired(t *testing.T) {
	e, _, ws := privateEngine(t)
	p, err := e.openPrivate(ws, nil, nil)
	must(t, err)
	p.close()
	must(t, os.Chmod(p.temp(), 0o777))
	again, err := e.openPrivate(ws, nil, nil)
	must(t, err)
	defer again.close()
	if info, _ := os.Lstat(again.temp()); again.dir != p.dir || info.Mode().Perm() != 0o700 {
		t.Errorf("%s has mode %v", again.temp(), info.Mode())
	}
}

// Nothing private lies where commands can write: they could put a link there.
func TestPrivateAvoidsWritablePlaces(t *testing.T) {
	ws := realPath(t.TempDir())
	e := testEngine(t, Options{Environ: []string{"HOME=" + realPath(t.TempDir()), "XDG_CACHE_HOME=" + ws + "/.cache"}})
	p, err := e.openPrivate(ws, nil, []string{ws})
	must(t, err)
	defer p.close()
	if within(p.dir, ws) {
		t.Errorf("private directory %s lies in the workspace", p.dir)
	}
	if exists(filepath.Join(ws, ".cache")) {
		t.Error("something was made in the workspace")
	}
}

func TestPrivateWithoutHome(t *testing.T) {
	temp, ws := realPath(t.TempDir()), realPath(t.TempDir())
	e := testEngine(t, Options{Environ: []string{"HOME=/proc/self/nowhere", "TMPDIR=" + temp, "USER=x"}})
	p, err := e.openPrivate(ws, nil, []string{ws})
	must(t, err)
	defer p.close()
	if os.Geteuid() != 0 && !within(p.dir, temp) {
		t.Errorf("private directory is %s, want one below %s", p.dir, temp)
	}
	if os.Geteuid() == 0 && !strings.HasPrefix(p.dir, "/var/cache/sbx/0-") {
		t.Errorf("private directory is %s, want one of root's", p.dir)
	}
}

func TestPrivateForAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs commands as somebody else")
	}
	e, home, ws := privateEngine(t)
	who := &sandbox.Identity{UID: 54321, GID: 54322}
	p, err := e.openPrivate(ws, who, []string{ws})
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(p.dir) })
	defer p.close()
	if within(p.dir, home) || !strings.HasPrefix(p.dir, "/var/cache/sbx/54321-") {
		t.Errorf("private directory is %s", p.dir)
	}
	for dir, uid := range map[string]uint32{filepath.Dir(p.dir): 0, p.dir: 0, p.temp(): 54321, p.cache(): 54321} {
		if info, err := os.Lstat(dir); err != nil || identify(info).uid != uid {
			t.Errorf("%s: owner %d, want %d", dir, identify(info).uid, uid)
		}
	}
}

func TestGapsAreNewOnce(t *testing.T) {
	e, _, ws := privateEngine(t)
	p, err := e.openPrivate(ws, nil, nil)
	must(t, err)
	defer p.close()
	if !p.firstTime("a b") || p.firstTime("a b") || !p.firstTime("a") {
		t.Error("a set of gaps is new the first time only")
	}
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

// What is kept for a workspace is nobody's when the workspace is gone, and only then.
func TestOrphans(t *testing.T) {
	e, home, ws := privateEngine(t)
	dir := func(name string) string {
		path := filepath.Join(ws, name)
		must(t, os.Mkdir(path, 0o700))
		return path
	}
	opened := func(path string) *private {
		p := opening(t, e, path)
		must(t, os.WriteFile(filepath.Join(p.cache(), "f"), []byte("12345"), 0o400))
		return p
	}
	// Of root there is another place, where other tests keep something.
	ours := func(list []Orphan) []Orphan {
		return slices.DeleteFunc(list, func(o Orphan) bool { return !within(o.Dir, home) })
	}
	listed := func() (dirs []string, all []Orphan) {
		gone, unknown := e.Orphans()
		gone = ours(gone)
		for _, o := range append(gone, ours(unknown)...) {
			dirs = append(dirs, o.Dir)
		}
		return dirs, gone
	}
	dir("other") // so that what is gone was no mount point
	live, gone, held, previewed, unknown := opened(dir("live")), opened(dir("gone")), opened(dir("held")), opened(dir("previewed")), opened(dir("unknown"))
	_, err := previewed.makeStore()
	must(t, err)
	must(t, os.Mkdir(filepath.Join(previewed.store(), "p1"), 0o700), os.Chmod(gone.cache(), 0o500))
	for _, p := range []*private{live, gone, previewed, unknown} {
		p.close()
	}
	must(t, os.WriteFile(filepath.Join(unknown.dir, "lock"), nil, 0o600))
	if dirs, _ := listed(); len(dirs) != 0 {
		t.Fatalf("orphans of workspaces that are there: %q", dirs)
	}
	for _, name := range []string{"gone", "held", "previewed", "unknown"} {
		must(t, os.Remove(filepath.Join(ws, name)))
	}
	dirs, list := listed()
	if !slices.Equal(dirs, []string{gone.dir}) || list[0].Workspace != filepath.Join(ws, "gone") {
		t.Fatalf("%+v", list)
	}
	if bytes, whole := list[0].Size(time.Time{}); !whole || bytes < 5 || bytes > 5000 {
		t.Errorf("size %d, %v", bytes, whole)
	}
	old := time.Now().Add(-tempIdle - time.Hour)
	must(t, os.Chtimes(filepath.Join(unknown.dir, "lock"), old, old))
	if _, none := e.Orphans(); len(ours(none)) != 1 || ours(none)[0].Dir != unknown.dir || ours(none)[0].Workspace != "" {
		t.Errorf("unknown: %+v", none)
	}

	// One that came back meanwhile stays, and one that is used again.
	must(t, os.Mkdir(list[0].Workspace, 0o700))
	if err := e.RemoveOrphans(list); err == nil || !exists(gone.cache()) {
		t.Errorf("removed that of a workspace that is there: %v", err)
	}
	must(t, os.Remove(list[0].Workspace))
	again := opening(t, e, list[0].Workspace)
	if err := e.RemoveOrphans(list); err == nil || !exists(gone.cache()) {
		t.Errorf("removed one that is in use: %v", err)
	}
	again.close()
	must(t, e.RemoveOrphans(list), e.RemoveOrphans(list))
	for p, want := range map[*private]bool{live: true, gone: false, held: true, previewed: true, unknown: true} {
		if exists(p.dir) != want {
			t.Errorf("%s: exists is not %v", p.dir, want)
		}
	}
	if dirs, _ := listed(); len(dirs) != 1 { // the unknown one
		t.Errorf("left: %q", dirs)
	}
	held.close()

	// A removal that was killed is finished.
	must(t, os.Rename(held.dir, filepath.Join(filepath.Dir(held.dir), goneName+filepath.Base(held.dir))))
	_, list = listed()
	if len(list) != 1 {
		t.Fatalf("%+v", list)
	}
	must(t, e.RemoveOrphans(list))
	if dirs, _ := listed(); len(dirs) != 1 {
		t.Errorf("left: %q", dirs)
	}
}

func opening(t *testing.T, e *Engine, path string) *private {
	t.Helper()
	p, err := e.openPrivate(path, nil, nil)
	must(t, err)
	return p
}

// A disk that is not attached leaves an empty directory, or none.
func TestWhatMayComeBackIsNotGone(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "mnt"), 0o700))
	old := time.Now().Add(-tempIdle - time.Hour)
	for path, soon := range map[string]bool{
		filepath.Join(dir, "x"): true, filepath.Join(dir, "mnt", "x"): false, filepath.Join(dir, "usb", "x"): false, "/no-such-workspace": false,
	} {
		if got := isGone(path, time.Now()); got != soon {
			t.Errorf("%s, used now: %v", path, got)
		}
		if !isGone(path, old) {
			t.Errorf("%s, used long ago: it is there", path)
		}
	}
	for _, path := range []string{dir, "relative", ""} {
		if isGone(path, old) {
			t.Errorf("%q is gone", path)
		}
	}
}

// A run that begins while the directory is being removed gets a new one.
func TestPrivateWhileItIsRemoved(t *testing.T) {
	e, home, ws := privateEngine(t)
	path := filepath.Join(ws, "x")
	must(t, os.Mkdir(filepath.Join(ws, "other"), 0o700))
	opening(t, e, path).close()
	for range 200 {
		done := make(chan error)
		go func() {
			gone, _ := e.Orphans()
			gone = slices.DeleteFunc(gone, func(o Orphan) bool { return !within(o.Dir, home) })
			_ = e.RemoveOrphans(gone) // it may be in use again
			done <- nil
		}()
		p := opening(t, e, path)
		for _, dir := range []string{p.temp(), p.cache()} {
			if !exists(dir) {
				t.Fatalf("%s is gone while it is held", dir)
			}
		}
		<-done
		if !exists(p.cache()) {
			t.Fatal("it went while it is held")
		}
		p.close()
	}
}
