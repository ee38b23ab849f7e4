package changes_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/changes"
)

// makeAtRandom makes a tree. Without links no file has two names.
func makeAtRandom(dir string, seed uint64, links bool) error {
	r := rand.New(rand.NewPCG(seed, 1))
	dirs, files := []string{dir}, []string{}
	for i := range 12 + r.IntN(12) {
		in := dirs[r.IntN(len(dirs))]
		name := filepath.Join(in, names[r.IntN(len(names))])
		if _, err := os.Lstat(name); err == nil {
			continue
		}
		var err error
		switch k := r.IntN(12); {
		case k < 4:
			if err = os.Mkdir(name, []fs.FileMode{0o755, 0o700, 0o775}[r.IntN(3)]); err == nil {
				dirs = append(dirs, name)
			}
		case k == 4:
			err = os.Symlink([]string{"a", "../b", "/etc/passwd", "nothing"}[r.IntN(4)], name)
		case k == 5:
			err = unix.Mkfifo(name, 0o640)
		case k == 6 && links && len(files) > 0:
			err = os.Link(files[r.IntN(len(files))], name)
		case k == 7:
			err = sparse(name, 5<<20)
		default:
			err = os.WriteFile(name, []byte(strings.Repeat(fmt.Sprintf("line %d\n", i), r.IntN(300))), []fs.FileMode{0o644, 0o600, 0o755, 0o444}[r.IntN(4)])
			if err == nil {
				files = append(files, name)
				if r.IntN(3) == 0 {
					_ = unix.Setxattr(name, "user.note", []byte(fmt.Sprint(i)), 0)
				}
			}
		}
		if err != nil {
			return err
		}
	}
	i := 0
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		defer func(i int) {
			// Directories last would be needed if anything changed; nothing does.
			ts := unix.NsecToTimespec(before(i).UnixNano())
			_ = unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
		}(i)
		i++
		return err
	})
}

var names = []string{"a", "b", "c", "d", "e", "f", "dir", "sub", "x y", "ü", "-n", "\xff\x01"}

func sparse(name string, size int64) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return syscall.EINVAL
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt([]byte("middle"), size/3); err == nil {
		err = f.Truncate(size)
	}
	return errors.Join(err, f.Close())
}

// actAtRandom is the command: it changes the directory it is in, the same way
// for the same seed and the same tree.
func actAtRandom(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 2))
	for i := range 10 + r.IntN(25) {
		all := listing()
		pick := func() string { return all[r.IntN(len(all))] }
		fresh := func() string {
			d := pick()
			if info, err := os.Lstat(d); err != nil || !info.IsDir() {
				d = filepath.Dir(d)
			}
			return filepath.Join(d, names[r.IntN(len(names))])
		}
		text := []byte(strings.Repeat(fmt.Sprintf("new %d\n", i), 1+r.IntN(200)))
		a, b := pick(), fresh()
		if a == "." {
			a = fresh()
		}
		var err error
		switch k := r.IntN(20); k {
		case 0, 1:
			err = write(b, text, 0o640)
		case 2, 3:
			err = appendTo(a, text)
		case 4:
			err = os.Truncate(a, int64(r.IntN(100)))
		case 5: // as editors do
			if err = write(b+".tmp", text, 0o644); err == nil {
				err = os.Rename(b+".tmp", a)
			}
		case 6:
			err = os.Chmod(a, []fs.FileMode{0o600, 0o755, 0o444, 0o700, 0o555}[r.IntN(5)])
		case 7:
			err = os.Chtimes(a, before(900+i), before(900+i))
		case 8:
			err = os.Remove(a)
		case 9:
			err = os.RemoveAll(a)
		case 10:
			err = os.MkdirAll(filepath.Join(b, "deep", "er"), 0o750)
		case 11, 12:
			err = move(a, b)
		case 13:
			err = os.Symlink("to"+fmt.Sprint(i), b)
		case 14:
			err = os.Link(a, b)
		case 15:
			err = unix.Mkfifo(b, 0o600)
		case 16:
			err = sparse(b, 3<<20)
		case 17: // a file turns into a directory, or the other way round
			info, lerr := os.Lstat(a)
			if err = os.RemoveAll(a); err == nil && lerr == nil && info.IsDir() {
				err = write(a, text, 0o644)
			} else if err == nil {
				err = os.MkdirAll(filepath.Join(a, "in"), 0o755)
			}
		case 18: // a directory is made anew
			if info, lerr := os.Lstat(a); lerr == nil && info.IsDir() {
				if err = os.RemoveAll(a); err == nil {
					err = os.MkdirAll(a, 0o755)
				}
				if err == nil {
					err = write(filepath.Join(a, "a"), text, 0o644)
				}
			}
		case 19: // the same content, written again
			if info, serr := os.Stat(a); serr == nil && info.Mode().IsRegular() {
				if old, rerr := os.ReadFile(a); rerr == nil {
					err = write(a, old, 0o644)
				}
			}
		}
		fmt.Println(i, a, b, err)
	}
}

