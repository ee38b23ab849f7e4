package changes_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/changes"
)

// everything is a command that does each kind of act, and the tree it does it to.
const everything = `
echo new >>changed; chmod 755 mode; touch -d 2001-01-01 touched
rm gone; rm -r gonedir; mkdir -p made/deep; echo x >made/deep/file; ln changed made/link; ln stays made/other
rm -r anew; mkdir anew; echo y >anew/file
rm todir; mkdir todir; echo z >todir/in; rm -r tofile; echo f >tofile
ln -sfn elsewhere link; mkfifo fifo; mv from to; chmod 500 shut; echo i >inner/file; chmod 555 inner
chmod 700 closed; echo c >closed/new; chmod 500 closed; mkdir nowrite; echo n >nowrite/n; chmod 500 nowrite
`

func (r *room) fill() {
	r.Helper()
	for _, name := range []string{
		"changed", "mode", "touched", "gone", "gonedir/a", "gonedir/b/c", "stays", "anew/old", "todir", "tofile/a/b", "from",
		"shut/file", "inner/file", "closed/file",
	} {
		r.write(name, "old "+name+"\n")
	}
	check(r, os.Symlink("somewhere", r.workspace+"/link"))
	check(r, os.Chmod(r.workspace+"/closed", 0o500))
	r.age()
}

// age makes all of the workspace old, so that what is not touched can be told.
func (r *room) age() {
	r.Helper()
	var all []string
	check(r, filepath.WalkDir(r.workspace, func(path string, _ os.DirEntry, err error) error {
		all = append(all, path)
		return err
	}))
	for i := len(all) - 1; i >= 0; i-- {
		if info, err := os.Lstat(all[i]); err == nil && info.Mode().Type() != os.ModeSymlink {
			check(r, os.Chtimes(all[i], before(i), before(i)))
		}
	}
	time.Sleep(15 * time.Millisecond)
}

func shell(text string) []string { return []string{"sh", "-e", "-c", text} }

// An apply that is cut off, wherever that is, goes on to the same end, or is
// taken back to the same start.
func TestCutOffApplyGoesOnOrBack(t *testing.T) {
	whole := newRoom(t)
	whole.fill()
	check(t, whole.preview(shell(everything)...).Apply())
	want := describe(t, whole.workspace)

	for acts, total := 0, 1; acts <= total; acts++ {
		for _, forward := range []bool{true, false} {
			r := newRoom(t)
			r.fill()
			start := describe(t, r.workspace)
			c := r.preview(shell(everything)...)
			var err error
			total, err = c.CutOff(acts)
			check(t, err)
			check(t, c.Close())
			list, err := changes.List(r.store)
			check(t, err)
			if len(list) != 1 || list[0].State != changes.Unfinish {
				t.Fatalf("after %d acts: the store has %+v", acts, list)
			}
			again, err := changes.Load(r.store, list[0].ID)
			check(t, err)
			expected := start
			if forward {
				expected = want
				check(t, again.Apply())
			} else {
				check(t, again.Discard())
			}
			if diff := compare(describe(t, r.workspace), expected); diff != "" {
				t.Fatalf("cut off after %d of %d acts, forward %v:\n%s", acts, total, forward, diff)
			}
			if left, _ := filepath.Glob(r.store + "/p*"); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		}
	}
}

