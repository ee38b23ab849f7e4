//go:build unix

package wrappers

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sbx-run/sbx/sandbox/credentials"
)

// stub writes a program that stands for sbx: it records its arguments, each
// ended by a zero byte, prints its standard input and exits with STUB_STATUS.
func stub(t *testing.T, path string) {
	t.Helper()
	text := "#!/bin/sh\nprintf '%s\\0' \"$@\" >\"$STUB_RECORD\"\ncat\necho to-stderr >&2\nexit \"${STUB_STATUS:-0}\"\n"
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// outcome is what one run of a wrapper gave.
type outcome struct {
	status         int
	stdout, stderr string
	argv           []string // what the stub was called with, nil if it was not
}

// call runs an installed wrapper with exactly the given variables.
func call(t *testing.T, wrapper string, env []string, args ...string) outcome {
	t.Helper()
	record := filepath.Join(t.TempDir(), "record")
	cmd := exec.Command(wrapper, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "STUB_RECORD=" + record}, env...)
	cmd.Stdin = strings.NewReader("from stdin\n")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	o := outcome{status: cmd.ProcessState.ExitCode(), stdout: out.String(), stderr: errs.String()}
	if data, err := os.ReadFile(record); err == nil {
		o.argv = strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
	}
	return o
}

func TestRun(t *testing.T) {
	// A path with every kind of byte that a shell might read.
	bin := filepath.Join(t.TempDir(), `a 'b' "c" $HOME $(touch x) `+"`id` \\ * ? ; & | # é \xff \r\t!")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Skipf("this file system does not take the name: %v", err)
	}
	sbx := filepath.Join(bin, "-s'bx")
	stub(t, sbx)
	for _, kind := range Kinds() {
		t.Run(kind, func(t *testing.T) { runKind(t, kind, sbx) })
	}
}