// write is os.WriteFile, but does not wait for the other end of a fifo.
func write(name string, text []byte, mode fs.FileMode) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return syscall.EINVAL
	}
	return os.WriteFile(name, text, mode)
}

// listing is sorted, so that both runs see the same. A fifo would block.
func listing() []string {
	var all []string
	_ = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type()&fs.ModeNamedPipe == 0 {
			all = append(all, path)
		}
		return nil
	})
	slices.Sort(all)
	return all
}

func appendTo(name string, text []byte) error {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// copiedDirectory is printed where a directory was copied. The sandbox lets no
// command set attributes, so the copies have none.
const copiedDirectory = "copied a directory"

// move is mv: an overlay does not rename a real directory, so it is copied.
func move(from, to string) error {
	err := os.Rename(from, to)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	fmt.Println(copiedDirectory)
	if _, err := os.Lstat(to); err == nil { // rename(2) replaces an empty directory
		if err := os.Remove(to); err != nil {
			return err
		}
	}
	if err := copyAll(from, to, map[uint64]string{}); err != nil {
		return err
	}
	return os.RemoveAll(from)
}

func copyAll(from, to string, seen map[uint64]string) error {
	var st unix.Stat_t
	if err := unix.Lstat(from, &st); err != nil {
		return err
	}
	var err error
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		if err = os.Mkdir(to, 0o700); err != nil {
			return err
		}
		var list []fs.DirEntry
		if list, err = os.ReadDir(from); err != nil {
			return err
		}
		for _, e := range list {
			if err := copyAll(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()), seen); err != nil {
				return err
			}
		}
	case unix.S_IFLNK:
		target, _ := os.Readlink(from)
		err = os.Symlink(target, to)
	case unix.S_IFIFO:
		err = unix.Mkfifo(to, 0o600)
	default:
		if seen[st.Ino] != "" && st.Nlink > 1 {
			return os.Link(seen[st.Ino], to)
		}
		seen[st.Ino] = to
		err = copyFile(from, to, st)
	}
	if err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		if err := os.Chmod(to, fs.FileMode(st.Mode&0o777)); err != nil {
			return err
		}
	}
	return unix.UtimesNanoAt(unix.AT_FDCWD, to, []unix.Timespec{st.Atim, st.Mtim}, unix.AT_SYMLINK_NOFOLLOW)
}

func copyFile(from, to string, st unix.Stat_t) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if st.Size > 1<<20 {
		f, err := os.Create(to)
		if err != nil {
			return err
		}
		for off := 0; off < len(text); off += 4096 {
			block := text[off:min(off+4096, len(text))]
			if strings.Trim(string(block), "\x00") != "" {
				if _, err := f.WriteAt(block, int64(off)); err != nil {
					return err
				}
			}
		}
		return errors.Join(f.Truncate(st.Size), f.Close())
	}
	return os.WriteFile(to, text, 0o600)
}

