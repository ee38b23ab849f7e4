package changes_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/changes"
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/direct"
	"github.com/sbx-run/sbx/testuser"
)

// The test binary is also the command that runs in the sandbox.
func TestMain(m *testing.M) {
	if seed := os.Getenv("SBX_ACTS"); seed != "" {
		n, _ := strconv.Atoi(seed)
		actAtRandom(uint64(n))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const baseVar = "SBX_TEST_BASE"

// room is a place for a test: a workspace, and what the engine keeps.
type room struct {
	*testing.T
	dir, workspace, store string
	protect               []string
	copied                bool   // as where no overlay can be mounted
	disk                  bool   // layers on disk
	shared                string // a directory that the command writes to directly
	said                  string // what the last command printed
}

func newRoom(t *testing.T) *room {
	t.Helper()
	if _, err := direct.New().Probe(context.Background()); err != nil {
		if strings.Contains(os.Getenv("SBX_REQUIRE"), direct.Name) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	base := os.Getenv(baseVar)
	if base == "" {
		base = "/var/lib"
		if os.Geteuid() != 0 {
			base = os.Getenv("HOME")
		}
	}
	dir, err := os.MkdirTemp(base, "sbx-changes-")
	check(t, err)
	t.Cleanup(func() { removeAll(dir) })
	check(t, os.Chmod(dir, 0o755))
	r := &room{T: t, dir: dir, workspace: dir + "/ws", store: dir + "/store", shared: dir + "/shared"}
	check(t, os.Mkdir(r.shared, 0o755))
	check(t, os.Mkdir(r.workspace, 0o755))
	check(t, os.Mkdir(r.store, 0o700))
	return r
}

func removeAll(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// preview runs a command and reads what it would change.
func (r *room) preview(argv ...string) *changes.Changes {
	r.Helper()
	profile := sandbox.Profile{
		Workspace: r.workspace, Read: []string{filepath.Dir(self(r))}, Protect: r.protect, Tier: "full", Write: []string{r.shared},
		Preview: &sandbox.Preview{Roots: []string{r.workspace}, Bytes: 64 << 20, Copy: r.copied},
	}
	c := sandbox.Command{Argv: argv, Env: environment(), Timeout: time.Minute}
	began := time.Now()
	var snap *changes.Snapshot
	options := changes.Options{Began: began, Protect: r.protect, Store: r.store}
	if r.copied || r.disk {
		dir, err := changes.NewDir(r.store)
		check(r, err)
		check(r, changes.MakeLayer(dir+"/0", nil))
		c.Layers, options.Dir = []string{dir + "/0"}, dir
		if r.copied {
			snap, err = changes.Copy(r.workspace, dir+"/0", nil, 10000, 1<<30)
			check(r, err)
		}
	}
	result := r.run(profile, c)
	if len(result.Layers) != 1 {
		r.Fatalf("%d layers", len(result.Layers))
	}
	got, err := changes.Read([]changes.Layer{{Root: r.workspace, Dir: result.Layers[0], Copy: snap}}, options)
	check(r, err)
	r.Cleanup(func() { _ = got.Close() })
	return got
}

// plain runs a command without a preview in another workspace.
func (r *room) plain(workspace string, argv ...string) {
	r.Helper()
	r.run(sandbox.Profile{Workspace: workspace, Read: []string{filepath.Dir(self(r))}, Tier: "full"}, sandbox.Command{Argv: argv, Env: environment(), Timeout: time.Minute})
}

func environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "SBX_ACTS=" + os.Getenv("SBX_SEED"), "LC_ALL=C"}
}

func (r *room) run(p sandbox.Profile, c sandbox.Command) sandbox.Result {
	r.Helper()
	s, err := direct.New().Open(context.Background(), p)
	check(r, err)
	defer s.Close()
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	result, err := s.Run(context.Background(), c)
	if err != nil || result.ExitCode != 0 {
		r.Fatalf("%q: %v, exit %d\n%s", c.Argv, err, result.ExitCode, out.String())
	}
	r.said = out.String()
	return result
}

func self(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	check(t, err)
	return exe
}

// long ago: files that nobody has touched have such a time.
func before(i int) time.Time { return time.Unix(1_000_000_000+int64(i)*1000, 123456789) }

// describe says everything about a tree that a preview must carry over. A time
// that is not of long ago is only said to be recent.
func describe(t testing.TB, dir string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	first := map[uint64]string{}
	closed := map[string]fs.FileMode{}
	defer func() {
		for path, mode := range closed {
			defer func() { check(t, os.Chmod(path, mode)) }()
		}
	}()
	check(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil && !os.IsPermission(err) {
			return err
		}
		if err != nil {
			return nil // a second call, for a directory that cannot be read
		}
		rel, _ := filepath.Rel(dir, path)
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		mtime := "recent"
		if st.Mtim.Sec < 1_500_000_000 {
			mtime = fmt.Sprint(st.Mtim.Nano())
		}
		text := fmt.Sprintf("%o %d:%d %s", st.Mode, st.Uid, st.Gid, mtime)
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFDIR:
			if st.Mode&0o700 != 0o700 { // to look into it
				check(t, os.Chmod(path, 0o700))
				closed[path] = fs.FileMode(st.Mode & 0o777)
			}
		case unix.S_IFREG:
			text += fmt.Sprintf(" size %d", st.Size)
			if st.Mode&0o400 != 0 || os.Geteuid() == 0 {
				content, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				text += fmt.Sprintf(" sum %x", sha256.Sum256(content))
			}
			if st.Size > 1<<20 {
				text += fmt.Sprintf(" sparse %v", st.Blocks*512 < st.Size/2)
			}
			if st.Nlink > 1 {
				if first[st.Ino] == "" {
					first[st.Ino] = rel
				}
				text += " same as " + first[st.Ino]
			}
		case unix.S_IFLNK:
			to, _ := os.Readlink(path)
			text += " to " + to
		}
		list := make([]byte, 1<<12)
		if n, err := unix.Llistxattr(path, list); err == nil && n > 0 {
			attrs := strings.Split(strings.Trim(string(list[:n]), "\x00"), "\x00")
			slices.Sort(attrs)
			for _, a := range attrs {
				value := make([]byte, 1<<12)
				n, _ := unix.Lgetxattr(path, a, value)
				text += fmt.Sprintf(" %s=%q", a, value[:max(n, 0)])
			}
		}
		tree[rel] = text
		return nil
	}))
	return tree
}