func runKind(t *testing.T, kind, sbx string) {
	wrapper, err := Install(kind, t.TempDir(), sbx)
	if err != nil {
		t.Fatal(err)
	}
	workspace := "PEPE_SANDBOX_CWD=" + t.TempDir()
	for _, args := range [][]string{
		{"true"},
		{"sh", "-c", "echo $HOME; rm -rf *"},
		{"printf", "", " ", "a b", "a\nb\n", "\t", "-rf", "--", "--backend", "none", "*", "[a-z]*", "~", "$HOME", "`id`", "'", `"`, `\`, "é", "\xff"},
		{"-rf"},
		{"--help"},
		{},
	} {
		o := call(t, wrapper, []string{workspace}, args...)
		want := append([]string{"exec", "--backend", Backend(kind), "--"}, args...)
		if o.status != 0 || !slices.Equal(o.argv, want) {
			t.Errorf("%q: status %d, sbx was called with %q", args, o.status, o.argv)
		}
		if o.stdout != "from stdin\n" || o.stderr != "to-stderr\n" {
			t.Errorf("%q: stdout %q, stderr %q", args, o.stdout, o.stderr)
		}
	}
	// The script is plain POSIX: every shell that is here passes the arguments on.
	for _, sh := range []string{"dash", "bash", "mksh", "ksh", "yash", "zsh", "busybox"} {
		path, err := exec.LookPath(sh)
		if err != nil {
			continue
		}
		args := []string{wrapper, "printf", "", "a\nb", "-rf", "*"}
		if sh == "busybox" {
			args = append([]string{"sh"}, args...)
		}
		if o := call(t, path, []string{workspace}, args...); o.status != 0 || len(o.argv) != 9 || o.argv[5] != "" || o.argv[8] != "*" {
			t.Errorf("%s: status %d, sbx was called with %q, stderr %q", sh, o.status, o.argv, o.stderr)
		}
		if o := call(t, path, nil, args...); o.status != 125 || o.argv != nil {
			t.Errorf("%s without a workspace: status %d, sbx was called with %q", sh, o.status, o.argv)
		}
	}
	for _, status := range []string{"1", "7", "124", "125", "126", "127", "255"} {
		o := call(t, wrapper, []string{workspace, "STUB_STATUS=" + status}, "x")
		if o.argv == nil || status != strconv.Itoa(o.status) {
			t.Errorf("status %s came back as %d", status, o.status)
		}
	}
}

func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	sbx := filepath.Join(dir, "sbx")
	stub(t, sbx)
	canary := filepath.Join(dir, "canary")
	touch := []string{"touch", canary}
	workspace := "PEPE_SANDBOX_CWD=" + dir
	wrapper, err := Install("direct", filepath.Join(dir, "home"), sbx)
	if err != nil {
		t.Fatal(err)
	}
	// Controls: the act works by itself, and the wrapper gets to sbx.
	if err := exec.Command(touch[0], touch[1:]...).Run(); err != nil {
		t.Fatalf("control: %v", err)
	}
	if err := os.Remove(canary); err != nil {
		t.Fatalf("control: %v", err)
	}
	if o := call(t, wrapper, []string{workspace}, touch...); o.status != 0 || o.argv == nil {
		t.Fatalf("control: %+v", o)
	}
	refused := func(name, word string, env ...string) {
		t.Helper()
		o := call(t, wrapper, env, touch...)
		if o.status != 125 || o.argv != nil || o.stdout != "" {
			t.Errorf("%s: status %d, stdout %q, sbx called with %q", name, o.status, o.stdout, o.argv)
		}
		if !strings.HasPrefix(o.stderr, "sbx: refused: ") || strings.Count(o.stderr, "\n") != 1 || !strings.Contains(o.stderr, word) {
			t.Errorf("%s: stderr %q", name, o.stderr)
		}
		if _, err := os.Lstat(canary); err == nil {
			t.Errorf("%s: the command ran", name)
		}
	}
	refused("workspace not set", "PEPE_SANDBOX_CWD")
	refused("workspace empty", "PEPE_SANDBOX_CWD", "PEPE_SANDBOX_CWD=")
	if err := os.Chmod(sbx, 0o644); err != nil {
		t.Fatal(err)
	}
	refused("sbx not executable", sbx, workspace)
	if err := os.Remove(sbx); err != nil {
		t.Fatal(err)
	}
	refused("no sbx", sbx, workspace)
	if err := os.Mkdir(sbx, 0o755); err != nil {
		t.Fatal(err)
	}
	refused("a directory for sbx", sbx, workspace)
}

// The engine of docker.sh is one of two words: what a runtime's environment says
// must not turn the container off.
func TestRuntime(t *testing.T) {
	sbx := filepath.Join(t.TempDir(), "sbx")
	stub(t, sbx)
	wrapper, err := Install("docker", t.TempDir(), sbx)
	if err != nil {
		t.Fatal(err)
	}
	workspace := "PEPE_SANDBOX_CWD=" + t.TempDir()
	if o := call(t, wrapper, []string{workspace, "PEPE_SANDBOX_RUNTIME=podman"}, "x"); !slices.Equal(o.argv, []string{"exec", "--backend", "podman", "--", "x"}) {
		t.Errorf("podman: %+v", o)
	}
	for _, word := range []string{"none", "direct", "docker --backend none", "DOCKER", "-x"} {
		if o := call(t, wrapper, []string{workspace, "PEPE_SANDBOX_RUNTIME=" + word}, "x"); o.status != 125 || o.argv != nil || !strings.Contains(o.stderr, "set it to docker or podman") {
			t.Errorf("%q: %+v", word, o)
		}
	}
}

func TestShellcheck(t *testing.T) {
	check, err := exec.LookPath("shellcheck")
	if err != nil {
		if os.Getenv("SBX_REQUIRE") != "" {
			t.Fatal("shellcheck is not installed and SBX_REQUIRE is set")
		}
		t.Skip("shellcheck is not installed")
	}
	for _, kind := range Kinds() {
		for _, sbx := range []string{"/usr/bin/sbx", "/a b/it's/sbx"} {
			text, err := Script(kind, sbx)
			if err != nil {
				t.Fatal(err)
			}
			lint(t, check, kind+" with "+sbx, text)
		}
	}
	for _, kind := range StandaloneKinds() {
		text, err := Standalone(kind)
		if err != nil {
			t.Fatal(err)
		}
		lint(t, check, "standalone "+kind, text)
	}
	cmd := exec.Command(check, "-")
	cmd.Stdin = strings.NewReader("#!/bin/sh\necho $1\n")
	if cmd.Run() == nil {
		t.Error("control: shellcheck finds nothing in a bad script")
	}
}

func lint(t *testing.T, check, name, text string) {
	t.Helper()
	cmd := exec.Command(check, "--severity=style", "-")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", name, err, out)
	}
}

// A script for machines without sbx is whole, calls no sbx, and says who wrote it.
func TestStandalone(t *testing.T) {
	for _, kind := range StandaloneKinds() {
		text, err := Standalone(kind)
		if err != nil {
			t.Fatal(err)
		}
		if regexp.MustCompile(`@[A-Z_]+@`).MatchString(text) || strings.Contains(text, "sbx exec") || strings.Contains(text, "shellcheck shell=") {
			t.Errorf("%s:\n%s", kind, text)
		}
		if !strings.HasPrefix(text, "#!/bin/sh\n") || !strings.Contains(text, `"sbx wrapper install --standalone `+kind+`"`) {
			t.Errorf("%s begins with %q", kind, text[:200])
		}
		home := t.TempDir()
		path, err := InstallStandalone(kind, home)
		if have, _ := os.ReadFile(path); err != nil || path != filepath.Join(home, "sandbox", kind+".sh") || string(have) != text {
			t.Errorf("%s: %q, %v", kind, path, err)
		}
	}
	for _, kind := range []string{"direct", "containerd", "nope", ""} {
		if _, err := Standalone(kind); err == nil || !strings.Contains(err.Error(), "unknown kind") {
			t.Errorf("%s: %v", kind, err)
		}
		if _, err := InstallStandalone(kind, t.TempDir()); err == nil {
			t.Errorf("%s was installed", kind)
		}
	}
}

// Every place of the table is hidden.
func TestStandaloneHides(t *testing.T) {
	text, err := Standalone("bwrap")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(strings.NewReplacer("'", " ", "=", " ").Replace(text))
	for _, p := range append(credentials.Home(), credentials.System()...) {
		if !slices.Contains(words, strings.ReplaceAll(p.Path, " ", "?")) {
			t.Errorf("%s is not hidden", p.Path)
		}
	}
}

func TestKinds(t *testing.T) {
	if !slices.IsSorted(Kinds()) || len(Kinds()) != len(kinds) {
		t.Errorf("%v", Kinds())
	}
	for _, kind := range Kinds() {
		if About(kind) == "" || Backend(kind) == "" {
			t.Errorf("%s: %q, %q", kind, About(kind), Backend(kind))
		}
	}
}

func TestScript(t *testing.T) {
	for _, kind := range Kinds() {
		text, err := Script(kind, "/opt/it's/sbx")
		if err != nil || !strings.Contains(text, "\"sbx wrapper install "+kind+"\"") || strings.Contains(text, "@SBX@") || strings.Count(text, `sbx='/opt/it'\''s/sbx'`+"\n") != 1 {
			t.Errorf("%s: %v\n%s", kind, err, text)
		}
	}
	for _, c := range []struct{ kind, sbx, want string }{
		{"direkt", "/sbx", `wrapper "direkt": unknown kind, did you mean "direct"? (kinds: bwrap, containerd, direct, docker, firejail, macos, podman, ssh)`},
		{"Direct", "/sbx", `wrapper "Direct": unknown kind, did you mean "direct"? (kinds: bwrap, containerd, direct, docker, firejail, macos, podman, ssh)`},
		{"nope", "/sbx", `wrapper "nope": unknown kind (kinds: bwrap, containerd, direct, docker, firejail, macos, podman, ssh)`},
		{"", "/sbx", `wrapper "": unknown kind (kinds: bwrap, containerd, direct, docker, firejail, macos, podman, ssh)`},
		{"../direct", "/sbx", `wrapper "../direct": unknown kind, did you mean "direct"? (kinds: bwrap, containerd, direct, docker, firejail, macos, podman, ssh)`},
		{"direct", "sbx", `wrapper "direct": path of sbx "sbx": want an absolute path`},
		{"direct", "", `wrapper "direct": path of sbx "": want an absolute path`},
		{"direct", "/a\nb", `wrapper "direct": path of sbx "/a\nb": holds a line break or a zero byte`},
		{"direct", "/a\x00b", `wrapper "direct": path of sbx "/a\x00b": holds a line break or a zero byte`},
	} {
		home := filepath.Join(t.TempDir(), "home")
		if _, err := Install(c.kind, home, c.sbx); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
		if _, err := os.Lstat(home); err == nil {
			t.Errorf("%s: something was written", c.want)
		}
	}
	if _, err := Install("direct", "home", "/sbx"); err == nil || !strings.Contains(err.Error(), "want an absolute path") {
		t.Errorf("relative home: %v", err)
	}
}

