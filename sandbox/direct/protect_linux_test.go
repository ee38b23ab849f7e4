//go:build amd64 || arm64

package direct_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/direct"
	"github.com/sbx-run/sbx/sandbox/protect"
)

// gitRoom is a room whose workspace is a repository with files that others trust.
func gitRoom(t *testing.T, tier string) *room {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	r := newRoom(t, tier)
	r.extra = []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@example.test", "LC_ALL=C",
	}
	r.onHost("git init -q -b main && git add -A && git commit -qm one && echo two >own && git commit -qam two")
	return r
}

// onHost does something in the workspace without a sandbox.
func (r *room) onHost(text string) {
	r.Helper()
	cmd := exec.Command("sh", "-ec", text)
	cmd.Dir, cmd.Env = r.workspace, r.env()
	if out, err := cmd.CombinedOutput(); err != nil {
		r.Fatalf("%s: %v\n%s", text, err, out)
	}
}

// protected opens a session as the engine does: what exists now is protected.
func (r *room) protected(b sandbox.Backend, o protect.Options) (sandbox.Session, *protect.Watch) {
	r.Helper()
	p := r.profile
	w, err := protect.Find(p, o)
	check(r, err)
	p.Protect, p.Write = w.Paths(), append(p.Write, w.Open()...)
	s, err := b.Open(r.Context(), p)
	check(r, err)
	r.Cleanup(func() { check(r, s.Close()) })
	return s, w
}

// trusted is the state of everything in the workspace that others trust.
func (r *room) trusted(names ...string) string {
	r.Helper()
	var b strings.Builder
	for _, name := range names {
		at := filepath.Join(r.workspace, name)
		_ = filepath.Walk(at, func(path string, info os.FileInfo, err error) error {
			if err != nil {
				fmt.Fprintln(&b, path, err)
				return nil
			}
			text, _ := os.ReadFile(path)
			to, _ := os.Readlink(path)
			fmt.Fprintf(&b, "%s %v %q %s %v\n", path, info.Mode(), text, to, info.ModTime())
			return nil
		})
		if real, err := filepath.EvalSymlinks(at); err == nil && real != at {
			text, _ := os.ReadFile(real + "/pre-commit")
			fmt.Fprintf(&b, "%s %q\n", real, text)
		}
	}
	return b.String()
}

// attacks change what is trusted. Each is done without a sandbox first.
type attack struct {
	name    string
	prepare string   // on the host
	trusted []string // what must stay as it is
	texts   []string
}

