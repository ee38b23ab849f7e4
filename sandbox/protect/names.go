package protect

import "github.com/sbx-run/sbx/sandbox"

// name is a fixed name below a writable directory.
type name struct {
	path string
	kind sandbox.TrustKind
	// guard says that it stays as it is where it exists. Otherwise only its
	// appearing is reported: to change it is usual work.
	guard bool
	why   string
}

const (
	whyAgent    = "coding agents run what it names"
	whyEditor   = "editors run what it names"
	whyShell    = "a shell that starts here, or with this as its home, runs it"
	whyCI       = "a CI system runs it with its own credentials"
	whyBuild    = "a build or a tool that is run here runs what it names"
	whyGit      = "git reads from it which programs to run"
	whyHook     = "git runs it"
	whyTool     = "tools that are run here take their settings from it"
	whyNamed    = "named as protected"
	whyLink     = "a program that follows it leaves the workspace"
	whySetID    = "it runs with the rights of its owner"
	whyNested   = "git run inside reads its configuration and runs its hooks"
	whyShared   = "it can be changed by its other name"
	whyItself   = "it is the program that confines commands"
	whyTodo     = "git goes on with it, and it names programs to run"
	whyWorktree = "git finds its configuration and hooks by it"
)

// names lists what is looked for in every writable directory. Files of git are
// found by what git itself goes by, see gitDir.
func names() []name {
	return []name{
		{".claude", sandbox.TrustSettings, true, whyAgent},
		{".codex", sandbox.TrustSettings, true, whyAgent},
		{".gemini", sandbox.TrustSettings, true, whyAgent},
		{".cursor", sandbox.TrustSettings, true, whyAgent},
		{".mcp.json", sandbox.TrustSettings, true, whyAgent},
		{".vscode/tasks.json", sandbox.TrustSettings, true, whyEditor},
		{".vscode/launch.json", sandbox.TrustSettings, false, whyEditor},
		{".vscode/settings.json", sandbox.TrustSettings, false, whyEditor},
		{".idea/runConfigurations", sandbox.TrustSettings, false, whyEditor},
		{".windsurf", sandbox.TrustSettings, false, whyAgent},
		{".opencode", sandbox.TrustSettings, false, whyAgent},
		{"opencode.json", sandbox.TrustSettings, false, whyAgent},
		{".aider.conf.yml", sandbox.TrustSettings, false, whyAgent},
		{".continue", sandbox.TrustSettings, false, whyAgent},
		{".kiro", sandbox.TrustSettings, false, whyAgent},
		{".roo", sandbox.TrustSettings, false, whyAgent},
		{".amazonq", sandbox.TrustSettings, false, whyAgent},
		{".zed/tasks.json", sandbox.TrustSettings, false, whyEditor},
		{".zed/settings.json", sandbox.TrustSettings, false, whyEditor},
		{".exrc", sandbox.TrustSettings, false, whyEditor},
		{".vimrc", sandbox.TrustSettings, false, whyEditor},
		{".nvimrc", sandbox.TrustSettings, false, whyEditor},
		{".nvim.lua", sandbox.TrustSettings, false, whyEditor},
		{".dir-locals.el", sandbox.TrustSettings, false, whyEditor},
		{".gdbinit", sandbox.TrustSettings, false, whyEditor},
		{".lldbinit", sandbox.TrustSettings, false, whyEditor},
		{".envrc", sandbox.TrustShell, true, "direnv runs it"},
		{".husky", sandbox.TrustHook, true, whyHook},
		{".sbx.json", sandbox.TrustSettings, true, "sbx takes settings from it"},
		{".gitconfig", sandbox.TrustGitConfig, true, whyGit},

		{".bashrc", sandbox.TrustShell, true, whyShell},
		{".bash_profile", sandbox.TrustShell, true, whyShell},
		{".bash_login", sandbox.TrustShell, true, whyShell},
		{".bash_logout", sandbox.TrustShell, true, whyShell},
		{".bash_aliases", sandbox.TrustShell, true, whyShell},
		{".profile", sandbox.TrustShell, true, whyShell},
		{".zshrc", sandbox.TrustShell, true, whyShell},
		{".zshenv", sandbox.TrustShell, true, whyShell},
		{".zprofile", sandbox.TrustShell, true, whyShell},
		{".zlogin", sandbox.TrustShell, true, whyShell},
		{".zlogout", sandbox.TrustShell, true, whyShell},
		{".kshrc", sandbox.TrustShell, true, whyShell},
		{".mkshrc", sandbox.TrustShell, true, whyShell},
		{".cshrc", sandbox.TrustShell, true, whyShell},
		{".tcshrc", sandbox.TrustShell, true, whyShell},
		{".login", sandbox.TrustShell, true, whyShell},
		{".config/fish", sandbox.TrustShell, true, whyShell},

		{".npmrc", sandbox.TrustSettings, false, whyTool},
		{".yarnrc.yml", sandbox.TrustSettings, false, whyTool},
		{".yarnrc", sandbox.TrustSettings, false, whyTool},
		{".yarn/plugins", sandbox.TrustSettings, false, whyTool},
		{".pnp.cjs", sandbox.TrustSettings, false, whyTool},
		{".cargo/config", sandbox.TrustSettings, false, whyTool},
		{".cargo/config.toml", sandbox.TrustSettings, false, whyTool},
		{".mise.toml", sandbox.TrustSettings, false, whyTool},
		{".mvn", sandbox.TrustSettings, false, whyTool},
		{".bundle/config", sandbox.TrustSettings, false, whyTool},
		{".lfsconfig", sandbox.TrustSettings, false, whyTool},
		{".pylintrc", sandbox.TrustSettings, false, whyTool},
		{".tmux.conf", sandbox.TrustSettings, false, whyTool},
		{".ripgreprc", sandbox.TrustSettings, false, whyTool},
		{".gitmodules", sandbox.TrustSettings, false, whyTool},
		{".gitattributes", sandbox.TrustSettings, false, whyTool},

		{".github/workflows", sandbox.TrustWorkflow, false, whyCI},
		{".gitea/workflows", sandbox.TrustWorkflow, false, whyCI},
		{".forgejo/workflows", sandbox.TrustWorkflow, false, whyCI},
		{".circleci", sandbox.TrustWorkflow, false, whyCI},
		{".woodpecker", sandbox.TrustWorkflow, false, whyCI},
		{".gitlab-ci.yml", sandbox.TrustWorkflow, false, whyCI},
		{".travis.yml", sandbox.TrustWorkflow, false, whyCI},
		{".drone.yml", sandbox.TrustWorkflow, false, whyCI},
		{"azure-pipelines.yml", sandbox.TrustWorkflow, false, whyCI},
		{"bitbucket-pipelines.yml", sandbox.TrustWorkflow, false, whyCI},
		{"Jenkinsfile", sandbox.TrustWorkflow, false, whyCI},

		{"Makefile", sandbox.TrustBuild, false, whyBuild},
		{"GNUmakefile", sandbox.TrustBuild, false, whyBuild},
		{"makefile", sandbox.TrustBuild, false, whyBuild},
		{"package.json", sandbox.TrustBuild, false, whyBuild},
		{".pre-commit-config.yaml", sandbox.TrustBuild, false, whyBuild},
		{".devcontainer", sandbox.TrustBuild, false, whyBuild},
		{".devcontainer.json", sandbox.TrustBuild, false, whyBuild},
	}
}

// perEntry says that in a directory of this kind the files count, one by one:
// that the directory appears says nothing.
func perEntry(k sandbox.TrustKind) bool {
	return k == sandbox.TrustHook || k == sandbox.TrustWorkflow
}