// What others do between the run and the apply, or while it is applied, is
// never overwritten, and nothing is half done.
func TestApplyOverwritesNothing(t *testing.T) {
	for name, meanwhile := range map[string]string{
		"a file that was changed":                   "echo other >>changed",
		"one of the same size and time":             "touch -r changed keep; printf 'OLD changed\n' >changed; touch -r keep changed; rm keep",
		"one that was replaced":                     "cp -p changed c; mv c changed",
		"one that was removed":                      "rm changed",
		"one whose mode changed":                    "chmod 600 changed",
		"a file where a new one goes":               "echo mine >to",
		"a directory where a new one goes":          "mkdir made",
		"a link where a new one goes":               "ln -s /etc made",
		"a file in a directory that goes away":      "echo mine >gonedir/b/new",
		"a change in a directory that goes away":    "echo mine >gonedir/a",
		"a file in a directory that is replaced":    "echo mine >anew/new",
		"a file that goes away was changed":         "echo mine >gone",
		"a file of which the mode goes was changed": "echo mine >mode",
		"a directory on the way became a link":      "mv inner aside; ln -s aside inner",
		"a directory on the way went away":          "chmod 700 closed; rm -r closed",
	} {
		t.Run(name, func(t *testing.T) {
			for _, when := range []string{"before", "while"} {
				r := newRoom(t)
				r.fill()
				c := r.preview(shell(everything)...)
				time.Sleep(15 * time.Millisecond)
				r.unconfined(meanwhile)
				changed := describe(t, r.workspace)
				var err error
				if when == "before" {
					err = c.Apply()
				} else {
					// The same again, but nobody looks before it begins.
					r = newRoom(t)
					r.fill()
					c = r.preview(shell(everything)...)
					if strings.Contains(name, "same size and time") || strings.Contains(name, "on the way") {
						continue // only a look at the time of change tells, or an act at another place
					}
					err = c.ApplyMeanwhile(func() {
						time.Sleep(15 * time.Millisecond)
						r.unconfined(meanwhile)
						changed = describe(t, r.workspace)
						for path := range changed { // what was made ready
							if strings.HasPrefix(path, ".sbx-preview-") {
								delete(changed, path)
							}
						}
					})
				}
				var conflict *changes.ConflictError
				if !errors.As(err, &conflict) {
					t.Fatalf("%s: applied: %v", when, err)
				}
				got := describe(t, r.workspace)
				changed["."], got["."] = "", "" // its time
				if diff := compare(got, changed); diff != "" {
					t.Errorf("%s: not what it was before the apply:\n%s", when, diff)
				}
			}
		})
	}
}

// unconfined runs a command in the workspace as anybody on the host may.
func (r *room) unconfined(text string) {
	r.Helper()
	if out, err := command(r.workspace, text); err != nil {
		r.Fatalf("%v: %s", err, out)
	}
}