func TestInstall(t *testing.T) {
	for _, umask := range []int{0, 0o022, 0o077} {
		old := syscall.Umask(umask)
		home := filepath.Join(t.TempDir(), "a", "pepe")
		path, err := Install("direct", home, "/sbx")
		syscall.Umask(old)
		if err != nil || path != filepath.Join(home, "sandbox", "direct.sh") {
			t.Fatalf("umask %o: %q, %v", umask, path, err)
		}
		for p, want := range map[string]os.FileMode{home: 0o700, filepath.Dir(path): 0o755, path: 0o755} {
			if info, err := os.Stat(p); err != nil || info.Mode().Perm() != want {
				t.Errorf("umask %o: %s: %v, want %v", umask, p, info.Mode(), want)
			}
		}
		first := inode(t, path)
		if _, err := Install("direct", home, "/sbx"); err != nil || inode(t, path) != first {
			t.Errorf("umask %o: a second time: %v, or the file was written again", umask, err)
		}
		// Another path, or a mode that somebody changed, is put right.
		if _, err := Install("direct", home, "/opt/sbx"); err != nil || inode(t, path) == first {
			t.Errorf("another path: %v, or nothing was written", err)
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Install("direct", home, "/opt/sbx"); err != nil {
			t.Error(err)
		}
		data, err := os.ReadFile(path)
		want, _ := Script("direct", "/opt/sbx")
		info, _ := os.Stat(path)
		if err != nil || string(data) != want || info.Mode().Perm() != 0o755 {
			t.Errorf("after a change: %v, mode %v\n%s", err, info.Mode(), data)
		}
		names, _ := filepath.Glob(filepath.Join(home, "sandbox", "*"))
		hidden, _ := filepath.Glob(filepath.Join(home, "sandbox", ".*.*"))
		if len(names) != 1 || len(hidden) != 0 {
			t.Errorf("left behind: %q %q", names, hidden)
		}
	}
}

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return uint64(info.Sys().(*syscall.Stat_t).Ino)
}