func attacks() []attack {
	git := []string{".git/config", ".git/hooks"}
	return []attack{
		{"repository", "", git, []string{
			"echo x >>.git/config",
			": >.git/config",
			"touch -d 2001-01-01 .git/config",
			"chmod 777 .git/config",
			"cp .git/config c; echo x >>c; mv c .git/config",
			"rm -f .git/config; echo x >.git/config",
			"ln .git/config h; echo x >>h",
			"exec 3<.git/config; echo x >>/proc/self/fd/3",
			"echo x >>/proc/self/cwd/.git/config",
			"echo x >.git/hooks/pre-commit",
			"mv .git/hooks/pre-commit.sample .git/hooks/pre-commit",
			"chmod 700 .git/hooks/*",
			"ln .git/hooks/pre-commit.sample h; echo x >>h",
			"mv own .git/hooks/pre-commit",
			"mv .git/hooks h2; mkdir .git/hooks; echo x >.git/hooks/pre-commit",
			"mv .git/hooks h2; ln -s ../h2 .git/hooks; echo x >h2/pre-commit",
			"rm -rf .git/hooks",
			"mv .git g2; mkdir .git; cp -r g2/* .git; echo x >.git/hooks/pre-commit",
			"mv .git g2; ln -s g2 .git; echo x >g2/hooks/pre-commit",
			"mv -T .git a/g; echo x >a/g/hooks/pre-commit",
			"rm -rf .git; mkdir -p .git/hooks; echo x >.git/hooks/pre-commit",
			"cd .git && mv hooks h2; mkdir hooks; echo x >hooks/pre-commit",
			"git config core.hooksPath /tmp/h",
			"git config core.fsmonitor ./e",
			"git config alias.x '!sh'",
			"git remote add origin https://example.test/r.git",
			"git init -q --template=$PWD/a .; echo x >>.git/config",
		}},
		{"settings", "mkdir -p .vscode .claude .husky; echo {} >.mcp.json; echo {} >.vscode/tasks.json; echo {} >.vscode/other; echo {} >.claude/settings.json; echo x >.husky/pre-commit; echo >.envrc; echo >.bashrc", []string{
			".mcp.json", ".vscode/tasks.json", ".claude", ".husky", ".envrc", ".bashrc",
		}, []string{
			"echo x >.mcp.json", "rm -f .mcp.json", "mv own .mcp.json", "mv .vscode v; mkdir .vscode; echo x >.vscode/tasks.json", "rm -rf .vscode .claude",
			"echo x >.claude/settings.json", "mkdir -p .claude/commands", "mv .claude c2; mkdir .claude", "echo x >>.husky/pre-commit", "echo x >>.envrc", "echo x >>.bashrc", "ln -sf own .bashrc",
		}},
		{"hooks that are a link", "mkdir -p tools/hooks; echo x >tools/hooks/pre-commit; rm -r .git/hooks; ln -s ../tools/hooks .git/hooks", []string{".git/hooks", "tools/hooks"}, []string{
			"rm .git/hooks; mkdir .git/hooks; echo y >.git/hooks/pre-commit",
			"ln -sfn ../a .git/hooks",
			"mv .git/hooks .git/h2",
			"mv own .git/hooks/pre-commit",
			"echo y >tools/hooks/pre-commit",
			"echo y >.git/hooks/pre-push",
			"mv tools t2; mkdir -p tools/hooks; echo y >tools/hooks/pre-commit",
			"mv tools/hooks tools/h2; cp -r a tools/hooks",
		}},
		{"a hook that is a link", "mkdir tools; echo x >tools/check; rm -r .git/hooks; mkdir .git/hooks; ln -s ../../tools/check .git/hooks/pre-commit", []string{".git/hooks", "tools/check"}, []string{
			"echo y >tools/check", "mv own tools/check", "mv tools t2; mkdir tools; echo y >tools/check", "ln -sf ../../own .git/hooks/pre-commit",
		}},
		{"git directory that is a link", "mv .git store; ln -s store .git", []string{".git", "store/config", "store/hooks"}, []string{
			"rm .git; cp -r store .git; echo x >>.git/config", "mv .git g2", "ln -sfn a .git", "echo x >>.git/config", "mv store s2; cp -r s2 store; echo x >>store/config", "echo y >store/hooks/pre-commit",
		}},
		{"git file", "git init -q --separate-git-dir=$PWD/store", []string{".git", "store/config", "store/hooks"}, []string{
			"echo gitdir: a >.git", "mv own .git", "rm .git", "echo x >>store/config", "mv store s2; cp -r s2 store; echo y >store/hooks/pre-commit",
		}},
		{"submodule", "git init -q sub; cd sub; git commit -q --allow-empty -m one; cd ..; git -c protocol.file.allow=always submodule --quiet add ./sub lib/m 2>/dev/null || git -c protocol.file.allow=always submodule --quiet add $PWD/sub lib/m; test -f .git/modules/lib/m/config", []string{
			".git/modules/lib/m/config", ".git/modules/lib/m/hooks", "lib/m/.git",
		}, []string{
			"echo x >>.git/modules/lib/m/config", "echo y >.git/modules/lib/m/hooks/post-checkout", "mv .git/modules m2; cp -r m2 .git/modules; echo y >.git/modules/lib/m/hooks/post-checkout",
			"mv .git/modules/lib l2; cp -r l2 .git/modules/lib; echo y >>.git/modules/lib/m/config", "echo gitdir: ../../sub/.git >lib/m/.git", "mv lib l2; cp -r l2 lib; echo gitdir: x >lib/m/.git",
			"git -C lib/m config core.fsmonitor ./e",
		}},
		{"linked worktree", "git worktree add -q wt; git config extensions.worktreeConfig true; git -C wt config --worktree a.b c", []string{
			"wt/.git", ".git/worktrees/wt/commondir", ".git/worktrees/wt/gitdir", ".git/worktrees/wt/config.worktree",
		}, []string{
			"echo /tmp >.git/worktrees/wt/commondir", "echo gitdir: a >wt/.git", "git -C wt config --worktree core.fsmonitor ./e", "mv .git/worktrees w2; cp -r w2 .git/worktrees; echo x >>.git/worktrees/wt/config.worktree",
		}},
	}
}

