package probes

import "os"

// file is one of the room's.
type file struct {
	path string // below the base; a directory ends in a slash
	text string // SECRET stands for the room's secret
	mode os.FileMode
}

// outside is what must stay as it is, or must not be read.
func outsideFiles() []file {
	return []file{
		{"out/", "", 0o755},
		{"out/f", "as it was\n", 0o644},
		{"out/empty/", "", 0o755},
		{"out/d/", "", 0o755},
		{"out/d/f", "as it was\n", 0o644},
		{"extra/", "", 0o777},
		{"hide/", "", 0o755},
		{"hide/f", "SECRET\n", 0o644},
		{"bin/", "", 0o755},
		{"home/", "", 0o755},
		{"home/.ssh/", "", 0o755},
		{"home/.ssh/id_ed25519", "SECRET\n", 0o644},
		{"home/.aws/", "", 0o755},
		{"home/.aws/credentials", "SECRET\n", 0o644},
		{"home/.gnupg/", "", 0o755},
		{"home/.gnupg/secring.gpg", "SECRET\n", 0o644},
		{"home/.docker/", "", 0o755},
		{"home/.docker/config.json", "SECRET\n", 0o644},
		{"home/.kube/", "", 0o755},
		{"home/.kube/config", "SECRET\n", 0o644},
		{"home/.config/", "", 0o755},
		{"home/.config/gh/", "", 0o755},
		{"home/.config/gh/hosts.yml", "SECRET\n", 0o644},
		{"home/.config/gcloud/", "", 0o755},
		{"home/.config/gcloud/credentials.db", "SECRET\n", 0o644},
		{"home/.config/google-chrome/", "", 0o755},
		{"home/.config/google-chrome/Cookies", "SECRET\n", 0o644},
		{"home/.config/sbx/", "", 0o755},
		{"home/.config/sbx/config.json", "SECRET\n", 0o644},
		{"home/.local/", "", 0o755},
		{"home/.local/state/", "", 0o755},
		{"home/.local/state/sbx/", "", 0o755},
		{"home/.local/state/sbx/audit", "SECRET\n", 0o644},
		{"home/.pepe/", "", 0o755},
		{"home/.pepe/config.json", "{\"a_key_of_another_program\": \"SECRET\"}\n", 0o644},
		{"home/.netrc", "SECRET\n", 0o644},
		{"home/.git-credentials", "SECRET\n", 0o644},
		{"home/.npmrc", "SECRET\n", 0o644},
		{"home/.pypirc", "SECRET\n", 0o644},
		{"home/.pgpass", "SECRET\n", 0o644},
		{"home/.bash_history", "SECRET\n", 0o644},
		{"home/.claude/", "", 0o755},
		{"home/.claude/.credentials.json", "SECRET\n", 0o644},
		{"home/.codex/", "", 0o755},
		{"home/.codex/auth.json", "SECRET\n", 0o644},
		{"home/.bashrc", "as it was\n", 0o644},
		{"home/code", "as it was\n", 0o644},
	}
}

// workspaceFiles are the command's own, and those that others trust later.
func workspaceFiles() []file {
	return append([]file{
		{"ws/", "", 0o755},
		{"ws/own", "own\n", 0o644},
		{"ws/a/", "", 0o755},
		{"ws/a/f", "f\n", 0o644},
		{"ws/b/", "", 0o755},
		{"ws/.git/", "", 0o755},
		{"ws/.git/HEAD", "ref: refs/heads/main\n", 0o644},
		{"ws/.git/objects/", "", 0o755},
		{"ws/.git/refs/", "", 0o755},
		{"ws/.git/refs/heads/", "", 0o755},
	}, trustedFiles()...)
}

// trustedFiles are read or run by programs outside.
func trustedFiles() []file {
	return []file{
		{"ws/.git/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[user]\n\tname = probe\n\temail = probe@example.com\n", 0o644},
		{"ws/.git/hooks/", "", 0o755},
		{"ws/.git/hooks/pre-commit.sample", "exit 0\n", 0o644},
		{"ws/.claude/", "", 0o755},
		{"ws/.claude/settings.json", "{}\n", 0o644},
		{"ws/.codex/", "", 0o755},
		{"ws/.codex/config.toml", "\n", 0o644},
		{"ws/.gemini/", "", 0o755},
		{"ws/.gemini/settings.json", "{}\n", 0o644},
		{"ws/.cursor/", "", 0o755},
		{"ws/.cursor/mcp.json", "{}\n", 0o644},
		{"ws/.vscode/", "", 0o755},
		{"ws/.vscode/tasks.json", "{}\n", 0o644},
		{"ws/.husky/", "", 0o755},
		{"ws/.husky/pre-commit", "exit 0\n", 0o755},
		{"ws/.mcp.json", "{}\n", 0o644},
		{"ws/.envrc", "\n", 0o644},
		{"ws/.bashrc", "\n", 0o644},
	}
}
