package sbx

import (
	"slices"
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// changesGitConfig says that a command calls git to do what it writes down in the
// configuration of the repository. It is for a hint, not for a decision: what git
// is called with by other programs is not seen.
func changesGitConfig(s *shell.Script) bool { return callsGit(s, writesConfig) }

// removesWorktree says that it calls git to remove or move a linked worktree.
func removesWorktree(s *shell.Script) bool {
	return callsGit(s, func(command string, words []string) bool {
		return command == "worktree" && len(words) > 0 && slices.Contains([]string{"remove", "move", "prune"}, words[0])
	})
}

func callsGit(s *shell.Script, how func(command string, words []string) bool) bool {
	return s != nil && slices.ContainsFunc(s.Calls, func(c shell.Call) bool {
		if c.Name() != "git" {
			return false
		}
		return how(gitCommand(c.Args()))
	})
}

// gitCommand is the subcommand and what follows it.
func gitCommand(args []shell.Word) (command string, words []string) {
	skip := false
	for _, w := range args {
		switch {
		case command != "":
			words = append(words, w.Value)
		case skip:
			skip = false
		case w.Value == "-C" || w.Value == "-c" || w.Value == "--git-dir" || w.Value == "--work-tree":
			skip = true
		case !strings.HasPrefix(w.Value, "-"):
			command = w.Value
		}
	}
	return command, words
}

// writesConfig goes by the manual pages of git.
func writesConfig(command string, words []string) bool {
	any := func(list ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool {
			name, _, _ := strings.Cut(w, "=")
			return slices.Contains(list, name)
		})
	}
	switch command {
	case "config":
		return !any("--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l", "get", "list", "--global", "--system")
	case "remote":
		return any("add", "remove", "rm", "rename", "set-url", "set-branches")
	case "submodule":
		return any("add", "init", "deinit", "update", "sync", "set-url", "set-branch")
	case "branch":
		return any("-m", "-M", "-c", "-C", "-u", "-t", "-d", "-D", "--move", "--copy", "--delete", "--track", "--set-upstream-to", "--unset-upstream", "--edit-description")
	case "checkout", "switch":
		return any("-t", "--track") || any("-b", "-c", "-B", "-C") && slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "/") })
	case "push":
		return any("-u", "--set-upstream")
	case "lfs", "sparse-checkout", "init":
		return true
	}
	return false
}