// What is trusted stays as it is under the tier full, whatever the command tries,
// and all that is trusted can be changed without a sandbox.
func TestProtectHolds(t *testing.T) {
	for _, a := range attacks() {
		t.Run(a.name, func(t *testing.T) {
			r := gitRoom(t, full)
			if a.prepare != "" {
				r.onHost(a.prepare)
			}
			saved := r.dir + "/saved"
			r.onHost("cp -a . " + saved)
			restore := func() {
				r.onHost("chmod -R u+rwX .; find . -mindepth 1 -delete; cp -a " + saved + "/. .")
			}
			for _, text := range a.texts {
				before := r.trusted(a.trusted...)
				r.run(r.unconfined(), "sh", "-c", text)
				if r.trusted(a.trusted...) == before {
					t.Errorf("control: %s: changes nothing without a sandbox", text)
				}
				restore()
				before = r.trusted(a.trusted...)
				s, _ := r.protected(backend(full), protect.Options{})
				out, _ := r.run(s, "sh", "-c", text)
				if after := r.trusted(a.trusted...); after != before {
					t.Errorf("%s: %s\n%s\nwas\n%s", text, out, after, before)
				}
				restore()
			}
		})
	}
}

// A file that is a stream can be opened anew, past all mounts. What is outside is not
// opened for writing then, and what is protected is refused. Without a sandbox both are
// written, and so is a file of the workspace that is not protected.
func TestStreamsAreNotOpenedForWriting(t *testing.T) {
	r := gitRoom(t, full)
	s, _ := r.protected(backend(full), protect.Options{})
	given := func(s sandbox.Session, name string) (string, error) {
		check(t, os.WriteFile(name, []byte("[canary]\n"), 0o644))
		in, err := os.Open(name)
		check(t, err)
		defer in.Close()
		_, failed := s.Run(t.Context(), sandbox.Command{Argv: []string{"sh", "-c", ": >/proc/self/fd/0"}, Env: r.env(), Stdin: in})
		text, err := os.ReadFile(name)
		check(t, err)
		return string(text), failed
	}
	outside, protected := r.outside+"/file", r.workspace+"/.git/config"
	for _, name := range []string{outside, protected} {
		if text, err := given(r.unconfined(), name); text != "" || err != nil {
			t.Errorf("control %s: %q, %v", name, text, err)
		}
	}
	if text, err := given(s, r.workspace+"/own"); text != "" || err != nil {
		t.Errorf("control in the workspace: %q, %v", text, err)
	}
	for _, s := range []sandbox.Session{s, r.open(backend(landlock)), r.open(backend(thread))} {
		if text, err := given(s, outside); text != "[canary]\n" || err != nil {
			t.Errorf("outside: %q, %v", text, err)
		}
	}
	if text, err := given(s, protected); text != "[canary]\n" || err == nil || !strings.Contains(err.Error(), "is protected") {
		t.Errorf("protected: %q, %v", text, err)
	}
}

// Work with git goes on, and what would write its configuration says so.
func TestProtectLetsGitWork(t *testing.T) {
	r := gitRoom(t, full)
	names := r.names()
	for _, tt := range []struct {
		text string
		want string // in the output; the exit status is not 0 then
	}{
		{"true", ""},
		{"git status && git add -A && git commit --allow-empty -m three", ""},
		{"git branch side HEAD~1 && git switch -q side && echo x >new && git add new && git commit -qm four && git rebase -q main && git switch -q main && git merge -q side", ""},
		{"git rebase -q -f HEAD~2 && git commit -q --amend -m again && git reset -q --hard HEAD~1 && git cherry-pick side", ""},
		{"git worktree add -q wt && git -C wt commit -q --allow-empty -m five && git worktree list && git worktree remove wt", ""},
		{"echo y >own && git stash -q && git stash pop -q && git checkout -q own && git tag v1 && git gc -q && git fsck", ""},
		{"git checkout -q -b topic && git push -q . topic:other && git fetch -q . && git log --oneline && git bisect start && git bisect reset", ""},
		{"git branch -m side side2", "could not write config file .git/config"},
		{"git remote add o https://example.test/r.git", "could not write config file .git/config"},
		{"git branch --track t2 main; false", "could not write config file .git/config"},
		{"echo x >.git/hooks/pre-commit", "Read-only file system"},
	} {
		s, w := r.protected(backend(full), protect.Options{})
		time.Sleep(20 * time.Millisecond)
		out, result := r.run(s, "sh", "-ec", tt.text)
		if (result.ExitCode != 0) != (tt.want != "") || !strings.Contains(out, tt.want) {
			t.Errorf("%s: exit %d, %s", tt.text, result.ExitCode, out)
		}
		if trust := w.Report(10 * time.Second); len(trust.Findings) > 0 || trust.Incomplete != "" {
			t.Errorf("%s: %+v", tt.text, trust)
		}
		if !slices.Contains(result.Enforced, sandbox.HooksProtected) {
			t.Errorf("enforced: %v", result.Enforced)
		}
		if tt.text == "true" && r.names() != names {
			t.Errorf("a file appeared or went:\n%s", r.names())
		}
		if tt.want != "" && strings.Contains(tt.want, "config") && len(w.Locked()) != 1 {
			t.Errorf("%s: nobody noticed the lock", tt.text)
		}
	}
	s, _ := r.protected(backend(full), protect.Options{Unprotect: []string{".git/config"}})
	if out, result := r.run(s, "sh", "-ec", "git remote add o https://example.test/r.git; git branch -m main trunk; ! echo x >.git/hooks/x"); result.ExitCode != 0 {
		t.Errorf("unprotected: %s", out)
	}
	r.onHost("git fsck; git remote get-url o; test -z \"$(git status --porcelain)\"")
}