func TestInstallRefusesLinks(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(home, outside string) error
		want string
	}{
		{"script is a link", func(home, outside string) error {
			return errors.Join(os.Mkdir(home+"/sandbox", 0o755), os.Symlink(outside+"/file", home+"/sandbox/direct.sh"))
		}, "is a link or no regular file"},
		{"script is a link inside", func(home, _ string) error {
			return errors.Join(os.Mkdir(home+"/sandbox", 0o755), os.Symlink("other", home+"/sandbox/direct.sh"))
		}, "is a link or no regular file"},
		{"script is a directory", func(home, _ string) error {
			return os.MkdirAll(home+"/sandbox/direct.sh", 0o755)
		}, "is a link or no regular file"},
		{"folder is a link", func(home, outside string) error {
			return os.Symlink(outside, home+"/sandbox")
		}, "is a link or no directory"},
		{"folder is a link inside", func(home, _ string) error {
			return errors.Join(os.Mkdir(home+"/real", 0o755), os.Symlink("real", home+"/sandbox"))
		}, "is a link or no directory"},
		{"folder is a file", func(home, _ string) error {
			return os.WriteFile(home+"/sandbox", nil, 0o600)
		}, "is a link or no directory"},
		{"home is a file", func(home, _ string) error {
			return errors.Join(os.Remove(home), os.WriteFile(home, nil, 0o600))
		}, "not a directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			home, outside := t.TempDir(), t.TempDir()
			canary := filepath.Join(outside, "file")
			if err := os.WriteFile(canary, []byte("as it was"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := c.make(home, outside); err != nil {
				t.Fatal(err)
			}
			if _, err := Install("direct", home, "/sbx"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if data, _ := os.ReadFile(canary); string(data) != "as it was" {
				t.Errorf("the file outside now holds %q", data)
			}
			if names, _ := os.ReadDir(outside); len(names) != 1 {
				t.Errorf("outside now holds %v", names)
			}
		})
	}
	// Control: a home that is reached through a link works.
	real, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Install("direct", link, "/sbx"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(real, "sandbox", "direct.sh")); err != nil {
		t.Error(err)
	}
}