func command(dir, text string) (string, error) {
	cmd := exec.Command("sh", "-e", "-c", text)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// While the command runs others can change the files too.
func TestChangesDuringTheRun(t *testing.T) {
	for name, c := range map[string]struct{ act, host, path string }{
		"a file that the command changes":    {"echo a >>f", "echo b >>f", "f"},
		"a file that the command removes":    {"rm f", "echo b >>f", "f"},
		"a file that the command changed":    {"echo a >>f", "rm f", "f"},
		"a directory that the command wants": {"touch d/new", "rm -r d", "d"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			r.write("f", "old\n")
			r.write("d/x", "old\n")
			r.age()
			done := make(chan struct{})
			go func() {
				defer close(done)
				for range 2000 {
					if _, err := os.Stat(r.shared + "/ready"); err == nil {
						break
					}
					time.Sleep(5 * time.Millisecond)
				}
				time.Sleep(15 * time.Millisecond)
				if out, err := command(r.workspace, c.host); err != nil {
					t.Errorf("%v: %s", err, out)
				}
				check(t, os.WriteFile(r.shared+"/go", nil, 0o600))
			}()
			got := r.preview(shell(c.act + "; touch " + r.shared + "/ready; for i in $(seq 2000); do test -e " + r.shared + "/go && exit 0; sleep 0.01; done; exit 9")...)
			<-done
			start := describe(t, r.workspace)
			var conflict *changes.ConflictError
			if err := got.Apply(); !errors.As(err, &conflict) || conflict.Conflicts[0].Path != c.path && filepath.Dir(conflict.Conflicts[0].Path) != c.path {
				t.Errorf("%v", err)
			}
			if diff := compare(describe(t, r.workspace), start); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Two names of one file: what would part them is refused, the rest is right.
func TestHardLinks(t *testing.T) {
	for name, c := range map[string]struct {
		act     string
		refused bool
	}{
		"changed in place":               {"echo x >>one", true},
		"mode changed in place":          {"chmod 600 one", true},
		"renamed":                        {"mv one moved", true},
		"renamed and changed":            {"mv one moved; echo x >>moved", true},
		"renamed over another":           {"mv one other", true},
		"its directory was moved":        {"mv dir moved", true},
		"read only":                      {"cat one", false},
		"opened for writing":             {": >>one", false},
		"removed":                        {"rm one", false},
		"replaced by a new file":         {"echo x >new; mv new one", false},
		"linked once more":               {"ln one third", false},
		"linked, and a name removed":     {"ln one third; rm third", false},
		"removed while others are made":  {"rm one; echo x >new", false},
		"another file linked":            {"ln other link; echo x >>link", false},
		"another file moved over a name": {"mv other one", false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, disk := range []bool{false, true} {
				r := newRoom(t)
				r.disk = disk
				twin := r.dir + "/twin"
				for _, dir := range []string{r.workspace, twin} {
					check(t, os.MkdirAll(dir+"/dir", 0o755))
					check(t, os.WriteFile(dir+"/one", []byte("one\n"), 0o644))
					check(t, os.WriteFile(dir+"/other", []byte("other\n"), 0o644))
					check(t, os.Link(dir+"/one", dir+"/two"))
					check(t, os.WriteFile(dir+"/dir/a", []byte("a\n"), 0o644))
					check(t, os.Link(dir+"/dir/a", dir+"/b"))
				}
				r.age()
				start := describe(t, r.workspace)
				got := r.preview(shell(c.act)...)
				err := got.Apply()
				var conflict *changes.ConflictError
				if errors.As(err, &conflict) != c.refused || !c.refused && err != nil {
					t.Fatalf("disk %v: refused %v, want %v: %v", disk, err, c.refused, err)
				}
				want := start
				if !c.refused {
					r.plain(twin, shell(c.act)...)
					want = describe(t, twin)
				}
				have := describe(t, r.workspace)
				withoutTimes(have)
				withoutTimes(want)
				if diff := compare(have, want); diff != "" {
					t.Errorf("disk %v:\n%s", disk, diff)
				}
			}
		})
	}
}

func withoutTimes(tree map[string]string) {
	for path, text := range tree {
		words := strings.SplitN(text, " ", 4)
		words[2] = "-"
		tree[path] = strings.Join(words, " ")
	}
}

// What the command leaves that cannot be carried over is said, and not done.
func TestWhatIsNotCarriedOver(t *testing.T) {
	r := newRoom(t)
	r.write("kept/file", "kept\n")
	r.write("free", "free\n")
	r.age()
	r.protect = []string{r.workspace + "/kept"}
	start := describe(t, r.workspace)
	c := r.preview(shell("echo x >>free; (echo x >>kept/file) 2>/dev/null && exit 5; (mv kept away) 2>/dev/null && exit 6; true")...)
	c.Protect([]string{r.workspace + "/free"}, nil)
	var conflict *changes.ConflictError
	if err := c.Apply(); !errors.As(err, &conflict) || !strings.Contains(err.Error(), "protected") {
		t.Errorf("%v", err)
	}
	if diff := compare(describe(t, r.workspace), start); diff != "" {
		t.Error(diff)
	}
	c = r.preview(shell("echo x >>free")...)
	c.Protect([]string{r.workspace}, []string{r.workspace + "/free"})
	check(t, c.Apply())
	if r.read("free") != "free\nx\n" {
		t.Errorf("%q", r.read("free"))
	}
}

// Names and depths that no call takes at once.
func TestDeepAndStrange(t *testing.T) {
	r := newRoom(t)
	deep := "d=$(printf %0200d 0); for i in $(seq 60); do mkdir $d; cd -P $d; done; echo deep >file"
	c := r.preview("bash", "-e", "-c", deep)
	check(t, c.Apply())
	out, err := command(r.workspace, "d=$(printf %0200d 0); for i in $(seq 60); do cd -P $d; done; cat file")
	if err != nil || out != "deep\n" {
		t.Errorf("%v: %s", err, out)
	}
	c = r.preview("bash", "-e", "-c", "rm -r "+strings.Repeat("0", 200))
	check(t, c.Apply())
	if left, _ := os.ReadDir(r.workspace); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	c = r.preview("bash", "-e", "-c", "d=$(printf %0250d 0); for i in $(seq 200); do mkdir $d; cd -P $d; done")
	var conflict *changes.ConflictError
	if err := c.Apply(); !errors.As(err, &conflict) || !strings.Contains(err.Error(), "too deep") {
		t.Errorf("%v", err)
	}
}

// Only one applies at a time; the other is told so and nothing happens.
func TestOneAtATime(t *testing.T) {
	r := newRoom(t)
	a, b := r.preview(shell("echo a >a")...), r.preview(shell("echo b >b")...)
	if err := a.ApplyMeanwhile(func() {}); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(r.store+"/lock", os.O_CREATE|os.O_RDWR, 0o600)
	check(t, err)
	defer lock.Close()
	check(t, unix.Flock(int(lock.Fd()), unix.LOCK_EX))
	if err := b.Apply(); err == nil || !strings.Contains(err.Error(), "another preview") {
		t.Errorf("%v", err)
	}
	if r.read("b") == "b\n" {
		t.Error("applied")
	}
	check(t, unix.Flock(int(lock.Fd()), unix.LOCK_UN))
	check(t, b.Apply())
	if err := b.Apply(); err == nil {
		t.Error("applied twice")
	}
}

// Somebody who exchanges directories for links while changes are applied leads
// nothing out of the workspace.
func TestApplyCannotBeLedOut(t *testing.T) {
	r := newRoom(t)
	outside := r.dir + "/outside"
	check(t, os.Mkdir(outside, 0o755))
	check(t, os.WriteFile(outside+"/x", []byte("canary\n"), 0o644))
	check(t, os.WriteFile(outside+"/gone", []byte("canary\n"), 0o644))
	want := describe(t, outside)
	applied, refused := 0, 0
	for range 15 {
		removeAll(r.workspace + "/in")
		r.write("in/x", "old\n")
		r.write("in/gone", "old\n")
		time.Sleep(15 * time.Millisecond)
		c := r.preview(shell("echo evil >>in/x; echo evil >in/new; rm in/gone; mkdir in/d; chmod 700 in")...)
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for {
				_ = os.Rename(r.workspace+"/in", r.workspace+"/aside")
				_ = os.Symlink(outside, r.workspace+"/in")
				_ = os.Remove(r.workspace + "/in")
				_ = os.Rename(r.workspace+"/aside", r.workspace+"/in")
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
		if err := c.Apply(); err == nil {
			applied++
		} else {
			refused++
		}
		close(stop)
		<-done
		if diff := compare(describe(t, outside), want); diff != "" {
			t.Fatalf("outside changed:\n%s", diff)
		}
		check(t, os.RemoveAll(r.store))
		check(t, os.Mkdir(r.store, 0o700))
		left, _ := filepath.Glob(r.workspace + "/.sbx-preview-*")
		for _, l := range left {
			removeAll(l)
		}
	}
	t.Logf("%d applied, %d refused", applied, refused)
}

// Root applies with the rights of the owner, not with its own.
func TestAppliesAsTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	r := newRoom(t)
	const uid = 54321
	r.write("mine/file", "old\n")
	for _, name := range []string{"", "/mine", "/mine/file"} {
		check(t, os.Chown(r.workspace+name, uid, uid))
	}
	r.write("roots/file", "old\n") // a directory of root's in there
	r.age()
	start := describe(t, r.workspace)
	layer := r.dir + "/layer"
	check(t, os.MkdirAll(layer+"/mine", 0o755))
	check(t, os.MkdirAll(layer+"/roots", 0o755))
	for _, name := range []string{"/mine/new", "/roots/new"} {
		check(t, os.WriteFile(layer+name, []byte("new\n"), 0o644))
	}
	for _, name := range []string{"", "/mine", "/roots", "/mine/new", "/roots/new"} {
		check(t, os.Chown(layer+name, uid, uid))
		check(t, os.Chmod(layer, 0o755))
	}
	read := func() *changes.Changes {
		f, err := os.Open(layer)
		check(t, err)
		c, err := changes.Read([]changes.Layer{{Root: r.workspace, Dir: f}}, changes.Options{Began: time.Now(), Store: r.store, Owner: &changes.Owner{UID: uid, GID: uid}})
		check(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	if err := read().Apply(); !errors.Is(err, os.ErrPermission) {
		t.Errorf("applied to what is root's: %v", err)
	}
	if diff := compare(describe(t, r.workspace), start); diff != "" {
		t.Errorf("not taken back:\n%s", diff)
	}
	check(t, os.RemoveAll(layer+"/roots"))
	check(t, read().Apply())
	info, err := os.Lstat(r.workspace + "/mine/new")
	check(t, err)
	if st := info.Sys().(*syscall.Stat_t); st.Uid != uid || st.Gid != uid {
		t.Errorf("the new file is %d:%d", st.Uid, st.Gid)
	}
}
