//go:build amd64 || arm64

package direct_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// previewed gives the room's profile a preview of the workspace.
func (r *room) previewed(bytes int64) {
	r.profile.Preview = &sandbox.Preview{Roots: []string{r.workspace}, Bytes: bytes}
}

// inLayer runs a command and gives what it printed and its layer.
func (r *room) inLayer(s sandbox.Session, layers []string, text string) (string, *os.File) {
	r.Helper()
	var out bytes.Buffer
	result, err := s.Run(context.Background(), sandbox.Command{
		Argv: []string{"sh", "-c", text}, Env: r.env(), Stdout: &out, Stderr: &out, Timeout: time.Minute, Layers: layers,
	})
	if err != nil || len(result.Layers) != 1 {
		r.Fatalf("%q: %v, layers %v\n%s", text, err, result.Layers, out.String())
	}
	r.Cleanup(func() { _ = result.Layers[0].Close() })
	return out.String(), result.Layers[0]
}

const previewActs = `echo x >>own; rm a/f; mkdir made; mv b c; chmod 700 a; ln own link; touch -d 2001-01-01 own; echo hook >.git/hooks-note; echo done`

// Nothing that is written under a preview reaches the real files, whatever is a
// mount of its own in there; without a preview the same acts do.
func TestPreviewKeepsTheWorkspace(t *testing.T) {
	for _, how := range []string{"memory", "disk"} {
		t.Run(how, func(t *testing.T) {
			r := newRoom(t, full)
			check(t, os.Mkdir(r.workspace+"/.git", 0o755))
			check(t, os.Mkdir(r.workspace+"/.git/hooks", 0o755))
			check(t, os.WriteFile(r.workspace+"/.git/config", nil, 0o644))
			r.profile.Protect = []string{r.workspace + "/.git/config", r.workspace + "/.git/hooks"}
			plain := r.confined()
			r.previewed(10 << 20)
			var layers []string
			if how == "disk" {
				check(t, os.Mkdir(r.dir+"/layer", 0o700))
				layers = []string{r.dir + "/layer"}
			}
			before := tree(t, r.workspace)
			out, layer := r.inLayer(r.confined(), layers, previewActs)
			if out != "done\n" {
				t.Fatal(out)
			}
			if now := tree(t, r.workspace); now != before {
				t.Errorf("the workspace changed:\n%s\nfrom\n%s", now, before)
			}
			// The layer outlives the namespace, and has it all.
			var st unix.Stat_t
			for _, name := range []string{"own", "made", "c", "link", ".git/hooks-note"} {
				if err := unix.Fstatat(int(layer.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
					t.Errorf("%s is not in the layer: %v", name, err)
				}
			}
			if err := unix.Fstatat(int(layer.Fd()), "a/f", &st, unix.AT_SYMLINK_NOFOLLOW); err != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
				t.Errorf("a/f is not whited out: %v %o", err, st.Mode)
			}
			if text, _ := r.run(plain, "sh", "-c", previewActs); text != "done\n" || tree(t, r.workspace) == before {
				t.Errorf("control: without a preview nothing changed: %s", text)
			}
		})
	}
}

// tree is everything about a directory but times of access.
func tree(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	check(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		text := ""
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(content)
		}
		b.WriteString(strings.TrimPrefix(path, dir) + " " + info.Mode().String() + " " + info.ModTime().String() + " " + text + "\n")
		return nil
	}))
	return b.String()
}

// The layer is out of the command's reach but through the overlay, and what is
// refused without a preview stays refused.
func TestPreviewConfines(t *testing.T) {
	r := newRoom(t, full)
	r.profile.Protect = []string{r.workspace + "/own"}
	r.previewed(10 << 20)
	check(t, os.Mkdir(r.dir+"/layer", 0o700))
	layer := r.dir + "/layer"
	s := r.confined()
	before := r.outsideState()
	out, _ := r.inLayer(s, []string{layer}, `
for f in own `+r.outside+`/file `+layer+`/upper/a/f `+layer+`/upper/new `+layer+`/work/x /run/preview/0/upper/x; do (echo x >>$f) 2>/dev/null && echo wrote $f; done
(rm -rf own) 2>/dev/null; test -e own && echo own stays
(mv a/f `+r.outside+`/f) 2>/dev/null; cat `+r.home+`/.ssh/id 2>/dev/null; test -r `+r.home+`/.netrc && cat `+r.home+`/.netrc
(: >made) && echo inside is open`)
	if out != "own stays\ninside is open\n" {
		t.Error(out)
	}
	if now := r.outsideState(); now != before {
		t.Errorf("outside changed:\n%s", now)
	}
	if text, _ := r.run(r.unconfined(), "sh", "-c", "echo x >>"+layer+"/upper/control && echo open"); text != "open\n" {
		t.Errorf("control: %s", text)
	}
}

// The size is a hard limit.
func TestPreviewIsLimited(t *testing.T) {
	r := newRoom(t, full)
	r.previewed(2 << 20)
	out, _ := r.inLayer(r.confined(), nil, "head -c 1000000 /dev/zero >small && echo small; head -c 9000000 /dev/zero >big && echo big; wc -c <small")
	if !strings.Contains(out, "small\n") || strings.Contains(out, "big\n") || !strings.Contains(out, "No space left") || !strings.Contains(out, "1000000") {
		t.Error(out)
	}
}

// Where no overlay can be mounted nothing runs, and the error says that a copy
// may do.
func TestPreviewWithoutOverlay(t *testing.T) {
	r := newRoom(t, full)
	r.previewed(2 << 20)
	s := r.confined()
	layer := "/dev/pts" // a file system that takes no layer
	_, err := s.Run(context.Background(), sandbox.Command{Argv: []string{"touch", "ran"}, Env: r.env(), Layers: []string{layer}})
	if !errors.Is(err, sandbox.ErrStart) || !errors.Is(err, sandbox.ErrNoOverlay) {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(r.workspace + "/ran"); err == nil {
		t.Error("it ran")
	}
	r.tier = landlock
	if _, err := r.backendOpen(); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("the tier landlock took a preview: %v", err)
	}
}

// Runs leave no descriptors behind, with or without a command that starts.
func TestPreviewClosesDescriptors(t *testing.T) {
	r := newRoom(t, full)
	r.previewed(2 << 20)
	s := r.confined()
	count := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		check(t, err)
		return len(list)
	}
	before := count()
	for _, argv := range [][]string{{"true"}, {"no-such-program"}, {"/etc/passwd"}} {
		for range 5 {
			result, err := s.Run(context.Background(), sandbox.Command{Argv: argv, Env: r.env()})
			check(t, err)
			for _, l := range result.Layers {
				check(t, l.Close())
			}
		}
	}
	if after := count(); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}
