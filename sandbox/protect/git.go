package protect

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
)

// How git finds its configuration and hooks: gitrepository-layout(5),
// git-config(1), git-worktree(1) and the git directories of submodules.

// gitSubject is a file of git that says what to run or where to look.
func gitSubject() subject {
	return subject{kind: sandbox.TrustGitConfig, guard: true, why: whyGit}
}

// repository looks at the repository whose files lie in top, and at top itself
// where that is a git directory.
func (f *finder) repository(top string, t top) {
	if t.git {
		f.protectLinks(top, ".git")
		dot, p := follow(top, ".git", nil)
		switch {
		case p.dir():
			f.gitDir(dot, top)
		case p.regular():
			f.gitFile(dot, top)
		}
	}
	if t.head && isGitDir(top) {
		f.gitDir(top, "")
	}
	// The user's own configuration may name hooks that lie in each repository.
	for _, file := range f.userConfigs() {
		f.heed(f.userSays(file), file, "", top, 0)
	}
}

// userConfigs lists where git looks for what holds for all repositories.
func (f *finder) userConfigs() []string {
	files := []string{"/etc/gitconfig"}
	if f.home != "" {
		files = append(files, filepath.Join(f.home, ".gitconfig"), filepath.Join(f.home, ".config/git/config"))
	}
	return files
}

// harmless says that a configuration names nothing to run: it holds only what git
// writes by itself when it makes a repository, a remote or a branch.
func harmless(config string) bool {
	fine := true
	settings(config, func(key, value string) {
		switch key {
		case "core.repositoryformatversion", "core.filemode", "core.bare", "core.logallrefupdates", "core.ignorecase", "core.precomposeunicode", "core.symlinks",
			"remote.fetch", "branch.remote", "branch.merge", "branch.rebase", "user.name", "user.email", "submodule.active":
		case "remote.url", "submodule.url":
			fine = fine && !strings.HasPrefix(value, "ext::") && !strings.HasPrefix(value, "-")
		default:
			fine = false
		}
	})
	return fine
}

// protectLinks protects the links that a path leads through, not what they lead to.
func (f *finder) protectLinks(at, rest string) {
	s := gitSubject()
	s.origin = joined(at, rest)
	follow(at, rest, func(link string, p stamp) { f.note(link, p, s) })
}

// isGitDir goes by what git goes by.
func isGitDir(dir string) bool {
	return lookAt(filepath.Join(dir, "HEAD")).exists && lookAt(filepath.Join(dir, "objects")).exists && lookAt(filepath.Join(dir, "refs")).exists
}

// gitFile protects a file that stands for a git directory elsewhere, and looks
// there.
func (f *finder) gitFile(file, top string) {
	s := gitSubject()
	s.why = whyWorktree
	dir, p := "", stamp{}
	text, ok := strings.CutPrefix(f.read(file), "gitdir:")
	if target := strings.TrimSpace(text); ok && target != "" {
		dir, p = f.path(filepath.Dir(file), target)
	}
	if p.dir() && filepath.Base(filepath.Dir(dir)) == "worktrees" {
		s.worktree = dir
	}
	f.look(filepath.Dir(file), filepath.Base(file), s)
	if p.dir() {
		f.gitDir(dir, top)
	}
}

// path resolves what a file of git says, relative to a directory, and protects
// the links on the way.
func (f *finder) path(base, said string) (string, stamp) {
	f.protectLinks(base, said)
	return follow(base, said, nil)
}

// gitDir protects what a git directory, a real one, says about programs to run.
// top is where its files are; "" when they are nowhere.
func (f *finder) gitDir(dir, top string) {
	if f.gitDirs[dir] {
		return
	}
	if len(f.gitDirs) == maxItems {
		f.err = fmt.Errorf("more than %d git directories, %s is one too many", maxItems, dir)
		return
	}
	f.gitDirs[dir] = true
	f.look(dir, "hooks", subject{kind: sandbox.TrustHook, guard: true, why: whyHook})
	for _, name := range []string{"config", "config.worktree"} {
		file, _ := f.look(dir, name, gitSubject())
		if w := f.config(file, dir, top, 0); w != "" {
			top = w
		}
	}
	file, _ := f.look(dir, "commondir", gitSubject())
	if common := strings.TrimSpace(f.read(file)); common != "" {
		if real, p := f.path(dir, common); p.dir() {
			f.gitDir(real, top)
		}
	}
	for _, name := range []string{"rebase-merge/git-rebase-todo", "rebase-merge/git-rebase-todo.backup", "sequencer/todo"} {
		if runsPrograms(f.read(filepath.Join(dir, name))) {
			f.look(dir, name, subject{kind: sandbox.TrustHook, why: whyTodo})
		}
	}
	f.modules(filepath.Join(dir, "modules"), 0)
	f.worktrees(filepath.Join(dir, "worktrees"))
}

// runsPrograms says that a list of steps that git is to go on with holds a command.
func runsPrograms(todo string) bool {
	for line := range strings.Lines(todo) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "exec" || word == "x" {
			return true
		}
	}
	return false
}

// maxIncludes is git's own limit on configurations that include each other.
const maxIncludes = 10

// config reads a configuration for what leads further: directories of hooks,
// included files, and where the files of the repository are, which it returns.
func (f *finder) config(file, dir, top string, depth int) (worktree string) {
	if depth > maxIncludes {
		return ""
	}
	return f.heed(f.says(file, lookAt(file)), file, dir, top, depth)
}

