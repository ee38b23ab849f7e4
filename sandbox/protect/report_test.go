//go:build linux

package protect

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// did says what a report tells of a change to a tree.
func did(t *testing.T, files map[string]string, o Options, change func(dir string)) (dir string, got []string) {
	t.Helper()
	dir = tree(t, files)
	settle()
	w := find(t, dir, o)
	change(dir)
	trust := w.Report(10 * time.Second)
	if trust.Incomplete != "" {
		t.Errorf("incomplete: %s", trust.Incomplete)
	}
	return dir, lines(trust, dir)
}

func TestReport(t *testing.T) {
	sh := func(text string) func(string) {
		return func(dir string) {
			cmd := exec.Command("sh", "-c", text)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", text, err, out)
			}
		}
	}
	plain := repo(".git/", map[string]string{
		".claude/settings.json": "{}", ".claude/deep/er/x": "", ".github/workflows/ci.yml": "", "Makefile": "", "src/a/b/c": "", ".envrc": "", "old": "-> /etc/hostname",
		"prepared/hooks/x": "", "prepared/HEAD": "", "harmless/config": "[core]\n\tbare = false\n[remote \"o\"]\n\turl = https://example.test/r.git\n\tfetch = x\n", "harmless/HEAD": "", "sub/.git/HEAD": "", "sub/.git/config": "", "sub/.git/hooks/x.sample": "",
	})
	for _, tt := range []struct {
		name   string
		do     string
		want   []string
		strict bool
	}{
		{"nothing", "cat Makefile; ls -R >/dev/null", nil, false},
		{"usual work", "echo x >src/a/b/c; mkdir -p new/deep; echo y >new/deep/f; echo all: >>Makefile; mv src/a src/z; ln -s a/b src/l; ln -s $PWD/src src/m; rm -r new; echo z >.github/workflows/ci.yml", nil, false},
		{"git's own work", "touch .git/index .git/COMMIT_EDITMSG; mkdir -p .git/objects/ab .git/refs/heads; echo x >.git/objects/ab/cd; echo y >.git/hooks/new.sample", nil, false},
		{"settings", "mkdir .codex; echo x >.mcp.json; mkdir -p .vscode; echo {} >.vscode/tasks.json; echo >.npmrc; echo >.bashrc", []string{
			"appeared settings .codex", "appeared settings .mcp.json", "appeared settings .npmrc", "appeared settings .vscode/tasks.json", "appeared shell .bashrc",
		}, false},
		{"workflows and build files", "mkdir -p .gitea/workflows; echo >.gitea/workflows/x.yml; echo >.github/workflows/y.yml; echo >.gitlab-ci.yml; echo {} >package.json", []string{
			"appeared build package.json", "appeared workflow .gitea/workflows/x.yml", "appeared workflow .github/workflows/y.yml", "appeared workflow .gitlab-ci.yml",
		}, false},
		{"what is protected", "echo x >.git/config; echo x >.git/hooks/pre-commit; echo y >.claude/settings.json; echo z >.claude/new; echo deep >.claude/deep/er/x; rm .envrc", []string{
			"appeared hook .git/hooks/pre-commit", "appeared settings .claude/new", "changed git-config .git/config", "changed settings .claude/deep/er/x", "changed settings .claude/settings.json", "removed shell .envrc",
		}, false},
		{"replaced", "mv .git/config c2; cp c2 .git/config; rm -r .git/hooks; mkdir h; echo x >h/pre-commit; ln -s ../h .git/hooks", []string{"appeared hook h/pre-commit", "changed git-config .git/config", "changed hook .git/hooks"}, false},
		{"git finds another place", "echo ../evil >.git/commondir; echo >.git/config.worktree", []string{"appeared git-config .git/commondir", "appeared git-config .git/config.worktree"}, false},
		{"steps that git goes on with", "mkdir .git/rebase-merge .git/sequencer; echo pick 1234 >.git/sequencer/todo; printf 'pick 1234 exec\nexec ./x\n' >.git/rebase-merge/git-rebase-todo", []string{
			"appeared hook .git/rebase-merge/git-rebase-todo",
		}, false},
		{"settings of further tools", "mkdir .cargo .windsurf; echo >.cargo/config.toml; echo >.exrc", []string{"appeared settings .cargo/config.toml", "appeared settings .exrc", "appeared settings .windsurf"}, false},
		{"links that leave", "ln -s /etc/passwd l1; ln -s ../../.. src/l2; mkdir -p d/e; ln -s /nonexistent/x d/e/l3; ln -s l1 l4; ln -s $PWD/../beside l5", []string{
			"appeared link d/e/l3", "appeared link l1", "appeared link l4", "appeared link l5", "appeared link src/l2",
		}, false},
		{"set-id", "cp /bin/true t; chmod u+s t; cp t src/a/g; chmod g+s src/a/g; mkdir d; chmod g+s d", []string{"appeared set-id src/a/g", "appeared set-id t"}, false},
		{"a repository", "mkdir -p d/.git/hooks; cd d/.git; echo x >config; echo x >HEAD; echo y >hooks/post-checkout; echo z >hooks/a.sample", []string{"appeared hook d/.git/hooks/post-checkout", "appeared repository d/.git"}, false},
		{"a repository that was there", "echo y >sub/.git/hooks/pre-push; echo x >sub/.git/config", []string{"appeared hook sub/.git/hooks/pre-push", "changed repository sub/.git"}, false},
		{"a bare repository", "mkdir -p d/objects d/refs d/hooks; echo >d/HEAD; echo >d/config; echo >d/hooks/update", []string{"appeared hook d/hooks/update", "appeared repository d"}, false},
		{"a link to a repository", "mkdir d; ln -s ../sub/.git d/.git", []string{"appeared repository d/.git"}, false},
		{"a prepared directory that becomes one", "mkdir d; mv prepared d/.git", []string{"changed repository d/.git"}, false},
		{"a harmless one", "mkdir d; mv harmless d/.git; touch sub/.git/index.lock sub/new; rm sub/.git/index.lock", nil, false},
		{"a git file", "mkdir d e; echo gitdir: ../e >d/.git", []string{"appeared repository d/.git"}, false},
		{"strict", "mkdir -p .codex/x .gitea/workflows d; echo >.gitea/workflows/x.yml; echo {} >package.json; echo x >.git/hooks/pre-commit; ln -s /etc d/l; cp /bin/true t; chmod u+s t; echo y >.git/config; git init -q r 2>/dev/null || mkdir -p r/.git/hooks; echo >r/.git/config; echo >r/.git/hooks/x; chmod 0 .codex/x", []string{
			"appeared build package.json", "appeared hook .git/hooks/pre-commit undone", "appeared hook r/.git/hooks/x undone", "appeared link d/l undone", "appeared repository r/.git undone",
			"appeared set-id t undone", "appeared settings .codex undone", "appeared workflow .gitea/workflows/x.yml undone", "changed git-config .git/config",
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, got := did(t, plain, Options{Strict: tt.strict}, sh(tt.do))
			if tt.want == nil {
				tt.want = []string{}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q\nwant %q", got, tt.want)
			}
			for _, line := range got {
				name, undone := strings.CutSuffix(line, " undone")
				name = filepath.Join(dir, name[strings.LastIndex(name, " ")+1:])
				info, err := os.Lstat(name)
				switch {
				case strings.Contains(line, " set-id "):
					if err != nil || undone == (info.Mode()&os.ModeSetuid != 0) && strings.HasSuffix(name, "/t") {
						t.Errorf("%s: %v", line, info.Mode())
					}
				case strings.Contains(line, " repository ") && undone:
					if _, cerr := os.Lstat(name + "/config"); err != nil || cerr == nil {
						t.Errorf("%s: the repository must stay, without its configuration", line)
					}
				case !strings.HasPrefix(line, "removed") && undone == (err == nil):
					t.Errorf("%s: %v", line, err)
				}
			}
		})
	}
}