// names lists the workspace's files.
func (r *room) names() string {
	var list []string
	check(r, filepath.WalkDir(r.workspace, func(path string, d os.DirEntry, err error) error {
		list = append(list, path)
		return err
	}))
	return strings.Join(list, "\n")
}

// A writable place in a protected directory, for its owner's reason.
func TestProtectWithAHole(t *testing.T) {
	r := gitRoom(t, full)
	r.onHost("mkdir -p .claude/todos; echo x >.claude/settings.json")
	s, _ := r.protected(backend(full), protect.Options{Unprotect: []string{".claude/todos"}})
	out, _ := r.run(s, "sh", "-c", "echo a >.claude/todos/one; echo b >.claude/settings.json; mv .claude/todos .claude/t2; mv .claude c2; ls .claude/todos")
	text, err := os.ReadFile(r.workspace + "/.claude/settings.json")
	if !strings.HasSuffix(out, "one\n") || string(text) != "x\n" || err != nil {
		t.Errorf("%s: %q %v", out, text, err)
	}
}

// Where the kernel cannot do it, the gap is named, whoever requires it is refused,
// and the report names what was done.
func TestProtectWithoutMounts(t *testing.T) {
	for _, tier := range []string{landlock, thread} {
		r := gitRoom(t, tier)
		s, w := r.protected(backend(tier), protect.Options{})
		time.Sleep(20 * time.Millisecond)
		out, result := r.run(s, "sh", "-c", "echo x >.git/hooks/pre-commit && git config core.fsmonitor ./e && mkdir .claude")
		if result.ExitCode != 0 || slices.Contains(result.Enforced, sandbox.HooksProtected) || !slices.ContainsFunc(result.Gaps, func(g sandbox.Gap) bool { return g.Control == sandbox.HooksProtected }) {
			t.Errorf("%s: %+v", out, result)
		}
		var got []string
		for _, f := range w.Report(10 * time.Second).Findings {
			got = append(got, string(f.Change)+" "+strings.TrimPrefix(f.Path, r.workspace+"/"))
		}
		if want := []string{"appeared .claude", "changed .git/config", "appeared .git/hooks/pre-commit"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		r.profile.Required = []sandbox.Control{sandbox.HooksProtected}
		if _, err := r.backendOpen(); err == nil {
			t.Error("it is required, and not refused")
		}
	}
}

// Root protects the files of a workspace from the user who owns it, and whose
// identity the command has.
func TestProtectFromTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to be somebody else")
	}
	r := gitRoom(t, full)
	const owner = 54321
	r.onHost(fmt.Sprintf("chmod -R go+rX .; chown -R %d:%d .", owner, owner))
	r.profile.Identity = &sandbox.Identity{UID: owner, GID: owner, Groups: []uint32{owner}}
	s, _ := r.protected(backend(full), protect.Options{})
	before := r.trusted(".git/config", ".git/hooks")
	out, result := r.run(s, "sh", "-c", "id -u; git commit -q --allow-empty -m x && echo committed; echo x >>.git/config; mv .git g2; rm -rf .git/hooks; echo x >.git/hooks/x")
	if !strings.HasPrefix(out, "54321\ncommitted\n") || r.trusted(".git/config", ".git/hooks") != before {
		t.Errorf("%s %+v", out, result)
	}
}

// A protected file that was replaced after it was found is not what was looked
// at: the run is refused, not left open.
func TestProtectReplaced(t *testing.T) {
	r := gitRoom(t, full)
	s, _ := r.protected(backend(full), protect.Options{})
	r.onHost("git config a.b c")
	_, err := s.Run(r.Context(), sandbox.Command{Argv: []string{"true"}, Env: r.env()})
	if err == nil || !strings.Contains(err.Error(), ".git/config is the file it was") {
		t.Errorf("%v", err)
	}
	r.onHost("mv .git g2; ln -s g2 .git")
	p := r.profile
	p.Protect = []string{r.workspace + "/.git/config"}
	if _, err := backend(full).Open(r.Context(), p); err == nil {
		t.Error("a link in the ancestors is followed")
	}
}