// heed looks where the settings of a file lead.
func (f *finder) heed(list []setting, file, dir, top string, depth int) (worktree string) {
	var hooks []string
	for _, said := range list {
		value := said.value
		if rest, ok := strings.CutPrefix(value, "~/"); ok && f.home != "" {
			value = filepath.Join(f.home, rest)
		}
		switch {
		case value == "" || strings.HasPrefix(value, "~"):
		case said.key == "core.hookspath":
			hooks = append(hooks, value)
		case said.key == "core.worktree" && dir != "":
			if real, p := f.path(dir, value); p.dir() {
				worktree = real
			}
		case said.key == "include.path" || said.key == "includeif.path":
			if real, p := f.look(filepath.Dir(file), value, gitSubject()); p.regular() {
				f.config(real, dir, top, depth+1)
			}
		}
	}
	if worktree != "" {
		top = worktree
		if dot, p := follow(top, ".git", nil); p.regular() {
			f.look(filepath.Dir(dot), filepath.Base(dot), subject{kind: sandbox.TrustGitConfig, guard: true, why: whyWorktree})
		}
	}
	for _, h := range hooks {
		if top != "" || filepath.IsAbs(h) {
			f.look(top, h, subject{kind: sandbox.TrustHook, guard: true, why: whyHook})
		}
	}
	return worktree
}

// maxDepth bounds the names of submodules, which may hold slashes.
const maxDepth = 8

// modules looks at the git directories of submodules.
func (f *finder) modules(dir string, depth int) {
	if f.free(dir) || !lookAt(dir).dir() {
		return
	}
	if depth > maxDepth { // what is not looked at stays as it is
		f.look(filepath.Dir(dir), filepath.Base(dir), gitSubject())
		return
	}
	for _, name := range f.list(dir) {
		at := filepath.Join(dir, name)
		switch p := lookAt(at); {
		case p.link():
			f.look(dir, name, gitSubject())
		case !p.dir():
		case lookAt(filepath.Join(at, "HEAD")).exists:
			f.gitDir(at, "")
		default:
			f.modules(at, depth+1)
		}
	}
}

// worktrees looks at the linked worktrees of a git directory.
func (f *finder) worktrees(dir string) {
	if f.free(dir) || !lookAt(dir).dir() {
		return
	}
	for _, name := range f.list(dir) {
		at := filepath.Join(dir, name)
		if !lookAt(at).dir() {
			continue
		}
		s := gitSubject()
		f.look(at, "config.worktree", s)
		s.why, s.worktree = whyWorktree, at
		f.look(at, "commondir", s)
		f.look(at, "gitdir", s)
		if said := strings.TrimSpace(f.read(filepath.Join(at, "gitdir"))); said != "" {
			if file, p := f.path(at, said); p.regular() && f.inRoots(file) {
				f.look(filepath.Dir(file), filepath.Base(file), s)
			}
		}
		f.gitDirs[at] = true
	}
}

// setting is a variable of a configuration, its name as settings gives it.
type setting struct{ key, value string }

// says lists the settings of a file that lead further. p is the file as it was a
// moment ago. What a command can write is read each time: a program that has a
// file in its memory changes it without a new time.
func (f *finder) says(file string, p stamp) []setting {
	if !p.regular() {
		return nil
	}
	if f.inRoots(file) {
		return leading(f.read(file))
	}
	if have, ok := f.memory.recall(file, p, f.start); ok {
		return have.says
	}
	list := leading(f.read(file))
	f.memory.keep(file, p, f.start, memo{says: list})
	return list
}

// userSays is says for one of the user's own configurations, which may be a link:
// home directories are kept in repositories. One that no command can write is
// looked at once for both searches of a run.
func (f *finder) userSays(file string) []setting {
	if have, ok := f.user[file]; ok {
		return have
	}
	real, p := file, lookAt(file)
	if p.link() {
		real, p = f.look(filepath.Dir(file), filepath.Base(file), gitSubject())
	}
	list := f.says(real, p)
	if real == file && !f.inRoots(file) {
		f.user[file] = list
	}
	return list
}

// leading gives the settings of a text that say where to look next.
func leading(text string) []setting {
	var list []setting
	settings(text, func(key, value string) {
		switch key {
		case "core.hookspath", "core.worktree", "include.path", "includeif.path":
			list = append(list, setting{key, value})
		}
	})
	return list
}

// settings calls each with the variables of a configuration of git, their names
// in small letters and without the subsection.
func settings(text string, each func(key, value string)) {
	section := ""
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\\\n", "")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "["); ok {
			head, after, found := strings.Cut(rest, "]")
			if quote := strings.IndexByte(rest, '"'); quote >= 0 && quote < len(head) {
				// A subsection may hold a bracket.
				if end := strings.LastIndex(rest, `"]`); end >= 0 {
					head, after, found = rest[:end], rest[end+2:], true
				}
			}
			if !found {
				continue
			}
			section, _, _ = strings.Cut(strings.ToLower(head), " ")
			section, _, _ = strings.Cut(section, `"`)
			line = strings.TrimSpace(after)
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || line[0] == '#' || line[0] == ';' {
			continue
		}
		each(section+"."+strings.ToLower(strings.TrimSpace(key)), plainValue(strings.TrimSpace(value)))
	}
}

// plainValue takes comments, quotes and escapes away.
func plainValue(value string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '\\' && i+1 < len(value):
			i++
			b.WriteByte(value[i])
		case c == '"':
			quoted = !quoted
		case (c == '#' || c == ';') && !quoted:
			return strings.TrimSpace(b.String())
		default:
			b.WriteByte(c)
		}
	}
	return strings.TrimSpace(b.String())
}