// What git worktree add makes is usual work; the same with another configuration
// is not.
func TestReportWorktrees(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	git := func(dir, text string) {
		cmd := exec.Command("sh", "-ec", text)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", text, err, out)
		}
	}
	for _, tt := range []struct {
		name, do string
		want     []string
	}{
		{"usual", "git worktree add -q wt; git worktree add -q deep/er/wt2; git commit -q --allow-empty -m two; git branch b; git tag t; git gc -q", []string{}},
		{"with a configuration", "git worktree add -q wt; echo >.git/worktrees/wt/config.worktree", []string{"appeared git-config .git/worktrees/wt/config.worktree"}},
		{"of another repository", "git worktree add -q wt; mkdir evil; echo $PWD/evil >.git/worktrees/wt/commondir", []string{
			"appeared git-config .git/worktrees/wt/commondir", "appeared git-config .git/worktrees/wt/gitdir", "appeared git-config wt/.git",
		}},
		{"led elsewhere", "git worktree add -q wt; mkdir evil; echo gitdir: ../evil >wt/.git", []string{
			"appeared git-config .git/worktrees/wt/commondir", "appeared git-config .git/worktrees/wt/gitdir", "appeared git-config wt/.git",
		}},
		{"a submodule's directory", "git init -q --bare .git/modules/m; rm -r .git/modules/m/hooks", []string{"appeared git-config .git/modules/m/config"}},
		{"a clone", "git clone -q . clone", []string{"appeared repository clone/.git"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, map[string]string{})
			git(dir, "git init -q; git commit -q --allow-empty -m one")
			settle()
			w := find(t, dir, Options{})
			git(dir, tt.do)
			if got := lines(w.Report(10*time.Second), dir); !slices.Equal(got, tt.want) {
				t.Errorf("%q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestReportShared(t *testing.T) {
	dir := tree(t, repo(".git/", map[string]string{".git/hooks/pre-push": "", "f": ""}))
	for from, to := range map[string]string{".git/config": "other", ".git/hooks/pre-push": "another", ".git/hooks/pre-commit.sample": "third", "f": "g"} {
		must(t, os.Link(filepath.Join(dir, from), filepath.Join(dir, to)))
	}
	settle()
	w := find(t, dir, Options{})
	want := []string{"shared git-config .git/config", "shared hook .git/hooks/pre-push"}
	if got := lines(w.Report(10*time.Second), dir); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	must(t, os.WriteFile(dir+"/other", []byte("x"), 0o644)) // by the other name
	if got := lines(w.Report(10*time.Second), dir); !slices.Contains(got, "changed git-config .git/config") {
		t.Errorf("%q", got)
	}
}

func TestReportBounds(t *testing.T) {
	dir := tree(t, map[string]string{})
	for i := range 300 {
		must(t, os.MkdirAll(fmt.Sprintf("%s/%d/a/b", dir, i), 0o755))
	}
	settle()
	w := find(t, dir, Options{})
	for i := range 100 {
		must(t, os.Symlink("/etc", fmt.Sprintf("%s/%d/l", dir, i)))
	}
	trust := w.Report(0)
	if !strings.Contains(trust.Incomplete, "time") {
		t.Errorf("without time: %+v", trust)
	}
	trust = w.Report(10 * time.Second)
	if len(trust.Findings) != maxFindings || trust.More != 100-maxFindings || trust.Incomplete != "" {
		t.Errorf("%d findings and %d more, %s", len(trust.Findings), trust.More, trust.Incomplete)
	}
	// The fixed names are looked at whatever the time is.
	must(t, os.WriteFile(dir+"/.mcp.json", nil, 0o644))
	if got := lines(w.Report(0), dir); !slices.Contains(got, "appeared settings .mcp.json") {
		t.Errorf("%q", got)
	}
}

// A directory that nobody may list is named, and a clock that was set back.
func TestReportIncomplete(t *testing.T) {
	dir := tree(t, map[string]string{"d/e/f": ""})
	settle()
	if os.Geteuid() != 0 {
		w := find(t, dir, Options{})
		must(t, os.Chmod(dir+"/d", 0))
		trust := w.Report(time.Second)
		must(t, os.Chmod(dir+"/d", 0o755))
		if !strings.Contains(trust.Incomplete, "permission denied") {
			t.Errorf("%+v", trust)
		}
	}
	w := find(t, dir, Options{})
	w.start.files += int64(time.Hour)
	if trust := w.Report(time.Second); !strings.Contains(trust.Incomplete, "clock") {
		t.Errorf("%+v", trust)
	}
}

// A link that is put in place of a directory leads undo nowhere.
func TestUndoStaysInside(t *testing.T) {
	dir := tree(t, map[string]string{"ws/": "", "out/hooks/x": "", "out/config": ""})
	ws := dir + "/ws"
	settle()
	w := find(t, ws, Options{Strict: true})
	must(t, os.Symlink("../out", ws+"/.git"))
	must(t, os.Symlink("../out", ws+"/.claude"))
	for _, f := range []sandbox.TrustFinding{
		{Path: ws + "/.git/config", Kind: sandbox.TrustGitConfig},
		{Path: ws + "/.git", Kind: sandbox.TrustRepository},
		{Path: dir + "/out/config", Kind: sandbox.TrustSettings},
		{Path: ws + "/../out/config", Kind: sandbox.TrustSettings},
		{Path: ws, Kind: sandbox.TrustSettings},
	} {
		w.undo(f)
	}
	trust := w.Report(time.Second)
	if _, err := os.Lstat(ws + "/.claude"); err == nil {
		t.Errorf("%+v", trust)
	}
	for _, name := range []string{"hooks/x", "config"} {
		if _, err := os.Lstat(dir + "/out/" + name); err != nil {
			t.Error(err)
		}
	}
}

// TestAsOrdinaryUser repeats the tests without privileges.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this is an ordinary user")
	}
	const nobody = 65533
	dir, err := os.MkdirTemp("", "sbx-protect-") // t.TempDir is not open to others
	must(t, err)
	defer os.RemoveAll(dir)
	must(t, os.Chown(dir, nobody, nobody))
	self, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	must(t, os.WriteFile(dir+"/test", self, 0o755))
	cmd := exec.Command(dir+"/test", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as user %d: %v\n%s", nobody, err, out)
	}
}

func TestLocked(t *testing.T) {
	dir := tree(t, repo(".git/", nil))
	settle()
	w := find(t, dir, Options{})
	if got := w.Locked(); got != nil {
		t.Errorf("%q", got)
	}
	must(t, os.WriteFile(dir+"/.git/config.lock", nil, 0o644))
	must(t, os.Remove(dir+"/.git/config.lock"))
	if got := w.Locked(); !slices.Equal(got, []string{dir + "/.git/config"}) {
		t.Errorf("%q", got)
	}
}

func BenchmarkFind(b *testing.B) {
	dir := b.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	for b.Loop() {
		find(b, dir, Options{})
	}
}

// BenchmarkReport walks over directories without a change in them.
func BenchmarkReport(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprintf("%d-directories", n), func(b *testing.B) {
			dir := b.TempDir()
			if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
			for i := range n / 10 {
				for j := range 9 {
					must(b, os.MkdirAll(fmt.Sprintf("%s/%d/%d", dir, i, j), 0o755))
				}
				must(b, os.WriteFile(fmt.Sprintf("%s/%d/f", dir, i), nil, 0o644))
			}
			settle()
			w := find(b, dir, Options{})
			for b.Loop() {
				if trust := w.Report(time.Minute); len(trust.Findings) > 0 || trust.Incomplete != "" {
					b.Fatalf("%+v", trust)
				}
			}
		})
	}
}
