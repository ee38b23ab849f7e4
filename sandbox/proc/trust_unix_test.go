//go:build unix

package proc

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
)

// shelf is a directory with programs that can be trusted.
type shelf struct {
	*testing.T
	dir string
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	s := &shelf{t, dir}
	s.must(err)
	return s
}

func (s *shelf) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

const nobody = 65534

// asNobody runs the test once more as an ordinary user.
func asNobody(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "sbx-proc-") // t.TempDir is not open to others
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	bin, temp := filepath.Join(dir, "test"), filepath.Join(dir, "temp")
	if err := errors.Join(os.WriteFile(bin, text, 0o755), os.Mkdir(temp, 0o755), os.Chmod(dir, 0o755), os.Chown(temp, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "-test.run=^"+t.Name()+"$")
	cmd.Dir = temp
	cmd.Env = []string{"TMPDIR=" + temp}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("as user %d: %v\n%s", nobody, err, out)
	}
}

// program makes DIR/name and returns its path.
func (s *shelf) program(name string) string {
	s.Helper()
	at := filepath.Join(s.dir, name)
	s.must(os.MkdirAll(filepath.Dir(at), 0o755))
	s.must(os.WriteFile(at, []byte("#!/bin/sh\n"), 0o755))
	return at
}

func (s *shelf) link(to, name string) string {
	s.Helper()
	at := filepath.Join(s.dir, name)
	s.must(os.MkdirAll(filepath.Dir(at), 0o755))
	s.must(os.Symlink(to, at))
	return at
}