// A directory that keeps a protected file in place is writable and shown by a mount
// of its own: when it was replaced since it was found, that would be one of another
// directory, wherever a link led for that moment.
func TestProtectDirectoryReplaced(t *testing.T) {
	r := gitRoom(t, full)
	r.onHost("mkdir -p a/b && echo x >a/b/f")
	s, _ := r.protected(backend(full), protect.Options{Protect: []string{"a/b/f"}})
	run := func() error {
		_, err := s.Run(r.Context(), sandbox.Command{Argv: []string{"true"}, Env: r.env()})
		return err
	}
	if err := run(); err != nil {
		t.Fatalf("control: %v", err)
	}
	r.onHost("mv a/b a/old && mkdir a/b && ln a/old/f a/b/f") // the file is what it was
	if err := run(); err == nil || !strings.Contains(err.Error(), "a/b is the file it was") {
		t.Errorf("%v", err)
	}
}

func TestReadOnlyWorkspace(t *testing.T) {
	eachTier(t, func(r *room) {
		r.profile.ReadOnly = true
		r.profile.Private.Temp = r.dir + "/temp"
		check(r, os.Mkdir(r.profile.Private.Temp, 0o755))
		if got := r.do(r.unconfined(), "create", r.workspace+"/control"); got != "ok" {
			r.Fatalf("control: %s", got)
		}
		s := r.confined()
		for _, act := range [][]string{
			{"create", r.workspace + "/new"}, {"append", r.workspace + "/own"}, {"unlink", r.workspace + "/own"}, {"rename", r.workspace + "/a", r.workspace + "/c"},
		} {
			if got := r.do(s, act[0], act[1:]...); !oneOf("EROFS|EACCES", got) {
				r.Errorf("%v: %s", act, got)
			}
		}
		if got := r.do(s, "create", r.profile.Private.Temp+"/new"); got != "ok" {
			r.Errorf("write to the temp directory: %s", got)
		}
		if out, result := r.run(s, "sh", "-c", "pwd; cat own"); out != r.workspace+"\nown\n" {
			r.Errorf("%s %+v", out, result)
		}
		plan, err := s.Plan(sandbox.Command{Argv: []string{"true"}})
		if check(r, err); slices.Contains(plan.Write, r.workspace) {
			r.Errorf("%q", plan.Write)
		}
	})
	// In a place that is covered, too.
	r := newRoom(t, full)
	dir, err := os.MkdirTemp("/tmp", "sbx-test-")
	check(t, err)
	defer os.RemoveAll(dir)
	check(t, os.WriteFile(dir+"/f", []byte("x"), 0o644))
	r.profile.Workspace, r.profile.ReadOnly = dir, true
	if out, _ := r.run(r.confined(), "sh", "-c", "cat f; echo y >f; echo z >g; ls"); !strings.HasPrefix(out, "x") || !strings.HasSuffix(out, "\nf\n") {
		t.Errorf("%q", out)
	}
}

// BenchmarkProtect is what protection adds to a run in a repository. The ways
// take turns, so that all have the same machine; the figures are medians.
func BenchmarkProtect(b *testing.B) {
	workspace := b.TempDir()
	if out, err := exec.Command("git", "init", "-q", workspace).CombinedOutput(); err != nil {
		b.Skipf("%v %s", err, out)
	}
	p := sandbox.Profile{Workspace: workspace, Home: b.TempDir(), Protect: []string{}}
	open := func(p sandbox.Profile) sandbox.Session {
		s, err := direct.NewTier(full).Open(b.Context(), p)
		check(b, err)
		b.Cleanup(func() { _ = s.Close() })
		return s
	}
	plain := open(p)
	w, err := protect.Find(p, protect.Options{})
	check(b, err)
	p.Protect = w.Paths()
	guarded := open(p)
	took := map[string][]time.Duration{}
	measure := func(what string, do func()) {
		start := time.Now()
		do()
		took[what] = append(took[what], time.Since(start))
	}
	run := func(s sandbox.Session) func() {
		return func() {
			_, err := s.Run(b.Context(), sandbox.Command{Argv: []string{"/bin/true"}})
			check(b, err)
		}
	}
	for b.Loop() {
		measure("plain", run(plain))
		measure("mounts", run(guarded))
		measure("find", func() { w, err = protect.Find(p, protect.Options{}) })
		check(b, err)
		measure("report", func() { w.Report(protect.Limit) })
	}
	for what, list := range took {
		slices.Sort(list)
		b.ReportMetric(float64(list[len(list)/2].Microseconds()), what+"-µs")
	}
}
