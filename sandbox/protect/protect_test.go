package protect

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// tree makes files below a fresh directory. A name that ends in a slash is a
// directory, a text that begins with "-> " a symbolic link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	grow(t, dir, files)
	return dir
}

func grow(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		at, text := filepath.Join(dir, name), strings.ReplaceAll(files[name], "$W", dir)
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		to, link := strings.CutPrefix(text, "-> ")
		switch {
		case strings.HasSuffix(name, "/"):
			must(t, os.MkdirAll(at, 0o755))
		case link:
			must(t, os.Symlink(to, at))
		default:
			must(t, os.WriteFile(at, []byte(text), 0o644))
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// repo is what git init makes, as far as it matters, below prefix, and more.
func repo(prefix string, more map[string]string) map[string]string {
	files := map[string]string{
		prefix + "HEAD": "ref: refs/heads/main\n", prefix + "config": "[core]\n\tbare = false\n",
		prefix + "objects/": "", prefix + "refs/": "", prefix + "hooks/pre-commit.sample": "exit 0\n",
	}
	for name, text := range more {
		files[name] = text
	}
	return files
}

func find(t testing.TB, dir string, o Options, write ...string) *Watch {
	t.Helper()
	w, err := Find(sandbox.Profile{Workspace: dir, Write: write}, o)
	must(t, err)
	return w
}

// relative gives the paths below dir without it.
func relative(paths []string, dir string) []string {
	list := []string{}
	for _, p := range paths {
		list = append(list, strings.TrimPrefix(strings.TrimPrefix(p, dir), "/"))
	}
	return list
}

func TestFind(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs symbolic links")
	}
	git := []string{".git/config", ".git/hooks"}
	for _, tt := range []struct {
		name  string
		files map[string]string
		o     Options
		want  []string
	}{
		{"nothing", map[string]string{"main.go": "", ".git-not/config": "", "sub/.claude/x": ""}, Options{}, []string{}},
		{"repository", repo(".git/", map[string]string{".git/info/exclude": "", ".git/index": ""}), Options{}, git},
		{"settings", map[string]string{
			".claude/settings.json": "", ".codex": "", ".mcp.json": "", ".gemini/": "", ".cursor/rules": "", ".vscode/tasks.json": "", ".vscode/settings.json": "",
			".envrc": "", ".husky/pre-commit": "", ".bashrc": "", ".zshrc": "", ".sbx.json": "", ".npmrc": "", "Makefile": "", ".github/workflows/ci.yml": "",
		}, Options{}, []string{".bashrc", ".claude", ".codex", ".cursor", ".envrc", ".gemini", ".husky", ".mcp.json", ".sbx.json", ".vscode/tasks.json", ".zshrc"}},
		{"a hook that is a link", repo(".git/", map[string]string{".git/hooks/pre-commit": "-> ../../tools/check", "tools/check": "", "tools/other": ""}), Options{}, append(git, "tools/check")},
		{"git directory that is a link", repo("store/", map[string]string{".git": "-> store"}), Options{}, []string{".git", "store/config", "store/hooks"}},
		{"git directory by an absolute link", repo("store/", map[string]string{".git": "-> $W/store"}), Options{}, []string{".git", "store/config", "store/hooks"}},
		{"link through a link", repo("a/store/", map[string]string{".git": "-> l/store", "l": "-> a"}), Options{}, []string{".git", "a/store/config", "a/store/hooks", "l"}},
		{"link that leads nowhere", map[string]string{".claude": "-> gone", ".envrc": "-> .envrc", ".bashrc": "-> /etc/hostname"}, Options{}, []string{".bashrc", ".claude", ".envrc"}},
		{"git file", repo("store/", map[string]string{".git": "gitdir: store\n"}), Options{}, []string{".git", "store/config", "store/hooks"}},
		{"git file outside", map[string]string{".git": "gitdir: /nonexistent/.git/worktrees/x\n"}, Options{}, []string{".git"}},
		{"git file without sense", map[string]string{".git": "gitdir:"}, Options{}, []string{".git"}},
		{
			"a configuration that is a link",
			map[string]string{".git/HEAD": "", ".git/config": "-> ../team", "team": "[core]\nhooksPath = h\n", "h/x": ""},
			Options{},
			[]string{".git/config", "h", "team"},
		},
		{"a configuration that is a device", map[string]string{".git/HEAD": "", ".git/config": "-> /dev/zero"}, Options{}, []string{".git/config"}},
		{"bare repository", repo("", nil), Options{}, []string{"config", "hooks"}},
		{
			"submodules",
			repo(".git/", repo(".git/modules/a/", repo(".git/modules/libs/b/", map[string]string{
				".git/modules/a/config": "[core]\n\tworktree = ../../../a\n", ".git/modules/libs/b/config": "[core]\n worktree = \"../../../../libs/b\" ; where\n",
				"a/.git": "gitdir: ../.git/modules/a\n", "libs/b/.git": "gitdir: ../../.git/modules/libs/b\n",
			}))),
			Options{},
			append(git, ".git/modules/a/config", ".git/modules/a/hooks", ".git/modules/libs/b/config", ".git/modules/libs/b/hooks", "a/.git", "libs/b/.git"),
		},
		{
			"linked worktrees",
			repo(".git/", map[string]string{
				".git/worktrees/wt/gitdir": "$W/wt/.git\n", ".git/worktrees/wt/commondir": "../..\n", ".git/worktrees/wt/HEAD": "", ".git/worktrees/wt/config.worktree": "",
				".git/worktrees/away/gitdir": "/nonexistent/.git\n", ".git/worktrees/away/commondir": "../..\n",
				"wt/.git": "gitdir: $W/.git/worktrees/wt\n",
			}),
			Options{},
			append(git, ".git/worktrees/away/commondir", ".git/worktrees/away/gitdir", ".git/worktrees/wt/commondir", ".git/worktrees/wt/config.worktree", ".git/worktrees/wt/gitdir", "wt/.git"),
		},
		{
			"in a linked worktree, with the repository beside it",
			repo("main/.git/", map[string]string{
				"main/.git/worktrees/wt/gitdir": "$W/.git\n", "main/.git/worktrees/wt/commondir": "../..\n", "main/.git/worktrees/wt/HEAD": "",
				".git": "gitdir: main/.git/worktrees/wt\n",
			}),
			Options{},
			[]string{".git", "main/.git/config", "main/.git/hooks", "main/.git/worktrees/wt/commondir", "main/.git/worktrees/wt/gitdir"},
		},
		{
			"what the configuration names",
			repo(".git/", map[string]string{
				".git/config":    "[core]\n\thooksPath = .githooks\n[include]\n\tpath = ../team.gitconfig\n[includeIf \"gitdir:[x]\"] path = /nonexistent\n",
				"team.gitconfig": "[Core]\nHooksPath=\"more hooks\"\n[include]\npath = team.gitconfig\n",
				".githooks/x":    "", "more hooks/y": "",
			}),
			Options{},
			append(git, ".githooks", "more hooks", "team.gitconfig"),
		},
		{"named by the owner", map[string]string{"deploy/run.sh": "", "l": "-> deploy", "a": ""}, Options{Protect: []string{"l/run.sh", "absent", "/etc/passwd"}}, []string{"deploy/run.sh", "l"}},
		{"taken out", repo(".git/", map[string]string{".claude/x": "", ".envrc": ""}), Options{Unprotect: []string{".git/config", ".claude/"}}, []string{".envrc", ".git/hooks"}},
		{"a directory taken out", repo(".git/", repo(".git/modules/a/", map[string]string{".envrc": ""})), Options{Unprotect: []string{".git"}}, []string{".envrc"}},
		{"taken out by its own name", repo(".git/", map[string]string{".git/hooks/pre-commit": "-> ../../check", "check": ""}), Options{Unprotect: []string{".git/hooks"}}, []string{".git/config"}},
		{"taken out through a link", repo("store/", map[string]string{".git": "-> store"}), Options{Unprotect: []string{".git/config"}}, []string{".git", "store/hooks"}},
		{"odd names", map[string]string{".claude/a\nb": "", ".claude/\xff": "-> ../\xfe x", "\xfe x": ""}, Options{}, []string{".claude", "\xfe x"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, tt.files)
			slices.Sort(tt.want)
			if got := relative(find(t, dir, tt.o).Paths(), dir); !slices.Equal(got, tt.want) {
				t.Errorf("%q\nwant %q", got, tt.want)
			}
		})
	}
	t.Run("hooks that are a link", func(t *testing.T) {
		dir := tree(t, repo(".git/", map[string]string{"tools/hooks/pre-commit": ""}))
		must(t, os.RemoveAll(dir+"/.git/hooks"))
		must(t, os.Symlink("../tools/hooks", dir+"/.git/hooks"))
		want := []string{".git/config", ".git/hooks", "tools/hooks"}
		if got := relative(find(t, dir, Options{}).Paths(), dir); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestFindElsewhere(t *testing.T) {
	dir := tree(t, repo("ws/.git/", repo("other/.git/", map[string]string{"file": ""})))
	w := find(t, dir+"/ws", Options{}, dir+"/other", dir+"/file")
	if got := relative(w.Paths(), dir); !slices.Equal(got, []string{"other/.git/config", "other/.git/hooks", "ws/.git/config", "ws/.git/hooks"}) {
		t.Errorf("%q", got)
	}
	// Where the workspace is read-only, only the rest can change.
	for _, tt := range []struct{ write, want []string }{
		{[]string{dir + "/other"}, []string{"other/.git/config", "other/.git/hooks"}},
		{nil, []string{}},
	} {
		w, err := Find(sandbox.Profile{Workspace: dir + "/ws", ReadOnly: true, Write: tt.write}, Options{})
		must(t, err)
		if got := w.Paths(); got == nil || !slices.Equal(relative(got, dir), tt.want) {
			t.Errorf("%q", got)
		}
	}
}

// The user's configuration of git may name hooks that lie in each repository.
func TestFindByTheUsersConfiguration(t *testing.T) {
	dir := tree(t, repo("ws/.git/", map[string]string{
		"home/.gitconfig": "[core]\nhooksPath = tools/hooks\n[include]\npath = ~/more\n", "home/more": "[core]\nhooksPath = other\n", "ws/tools/hooks/x": "", "ws/other/y": "",
	}))
	w, err := Find(sandbox.Profile{Workspace: dir + "/ws", Home: dir + "/home"}, Options{})
	must(t, err)
	if got := relative(w.Paths(), dir+"/ws"); !slices.Equal(got, []string{".git/config", ".git/hooks", "other", "tools/hooks"}) {
		t.Errorf("%q", got)
	}
}

func TestUnknown(t *testing.T) {
	dir := tree(t, repo(".git/", map[string]string{".claude/todo/": "", "deploy": ""}))
	o := Options{Protect: []string{"deploy"}, Unprotect: []string{".git/config", ".git/confg", ".claude/todo", ".claud", ".envrc", ".github", "deploy", "src", "sub/.git/hooks"}}
	if got := find(t, dir, o).Unknown(); !slices.Equal(got, []string{".git/confg", ".claud", "src"}) {
		t.Errorf("%q", got)
	}
}

func TestHarmless(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "[core]\nbare = true\n[user]\nname = x": true, "[remote \"o\"]\nurl = ext::sh -c x": false, "[core]\nfsmonitor = x": false, "[alias]\nx = !y": false, "[core]\nhooksPath=h": false, "[include]\npath=x": false,
	} {
		if harmless(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func TestFindRefuses(t *testing.T) {
	dir := tree(t, repo(".git/", map[string]string{".claude/todo/": "", "l": "-> .claude"}))
	for _, tt := range []struct {
		name string
		o    Options
		why  string
	}{
		{"the workspace", Options{Unprotect: []string{"."}}, "name the files"},
		{"absent, in a protected directory", Options{Unprotect: []string{".claude/new"}}, "protected as a whole"},
		{"all protected", Options{Protect: []string{"."}}, "--read-only"},
		{"all protected, from above", Options{Protect: []string{".."}}, "--read-only"},
	} {
		_, err := Find(sandbox.Profile{Workspace: dir}, tt.o)
		var name *NameError
		if !errors.As(err, &name) || !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	w := find(t, dir, Options{Unprotect: []string{".claude/todo"}})
	if !slices.Equal(w.Open(), []string{dir + "/.claude/todo"}) || !slices.Contains(w.Paths(), dir+"/.claude") {
		t.Errorf("%q %q", w.Open(), w.Paths())
	}
}

// More than can be protected is refused, not left open.
func TestFindBounds(t *testing.T) {
	dir := tree(t, map[string]string{".claude/": ""})
	for i := range maxItems {
		must(t, os.WriteFile(filepath.Join(dir, ".claude", strings.Repeat("x", i%200+1)+string(rune('a'+i/200))), nil, 0o644))
	}
	if _, err := Find(sandbox.Profile{Workspace: dir}, Options{}); err == nil || !strings.Contains(err.Error(), "--unprotect") {
		t.Errorf("%v", err)
	}
	if _, err := Find(sandbox.Profile{Workspace: dir}, Options{Unprotect: []string{".claude"}}); err != nil {
		t.Error(err)
	}
	many := tree(t, repo(".git/", map[string]string{".git/modules/": "", ".git/worktrees/": ""}))
	for i := range maxItems {
		must(t, os.Mkdir(filepath.Join(many, ".git/modules", strings.Repeat("x", i%200+1)+string(rune('a'+i/200))), 0o755))
	}
	if _, err := Find(sandbox.Profile{Workspace: many}, Options{}); err == nil || !strings.Contains(err.Error(), "--unprotect") {
		t.Errorf("%v", err)
	}
	if _, err := Find(sandbox.Profile{Workspace: many}, Options{Unprotect: []string{".git/modules"}}); err != nil {
		t.Error(err)
	}
	// Modules in modules, links in links: an end is found.
	deep := tree(t, map[string]string{".git/HEAD": "", ".git/modules/" + strings.Repeat("a/", 30) + "HEAD": "", ".envrc": "-> .envrc"})
	if got := relative(find(t, deep, Options{}).Paths(), deep); !slices.Equal(got, []string{".envrc", ".git/modules/" + strings.Repeat("a/", maxDepth) + "a"}) {
		t.Errorf("%q", got)
	}
	large := tree(t, repo(".git/", map[string]string{".git/config": strings.Repeat("#", maxRead+1)}))
	if _, err := Find(sandbox.Profile{Workspace: large}, Options{}); !errors.Is(err, errTooLarge) {
		t.Errorf("a configuration that is not read: %v", err)
	}
}

// Settings of git in the forms that git accepts.
func TestSettings(t *testing.T) {
	var got []string
	settings("# c\n[core]\n\tHooksPath = a # b\n ; x = y\n[Core \"sub\"] bare\n[remote \"a]b\"] url = \"q # \\\"r\" ; c\nk = one \\\n two\n[include]path=p\r\n[broken\nz = 1\n", func(k, v string) {
		got = append(got, k+"="+v)
	})
	want := []string{"core.hookspath=a", `remote.url=q # "r`, "remote.k=one  two", "include.path=p", "include.z=1"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzSettings(f *testing.F) {
	f.Add("[core]\nhooksPath = \"x\\\"\n[a \"]\"] b")
	f.Fuzz(func(_ *testing.T, text string) { settings(text, func(_, _ string) {}) })
}

// lines is what a report says, sorted.
func lines(trust *sandbox.Trust, dir string) []string {
	list := []string{}
	for _, f := range trust.Findings {
		line := string(f.Change) + " " + string(f.Kind) + " " + strings.TrimPrefix(f.Path, dir+"/")
		if f.Undone {
			line += " undone"
		}
		if f.Why == "" {
			line += " for no reason"
		}
		list = append(list, line)
	}
	slices.Sort(list)
	return list
}

// settle lets the clock of files move on: what was made before must be older.
func settle() { time.Sleep(20 * time.Millisecond) }