// compare says how two descriptions differ.
func compare(got, want map[string]string) string {
	var lines []string
	for path, text := range want {
		// What was written as a whole may still lie on the disk with its holes.
		if got[path] != text && strings.Replace(got[path], "sparse true", "sparse false", 1) != text {
			lines = append(lines, fmt.Sprintf("%s:\n  got  %s\n  want %s", path, got[path], text))
		}
	}
	for path, text := range got {
		if _, ok := want[path]; !ok {
			lines = append(lines, fmt.Sprintf("%s: not wanted: %s", path, text))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func (r *room) write(path, text string) {
	r.Helper()
	full := filepath.Join(r.workspace, path)
	check(r, os.MkdirAll(filepath.Dir(full), 0o755))
	check(r, os.WriteFile(full, []byte(text), 0o644))
}

func (r *room) read(path string) string {
	text, err := os.ReadFile(filepath.Join(r.workspace, path))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// TestAsOrdinaryUser repeats the whole suite as a user without privileges.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this is an ordinary user")
	}
	u := testuser.Take(t)
	dir, err := os.MkdirTemp("/var/lib", "sbx-user-")
	check(t, err)
	t.Cleanup(func() { removeAll(dir) })
	check(t, os.Chmod(dir, 0o755))
	check(t, os.Mkdir(dir+"/rooms", 0o700))
	check(t, os.Chown(dir+"/rooms", u.UID, u.GID))
	check(t, os.Mkdir(dir+"/bin", 0o755))
	exe := filepath.Join(dir, "bin/changes.test")
	text, err := os.ReadFile(self(t))
	check(t, err)
	check(t, os.WriteFile(exe, text, 0o755))
	args := []string{"-test.v"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	cmd := exec.Command(exe, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), baseVar+"="+dir+"/rooms", "HOME="+dir, "USER="+u.Name)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: u.Credential()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("as %s: %v\n%s", u.Name, err, out)
	}
	t.Logf("%s", out)
}