// Each row starts from a program that is trusted, and changes one thing.
func TestTrusted(t *testing.T) {
	if os.Geteuid() == 0 {
		asNobody(t)
	}
	const changed, writable, noProgram = "can be changed by others", "which the command may write to", "it is no executable file"
	mode := func(file string, m os.FileMode) func(*shelf, string, *sandbox.Profile) string {
		return func(s *shelf, at string, _ *sandbox.Profile) string {
			if os.Geteuid() == 0 { // a group that has other members
				s.must(os.Chown(filepath.Join(s.dir, file), 0, nobody))
			}
			s.must(os.Chmod(filepath.Join(s.dir, file), m))
			return at
		}
	}
	for name, c := range map[string]struct {
		change func(s *shelf, at string, p *sandbox.Profile) string
		want   string
	}{
		"nothing": {func(_ *shelf, at string, _ *sandbox.Profile) string { return at }, ""},
		"another place is writable": {func(s *shelf, at string, p *sandbox.Profile) string {
			p.Workspace, p.Write = s.dir+"/bi", []string{s.dir + "/bin/tool.d"} // the names only begin alike
			return at
		}, ""},
		"a sticky folder above": {mode(".", 0o777|os.ModeSticky), ""},
		"a link in a sticky folder above": {func(s *shelf, at string, _ *sandbox.Profile) string {
			link := s.link(filepath.Dir(at), "all/link")
			s.must(os.Chmod(filepath.Dir(link), 0o777|os.ModeSticky))
			return link + "/./../bin/tool"
		}, ""},
		"of root":        {func(*shelf, string, *sandbox.Profile) string { return "/bin/sh" }, ""},
		"a link of ours": {func(s *shelf, at string, _ *sandbox.Profile) string { return s.link(at, "own/link") }, ""},

		"relative": {func(*shelf, string, *sandbox.Profile) string { return "bin/tool" }, "its path must be absolute"},
		"empty":    {func(*shelf, string, *sandbox.Profile) string { return "" }, "its path must be absolute"},
		"missing":  {func(_ *shelf, at string, _ *sandbox.Profile) string { return at + "-not" }, "no such file"},
		"a broken link": {func(s *shelf, _ string, _ *sandbox.Profile) string {
			return s.link(s.dir+"/nowhere/tool", "own/link")
		}, "no such file"},
		"a loop of links": {func(s *shelf, _ string, _ *sandbox.Profile) string { return s.link("loop", "own/loop") }, "too many links"},

		"a directory":    {func(_ *shelf, at string, _ *sandbox.Profile) string { return filepath.Dir(at) }, noProgram},
		"a device":       {func(*shelf, string, *sandbox.Profile) string { return os.DevNull }, noProgram},
		"not executable": {mode("bin/tool", 0o644), noProgram},

		"everybody writes":                   {mode("bin/tool", 0o757), changed},
		"a group writes":                     {mode("bin/tool", 0o775), changed},
		"everybody writes to its folder":     {mode("bin", 0o777), changed},
		"a group writes to its folder":       {mode("bin", 0o775), changed},
		"a sticky folder":                    {mode("bin", 0o777|os.ModeSticky), changed},
		"everybody writes to a folder above": {mode(".", 0o777), changed},
		"a group writes to a folder above":   {mode(".", 0o775), changed},
		"by a link of a folder in a folder of all": {func(s *shelf, at string, _ *sandbox.Profile) string {
			link := s.link(filepath.Dir(at), "all/link")
			s.must(os.Chmod(filepath.Dir(link), 0o777))
			return link + "/tool"
		}, changed},
		"above what a link leads to": {func(s *shelf, _ string, _ *sandbox.Profile) string {
			to := s.program("all/bin/tool")
			s.must(os.Chmod(filepath.Join(s.dir, "all"), 0o777))
			return s.link(to, "own/link")
		}, changed},
		"a link in a folder of all": {func(s *shelf, at string, _ *sandbox.Profile) string {
			link := s.link(at, "all/link")
			s.must(os.Chmod(filepath.Dir(link), 0o777))
			return link
		}, changed},
		"a link to a link in a folder of all": {func(s *shelf, at string, _ *sandbox.Profile) string {
			link := s.link(at, "all/link")
			s.must(os.Chmod(filepath.Dir(link), 0o777))
			return s.link(link, "own/link")
		}, changed},

		"in the workspace": {func(s *shelf, at string, p *sandbox.Profile) string { p.Workspace = s.dir; return at }, writable},
		"in a writable directory": {func(s *shelf, at string, p *sandbox.Profile) string {
			p.Write = []string{"/nowhere", s.dir + "/bin/"}
			return at
		}, writable},
		"a writable file":        {func(_ *shelf, at string, p *sandbox.Profile) string { p.Write = []string{at}; return at }, writable},
		"in the temp directory":  {func(s *shelf, at string, p *sandbox.Profile) string { p.Private.Temp = s.dir; return at }, writable},
		"in the cache":           {func(s *shelf, at string, p *sandbox.Profile) string { p.Private.Cache = s.dir; return at }, writable},
		"everything is writable": {func(_ *shelf, at string, p *sandbox.Profile) string { p.Write = []string{"/"}; return at }, writable},
		"in a workspace that is named by a link": {func(s *shelf, at string, p *sandbox.Profile) string {
			p.Workspace = s.link(s.dir+"/bin", "own/ws")
			return at
		}, writable},
		"by a link into the workspace": {func(s *shelf, at string, p *sandbox.Profile) string {
			p.Workspace = filepath.Dir(at)
			return s.link(at, "own/link")
		}, writable},
		"by a link of a folder into the workspace": {func(s *shelf, at string, p *sandbox.Profile) string {
			p.Workspace = filepath.Dir(at)
			return s.link(filepath.Dir(at), "own/dir") + "/tool"
		}, writable},
		"by a link of a folder that lies in the workspace": {func(s *shelf, at string, p *sandbox.Profile) string {
			p.Workspace = s.dir + "/ws"
			return s.link(filepath.Dir(at), "ws/dir") + "/tool"
		}, writable},
		"a link in the workspace": {func(s *shelf, at string, p *sandbox.Profile) string {
			p.Workspace = s.dir + "/ws"
			return s.link(at, "ws/link")
		}, writable},
	} {
		s := newShelf(t)
		at := s.program("bin/tool")
		p := sandbox.Profile{Workspace: s.dir + "/elsewhere"}
		if err := Trusted(at, p); err != nil {
			t.Fatalf("control: %v", err)
		}
		switch err := Trusted(c.change(s, at, &p), p); {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// What belongs to another user than root and us is not trusted, nor what lies in
// a directory of theirs.
func TestTrustedOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a file of another user is made by root; TestTrusted tries an ordinary user when root runs it")
	}
	const other = nobody
	for _, file := range []string{"bin/tool", "bin", ".", "sticky", "sticky/link"} {
		s := newShelf(t)
		at := s.program("sticky/bin/tool")
		s.must(os.Rename(filepath.Dir(at), filepath.Join(s.dir, "bin")))
		at = s.link("../bin", "sticky/link") + "/tool"
		s.must(os.Chmod(filepath.Join(s.dir, "sticky"), 0o777|os.ModeSticky))
		if err := Trusted(at, sandbox.Profile{}); err != nil {
			t.Fatalf("control: %v", err)
		}
		s.must(os.Lchown(filepath.Join(s.dir, file), other, other))
		if err := Trusted(at, sandbox.Profile{}); err == nil || !strings.Contains(err.Error(), "can be changed by others") {
			t.Errorf("%s of another user: %v", file, err)
		}
	}
}

func TestBeside(t *testing.T) {
	s := newShelf(t)
	self := s.program("pre/bin/sbx")
	want := func(name, want string) {
		t.Helper()
		if got, err := besideOf(self, "sbx-x"); got != want || want == "" && (err == nil || !strings.Contains(err.Error(), "there is no sbx-x at "+s.dir+"/pre/bin/sbx-x or ")) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	t.Setenv("PATH", filepath.Dir(s.program("path/sbx-x")))
	want("on PATH alone", "")
	libexec := s.program("pre/libexec/sbx/sbx-x")
	want("in libexec", libexec)
	want("beside", s.program("pre/bin/sbx-x"))
	s.must(os.Remove(s.dir + "/pre/bin/sbx-x"))
	broken := s.link("/nowhere", "pre/bin/sbx-x")
	want("a broken link beside", broken)
	if err := Trusted(broken, sandbox.Profile{}); err == nil {
		t.Error("a broken link is trusted")
	}
}
