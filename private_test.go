package sbx

import (
	"os"
	"path/filepath"
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