// What a command does under a preview that is applied is what it does without.
// Where hard links are in play a preview may refuse instead; then nothing has
// changed.
func TestAppliedIsAsIfNotPreviewed(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 12
	}
	for _, how := range []string{"memory", "disk", "copy", "kept"} {
		t.Run(how, func(t *testing.T) {
			conflicts := 0
			for seed := range rounds {
				links := seed%3 == 0
				if asPreviewed(t, how, uint64(seed), links) {
					conflicts++
				}
			}
			if conflicts > rounds/4 {
				t.Errorf("%d of %d previews refused", conflicts, rounds)
			}
			t.Logf("%d of %d refused for hard links", conflicts, rounds)
		})
	}
}

// unknowable lists the other names of files of which one name went away. Whether
// it was changed before that, and they with it, leaves no trace in an overlay:
// docs/preview.md says so.
func unknowable(start map[string]string, entries []changes.Entry) []string {
	group := map[string][]string{}
	for path, text := range start {
		if _, first, linked := strings.Cut(text, " same as "); linked {
			first, _, _ = strings.Cut(first, " user.note=")
			group[first] = append(group[first], path)
		}
	}
	var list []string
	for _, paths := range group {
		if slices.ContainsFunc(entries, func(e changes.Entry) bool { return slices.Contains(paths, e.Path) && e.Kind != changes.Metadata }) {
			list = append(list, paths...)
		}
	}
	return list
}

func withoutAttributes(tree map[string]string) {
	for path, text := range tree {
		tree[path], _, _ = strings.Cut(text, " user.note=")
	}
}

func asPreviewed(t *testing.T, how string, seed uint64, links bool) (refused bool) {
	r := newRoom(t)
	r.copied, r.disk = how == "copy", how == "disk"
	other := r.dir + "/other"
	check(t, os.Mkdir(other, 0o755))
	for _, dir := range []string{r.workspace, other} {
		check(t, makeAtRandom(dir, seed, links))
	}
	start := describe(t, r.workspace)
	if diff := compare(start, describe(t, other)); diff != "" {
		t.Fatalf("seed %d: the two trees differ from the start\n%s", seed, diff)
	}
	t.Setenv("SBX_SEED", fmt.Sprint(seed+1))
	time.Sleep(15 * time.Millisecond) // the trees are older than the run
	r.plain(other, self(t))
	got := r.preview(self(t))
	if diff := compare(describe(t, r.workspace), start); diff != "" {
		t.Fatalf("seed %d: the preview changed something\n%s", seed, diff)
	}
	if how == "kept" {
		var err error
		check(t, got.Keep("random", 1<<30))
		check(t, got.Close())
		got, err = changes.Load(r.store, got.ID)
		check(t, err)
	}
	err := got.Apply()
	var conflict *changes.ConflictError
	if errors.As(err, &conflict) {
		if !links {
			t.Fatalf("seed %d: %+v", seed, conflict.Conflicts)
		}
		if diff := compare(describe(t, r.workspace), start); diff != "" {
			t.Fatalf("seed %d: a refused apply changed something\n%s", seed, diff)
		}
		return true
	}
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	have, want := describe(t, r.workspace), describe(t, other)
	for _, path := range unknowable(start, got.Entries) {
		delete(have, path)
		delete(want, path)
	}
	if strings.Contains(r.said, copiedDirectory) {
		withoutAttributes(have)
		withoutAttributes(want)
	}
	if diff := compare(have, want); diff != "" {
		t.Log(r.said)
		for _, e := range got.Entries {
			t.Logf("%+v", e)
		}
		t.Fatalf("seed %d, links %v: previewed and applied is not as if not previewed\n%s", seed, links, diff)
	}
	if left, _ := filepath.Glob(r.store + "/p*"); len(left) > 0 {
		t.Fatalf("seed %d: left behind: %q", seed, left)
	}
	return false
}
