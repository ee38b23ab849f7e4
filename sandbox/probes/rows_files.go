package probes

import (
	"path"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
)

// Shorthands: most rows test one control.
func writes() []sandbox.Control   { return []sandbox.Control{sandbox.WritesConfined} }
func metadata() []sandbox.Control { return []sandbox.Control{sandbox.MetadataConfined} }
func secrets() []sandbox.Control  { return []sandbox.Control{sandbox.CredentialsHidden} }
func late() []sandbox.Control     { return []sandbox.Control{sandbox.CredentialsLate} }
func stats() []sandbox.Control    { return []sandbox.Control{sandbox.StatHidden} }
func calls() []sandbox.Control    { return []sandbox.Control{sandbox.SyscallFilter} }
func hooks() []sandbox.Control    { return []sandbox.Control{sandbox.HooksProtected} }

// Identifiers P01 to P99 are those of docs/backends.md; a letter tells the acts
// of one row apart. N rows were added since.

func fileRows() []Row {
	const group = "writes and paths"
	rows := []Row{
		{ID: "P00", Try: "the probe program itself runs", Want: Works, Act: []string{"nothing"}},
		{ID: "P01", Try: "make a file outside", Controls: writes(), Act: []string{"create", "$O/new"}},
		{ID: "P01b", Try: "make a file outside, from a shell", Controls: writes(), Shell: `echo x >"$O/new"`},
		{ID: "P01c", Try: "change a file outside", Controls: writes(), Act: []string{"write", "$O/f"}},
		{ID: "P01d", Try: "append to a file outside", Controls: writes(), Act: []string{"append", "$O/f"}},
		{ID: "P01e", Try: "make a directory outside", Controls: writes(), Act: []string{"mkdir", "$O/new"}},
		{ID: "P01f", Try: "make a symbolic link outside", Controls: writes(), Act: []string{"symlink", "/etc", "$O/new"}},
		{ID: "P01g", Try: "make a fifo outside", Controls: writes(), Act: []string{"mkfifo", "$O/new"}},
		{ID: "P02", Try: "write and make directories in the workspace", Want: Works, Controls: writes(), Shell: `cd "$W" && echo x >a1 && mkdir -p d/e && echo y >d/e/f && test -s d/e/f`},
		{ID: "P03", Try: "leave the workspace by ..", Controls: writes(), Act: []string{"create", "$W/../out/new"}},
		{ID: "P03b", Try: "leave the workspace from /, by a relative path", Controls: writes(), Shell: `cd / && echo x >".$O/new"`},
		{ID: "P04", Try: "write through a symbolic link that leads outside", Controls: writes(), Act: []string{"symlink-write", "$O/f", "$W/l"}},
		{ID: "P04b", Try: "make a file through a link to a directory outside", Controls: writes(), Shell: `cd "$W" && ln -s "$O" l && echo x >l/new`},
		{ID: "P07", Try: "link a file outside into the workspace and write to it", Controls: writes(), Act: []string{"link-write", "$O/f", "$W/h"}},
		{ID: "P07b", Try: "link a file of the workspace to a place outside", Controls: writes(), Act: []string{"link", "$W/own", "$O/new"}},
		{ID: "P08", Try: "write to a file that the caller linked into the workspace", Beyond: "the file is the workspace's own as much as the other's: no rule by path can tell"},
		{ID: "P09a", Try: "move a file from outside into the workspace", Controls: writes(), Act: []string{"rename", "$O/f", "$W/f"}},
		{ID: "P09b", Try: "move a file of the workspace outside", Controls: writes(), Act: []string{"rename", "$W/own", "$O/new"}},
		{ID: "P09c", Try: "move a file of the workspace over one outside", Controls: writes(), Act: []string{"rename", "$W/own", "$O/f"}},
		{ID: "P09d", Try: "exchange a file of the workspace with one outside", Controls: writes(), Act: []string{"exchange", "$W/own", "$O/f"}},
		{ID: "P10a", Try: "empty a file outside by opening it", Controls: writes(), Act: []string{"open-truncate", "$O/f"}},
		{ID: "P10b", Try: "empty a file outside by truncate", Controls: writes(), Act: []string{"truncate", "$O/f"}},
		{ID: "P10c", Try: "empty a file outside that is opened for reading", Controls: writes(), Act: []string{"read-truncate", "$O/f"}},
		{ID: "P11a", Try: "remove a file outside", Controls: writes(), Act: []string{"unlink", "$O/f"}},
		{ID: "P11b", Try: "remove a directory outside", Controls: writes(), Act: []string{"rmdir", "$O/empty"}},
		{ID: "P12", Try: "set the times of a file outside", Controls: metadata(), Act: []string{"utime", "$O/f"}},
		{ID: "P12b", Try: "set the times of a directory outside", Controls: metadata(), Act: []string{"utime", "$O/d"}},
		{ID: "P12c", Try: "set the times by a descriptor that was opened for reading", Controls: metadata(), Act: []string{"futime", "$O/f"}},
		{ID: "P13a", Try: "change the mode of a file outside", Controls: metadata(), Act: []string{"chmod", "$O/f"}},
		{ID: "P13b", Try: "change the mode by a descriptor that was opened for reading", Controls: metadata(), Act: []string{"fchmod", "$O/f"}},
		{ID: "P13c", Try: "change the mode by /proc/self/fd", Controls: metadata(), Act: []string{"chmod-by-proc", "$O/f"}},
		{ID: "P13d", Try: "give a file outside to another user", Controls: metadata(), Act: []string{"chown", "$O/f"}, Needs: Needs{Root: true}},
		{ID: "P13e", Try: "set an extended attribute of a file outside", Controls: metadata(), Act: []string{"setxattr", "$O/f"}},
		{ID: "P13f", Try: "set an extended attribute by a descriptor that was opened for reading", Controls: metadata(), Act: []string{"fsetxattr", "$O/f"}},
		{ID: "P13g", Try: "set an inode flag of a file outside (chattr)", Controls: metadata(), Act: []string{"chattr", "$O/f"}},
		{ID: "P14", Try: "make a fifo in the workspace", Want: Works, Act: []string{"mkfifo", "$W/p"}},
		{ID: "P14b", Try: "make a character device in the workspace", Controls: []sandbox.Control{sandbox.NoCapabilities}, Act: []string{"mknod", "$W/z"}, Needs: Needs{Root: true}},
		{ID: "P14c", Try: "make a block device in the workspace", Controls: []sandbox.Control{sandbox.NoCapabilities}, Act: []string{"mknodat-block", "$W/z"}, Needs: Needs{Root: true}},
		{ID: "P15", Try: "write by /proc/self/root", Controls: writes(), Act: []string{"create", "/proc/self/root$O/new"}},
		{ID: "P15b", Try: "write by /proc/self/cwd and ..", Controls: writes(), Act: []string{"create", "/proc/self/cwd/../out/new"}},
		{ID: "P15c", Try: "write by the root of a process outside", Controls: writes(), Act: []string{"create", "/proc/$VICTIM/root$O/new"}},
		{ID: "P15d", Try: "write by the root of the first process", Controls: writes(), Act: []string{"create", "/proc/1/root$O/new"}, Needs: Needs{Root: true}},
		{ID: "N01", Try: "make a file in a directory that was opened as a path only", Controls: writes(), Act: []string{"dirfd-create", "$O"}},
		{ID: "N02", Try: "make a file without a name outside and give it one", Controls: writes(), Act: []string{"tmpfile-link", "$O"}},
		{ID: "N03", Try: "make a file outside by io_uring", Controls: writes(), Act: []string{"io-uring-open", "$O/new"}},
		{ID: "P17a", Try: "find a directory that the caller left open", Canary: Exit, Controls: []sandbox.Control{sandbox.DescriptorsShut}, Procedure: []string{"leak", "$O", "descriptors", "$O"}},
		{ID: "P17b", Try: "write to a file that the caller left open", Controls: []sandbox.Control{sandbox.DescriptorsShut}, Procedure: []string{"leak", "$O/f", "descriptor-write"}},
		{ID: "P19", Try: "write after the workspace was replaced by a link to the outside", Controls: writes(), Procedure: []string{"swap"}},
		{ID: "P20", Try: "run in a workspace that would confine nothing: /, the home, /tmp, none, a file, a broken link", Controls: writes(), Procedure: []string{"exec-refuses"}},
		{ID: "P23a", Try: "write to /dev/null and /dev/zero", Want: Works, Shell: `echo x >/dev/null && echo x >/dev/zero`},
		{ID: "P23b", Try: "read /dev/urandom and /dev/zero", Want: Works, Shell: `test "$(head -c4 /dev/urandom | wc -c)" -eq 4 && test "$(head -c4 /dev/zero | wc -c)" -eq 4`},
		{ID: "P24", Try: "open a disk or the machine's memory", Canary: Exit, Controls: writes(), Act: []string{"open-disk"}, Needs: Needs{Root: true}},
		{ID: "P26", Try: "write to TMPDIR", Want: Works, Shell: `echo x >"$TMPDIR/a" && rm "$TMPDIR/a"`},
		{ID: "P26b", Try: "make a file in the host's temp directory", Controls: writes(), Act: []string{"create", "$T/new"}},
		{ID: "P26d", Try: "make a file in /var/tmp", Controls: writes(), Act: []string{"create", "$VT/new"}},
		{ID: "P26c", Try: "write where the profile allows it", Want: Works, Act: []string{"create", "$B/extra/new"}},
		{ID: "P27a", Try: "open a control group for joining", Canary: Exit, Controls: writes(), Act: []string{"cgroup-join"}, Needs: Needs{Root: true}},
		{ID: "P27b", Try: "open /proc/sysrq-trigger for writing", Canary: Exit, Controls: writes(), Act: []string{"open-write", "/proc/sysrq-trigger"}, Needs: Needs{Root: true}},
		{ID: "P27c", Try: "open /proc/sys/kernel/core_pattern for writing", Canary: Exit, Controls: writes(), Act: []string{"open-write", "/proc/sys/kernel/core_pattern"}, Needs: Needs{Root: true}},
		{ID: "P27d", Try: "open /proc/sys/kernel/modprobe for writing", Canary: Exit, Controls: writes(), Act: []string{"open-write", "/proc/sys/kernel/modprobe"}, Needs: Needs{Root: true}},
		{ID: "P27e", Try: "open /proc/sys/vm/drop_caches for writing", Canary: Exit, Controls: writes(), Act: []string{"open-write", "/proc/sys/vm/drop_caches"}, Needs: Needs{Root: true}},
		{ID: "P27f", Try: "open /sys/kernel/mm/transparent_hugepage/enabled for writing", Canary: Exit, Controls: writes(), Act: []string{"open-write", "/sys/kernel/mm/transparent_hugepage/enabled"}, Needs: Needs{Root: true}},
		{ID: "P27g", Try: "open /dev/kmsg for writing", Canary: Exit, Controls: writes(), Act: []string{"open-write", "/dev/kmsg"}, Needs: Needs{Root: true}},
		{ID: "P28a", Try: "change sbx's configuration", Controls: writes(), Act: []string{"write", "$H/.pepe/config.json"}},
		{ID: "P28b", Try: "change sbx's state", Controls: writes(), Act: []string{"write", "$H/.local/state/sbx/audit"}},
		{ID: "P28c", Try: "change a start file of the user's shell", Controls: writes(), Act: []string{"append", "$H/.bashrc"}},
		{ID: "P29", Try: "move files and directories within the workspace", Want: Works, Controls: writes(), Shell: `cd "$W" && mv a/f b/f && mv a b/a2 && rmdir b/a2`},
		{ID: "P30", Try: "work in a workspace that is named by a symbolic link", Want: Works, NoControl: "it is about the command line", Procedure: []string{"exec-link"}},
		{ID: "N04", Try: "share memory by a file in /dev/shm", Want: Works, Act: []string{"shared-file"}},
		{ID: "N05", Try: "run as another user, as the profile says", Want: Works, NoControl: "it is about the identity", Setup: Setup{Nobody: true}, Procedure: []string{"nobody", "effective-uid", "65534"}},
		{ID: "N06", Try: "as that user, write to the workspace", Want: Works, NoControl: "it is about the identity", Setup: Setup{Nobody: true}, Procedure: []string{"nobody", "create", "$W/new"}},
		{ID: "N07", Try: "as that user, read a file that only root may read", Canary: Secret, Controls: secrets(), Setup: Setup{Nobody: true}, Procedure: []string{"nobody", "read", "$B/bin/root"}},
	}
	for i, name := range []string{"a b", `a'b"c`, "a)(allow default)", "a\nb", "$(touch x)", "-rf", "a:ro", "a,b", "a\\b", "`touch x`", "é\xff", "%s%n", "*"} {
		rows = append(rows, Row{
			ID: "P21" + string(rune('a'+i)), Try: "work in a workspace with the name " + quoted(name), Want: Works, Procedure: []string{"odd-name", name},
		})
	}
	return grouped(group, rows)
}

func secretRows() []Row {
	const group = "credentials"
	rows := []Row{
		{ID: "N10", Try: "read a secret by /proc/self/root", Act: []string{"read", "/proc/self/root$H/.ssh/id_ed25519"}},
		{ID: "N11", Try: "read a secret through a symbolic link in the workspace", Shell: `cd "$W" && ln -s "$H/.ssh" l && cat l/id_ed25519`},
		{ID: "N12", Try: "read a secret after linking it into the workspace", Shell: `ln "$H/.ssh/id_ed25519" "$W/k" && cat "$W/k"`},
		{ID: "N13", Try: "read a secret after moving its directory", Act: []string{"read-moved", "$H/.ssh", "$W/moved", "id_ed25519"}},
		{ID: "N14", Try: "read a secret by mapping it", Act: []string{"read-mapped", "$H/.ssh/id_ed25519"}},
		{ID: "N15", Try: "read a secret by the root of a process outside", Act: []string{"read", "/proc/$VICTIM/root$H/.netrc"}},
		{ID: "N16", Try: "read a path that the profile hides", Act: []string{"read", "$B/hide/f"}},
		{ID: "N17", Try: "read a credential file that appeared after the session was opened", Procedure: []string{"late-secret"}},
		{ID: "N18", Try: "open /etc/shadow (it is not read)", Canary: Exit, Act: []string{"open-full", "/etc/shadow"}, Needs: Needs{Root: true}},
		{ID: "N19", Try: "read a file of the home directory that is no secret", Want: Works, Act: []string{"read", "$H/code"}, Needs: Needs{Visible: true, SameHost: true}},
	}
	for i := range rows {
		if rows[i].Controls = secrets(); rows[i].Canary == Host && rows[i].Want == Blocked {
			rows[i].Canary = Secret
		}
	}
	for i, name := range []string{
		".ssh/id_ed25519", ".aws/credentials", ".gnupg/secring.gpg", ".docker/config.json", ".kube/config", ".config/gh/hosts.yml",
		".config/gcloud/credentials.db", ".config/google-chrome/Cookies", ".config/sbx/config.json", ".local/state/sbx/audit", ".pepe/config.json",
		".netrc", ".git-credentials", ".npmrc", ".pypirc", ".pgpass", ".bash_history", ".claude/.credentials.json", ".codex/auth.json",
	} {
		rows = append(rows, Row{
			ID: "N20" + string(rune('a'+i)), Try: "read ~/" + name, Canary: Secret, Controls: secrets(), Act: []string{"read", "$H/" + name},
		})
	}
	return grouped(group, append(rows,
		Row{ID: "N17b", Try: "read a credential file that was replaced while the command ran", Canary: Secret, Controls: late(), Procedure: []string{"late-replace"}},
		Row{ID: "N17c", Try: "read a credential file that was made while the command ran", Canary: Secret, Controls: late(), Procedure: []string{"late-new"}},
		Row{ID: "N21a", Try: "learn that a hidden file is there, and its size", Canary: Exit, Controls: stats(), Act: []string{"stat", "$H/.netrc", "$SIZE"}},
		Row{ID: "N21b", Try: "list a hidden directory", Canary: Exit, Controls: stats(), Act: []string{"list", "$H/.ssh", "id_ed25519"}},
		Row{ID: "N21c", Try: "list a directory that the profile hides", Canary: Exit, Controls: stats(), Act: []string{"list", "$B/hide", "f"}},
		Row{ID: "N22a", Try: "see what services have in /run", Canary: Exit, Controls: stats(), Act: []string{"list", "$RUN", "stream"}},
		Row{ID: "N22b", Try: "see what others have in the temp directory", Canary: Exit, Controls: stats(), Act: []string{"list", "$T", "stream"}},
		Row{ID: "N22c", Try: "see what others have in /var/tmp", Canary: Exit, Controls: stats(), Act: []string{"list", "$VT", "f"}},
		Row{ID: "N22d", Try: "read the kernel's list of timers, with the processes that wait", Canary: Exit, Controls: others(), Act: []string{"read-some", "/proc/timer_list"}, Needs: Needs{Root: true}},
	))
}

// trustRows are about files in the workspace that programs outside read or run
// later.
func trustRows() []Row {
	const group = "files that others trust"
	rows := []Row{
		{ID: "P31a", Try: "make a git hook", Act: []string{"create", "$W/.git/hooks/pre-commit"}},
		{ID: "P31b", Try: "make a sample hook a real one", Act: []string{"rename", "$W/.git/hooks/pre-commit.sample", "$W/.git/hooks/pre-commit"}},
		{ID: "P31c", Try: "move a file of the workspace among the hooks", Act: []string{"rename", "$W/new-hook", "$W/.git/hooks/pre-commit"}},
		{ID: "P31d", Try: "change the mode of a hook", Act: []string{"chmod", "$W/.git/hooks/pre-commit.sample"}},
		{ID: "P32a", Try: "set core.hooksPath", Shell: `git -C "$W" config core.hooksPath /tmp/h`, Needs: Needs{Programs: []string{"git"}}},
		{ID: "P32b", Try: "set core.fsmonitor", Shell: `git -C "$W" config core.fsmonitor ./e`, Needs: Needs{Programs: []string{"git"}}},
		{ID: "P32c", Try: "write to .git/config", Act: []string{"append", "$W/.git/config"}},
		{ID: "P32d", Try: "replace .git/config", Act: []string{"rename", "$W/own", "$W/.git/config"}},
		{ID: "P32e", Try: "exchange .git/config with another file", Act: []string{"exchange", "$W/own", "$W/.git/config"}},
		{ID: "P34e", Try: "exchange .git with another directory", Act: []string{"exchange", "$W/a", "$W/.git"}},
		{ID: "P34f", Try: "exchange the hooks with another directory", Act: []string{"exchange", "$W/a", "$W/.git/hooks"}},
		{ID: "P34a", Try: "move .git away", Act: []string{"rename", "$W/.git", "$W/g2"}},
		{ID: "P34b", Try: "rebuild .git with a hook", Shell: `cd "$W" && mv .git g2 && mkdir .git && cp -r g2/* .git && echo x >.git/hooks/pre-commit`},
		{ID: "P34c", Try: "replace the hooks by a link", Shell: `cd "$W" && mv .git/hooks h2 && ln -s ../h2 .git/hooks && echo x >h2/pre-commit`},
		{ID: "P34d", Try: "link .git/config to a second name and write to that", Shell: `cd "$W" && ln .git/config h && echo x >>h`},
	}
	rows = append(rows, preparedRows()...)
	for i, name := range []string{
		".claude/settings.json", ".codex/config.toml", ".gemini/settings.json", ".cursor/mcp.json", ".mcp.json", ".vscode/tasks.json", ".envrc", ".husky/pre-commit", ".bashrc",
	} {
		rows = append(rows, Row{ID: "P38" + string(rune('a'+i)), Try: "change " + name + ", which exists", Act: []string{"append", "$W/" + name}})
	}
	for i := range rows {
		rows[i].Controls = hooks()
	}
	rows = append(rows, reportedRows()...)
	return grouped(group, append(rows,
		Row{ID: "P33", Try: "git status, add, commit and branch", Want: Works, Needs: Needs{Programs: []string{"git"}}, Shell: `cd "$W" && git status >/dev/null && git add own && git commit -qm one && git branch two && git log --oneline >/dev/null`},
		Row{ID: "P43", Try: "leave no file behind that the command did not make", Want: Works, Procedure: []string{"stubs"}},
		Row{ID: "P44", Try: "leave no file and no mount behind when sbx is killed", Want: Works, Procedure: []string{"crash-stubs"}},
	))
}

// preparedRows change what is trusted in workspaces that are laid out in another
// way. PROCEDURE: what is done before, what the command does, and what of the
// workspace must stay as it is.
func preparedRows() []Row {
	const (
		linkedHooks = `mkdir -p tools/hooks && echo x >tools/hooks/pre-commit && rm -r .git/hooks && ln -s ../tools/hooks .git/hooks`
		linkedGit   = `mv .git store && ln -s store .git`
		gitFile     = `mv .git store && echo gitdir: store >.git`
		submodule   = `mkdir -p .git/modules/m/hooks .git/modules/m/objects .git/modules/m/refs m && echo x >.git/modules/m/HEAD && printf '[core]\nworktree = ../../../m\n' >.git/modules/m/config && echo gitdir: ../.git/modules/m >m/.git`
		hooksPath   = `mkdir githooks && printf '[core]\nhooksPath = githooks\n' >>.git/config`
	)
	return []Row{
		{ID: "P35a", Try: "write to the hooks that .git/hooks, a link, leads to", Procedure: []string{"prepared", linkedHooks, `echo y >tools/hooks/pre-commit`, "tools/hooks"}},
		{ID: "P35b", Try: "replace .git/hooks, a link", Procedure: []string{"prepared", linkedHooks, `ln -sfn ../a .git/hooks`, ".git/hooks"}},
		{ID: "P35c", Try: "move the directory that holds the hooks", Procedure: []string{"prepared", linkedHooks, `mv tools t2 && cp -r t2 tools && echo y >tools/hooks/pre-commit`, "tools/hooks"}},
		{ID: "P35d", Try: "replace .git, a link", Procedure: []string{"prepared", linkedGit, `cp -r store s2 && ln -sfn s2 .git && echo y >s2/hooks/pre-commit`, ".git"}},
		{ID: "P35e", Try: "write to the configuration that .git, a link, leads to", Procedure: []string{"prepared", linkedGit, `echo y >>store/config`, "store/config"}},
		{ID: "P36a", Try: "let a git file lead elsewhere", Procedure: []string{"prepared", gitFile, `echo gitdir: a >.git`, ".git"}},
		{ID: "P36b", Try: "write to the hooks that a git file leads to", Procedure: []string{"prepared", gitFile, `echo y >store/hooks/pre-commit`, "store/hooks"}},
		{ID: "P36c", Try: "make a hook of a submodule", Procedure: []string{"prepared", submodule, `echo y >.git/modules/m/hooks/post-checkout`, ".git/modules/m/hooks"}},
		{ID: "P36d", Try: "move the git directories of submodules away", Procedure: []string{"prepared", submodule, `mv .git/modules m2 && cp -r m2 .git/modules && echo y >.git/modules/m/hooks/post-checkout`, ".git/modules/m/hooks"}},
		{ID: "P36e", Try: "let the git file of a submodule lead elsewhere", Procedure: []string{"prepared", submodule, `echo gitdir: ../a >m/.git`, "m/.git"}},
		{ID: "P36f", Try: "write to the directory that core.hooksPath names", Procedure: []string{"prepared", hooksPath, `echo y >githooks/pre-commit`, "githooks"}},
	}
}

// reportedRows make what was not there, which is allowed: what counts is that the
// report after the run names it. PROCEDURE: what the command does, and what it makes.
func reportedRows() []Row {
	reported := func(id, try, text string, names ...string) Row {
		return Row{ID: id, Try: try + ", unreported", Controls: hooks(), Procedure: append([]string{"reported", text}, names...)}
	}
	rows := []Row{
		reported("P37", "make a repository with a hook below the workspace", `mkdir -p sub/.git/hooks && echo x >sub/.git/config && echo x >sub/.git/hooks/post-checkout`, "sub/.git", "sub/.git/hooks/post-checkout"),
		reported("P37b", "make a bare repository", `mkdir -p b.git/objects b.git/refs && echo x >b.git/HEAD && echo x >b.git/config`, "b.git"),
		reported("P37c", "let git find its configuration elsewhere", `echo ../evil >.git/commondir`, ".git/commondir"),
		reported("P37d", "leave steps that git goes on with, and that run a program", `mkdir .git/rebase-merge && echo 'exec ./x' >.git/rebase-merge/git-rebase-todo`, ".git/rebase-merge/git-rebase-todo"),
		reported("P42a", "make a link that leaves the workspace", `ln -s "$O" b/l`, "b/l"),
		reported("P42b", "make a link by another link that leaves the workspace", `ln -s "$O" b/l; ln -s l/f b/m`, "b/m"),
	}
	for i, name := range []string{".claude", ".codex", ".gemini", ".cursor", ".mcp.json", ".vscode/tasks.json"} {
		rows = append(rows, reported("P39"+string(rune('a'+i)), "make "+name, absent(name), name))
	}
	for i, name := range []string{".bashrc", ".zshrc", ".profile", ".zprofile", ".envrc", ".npmrc", ".gitmodules", ".gitattributes", ".ripgreprc"} {
		rows = append(rows, reported("P40"+string(rune('a'+i)), "make "+name, absent(name), name))
	}
	for i, name := range []string{".github/workflows/x.yml", "Makefile", ".devcontainer", ".pre-commit-config.yaml", "package.json"} {
		rows = append(rows, reported("P41"+string(rune('a'+i)), "make "+name, absent(name), name))
	}
	return append(rows, Row{
		ID: "P39z", Try: "make settings that stay, when what appears is to be taken back", Controls: hooks(),
		Procedure: []string{"taken-back", absent(".mcp.json") + "; mkdir .codex; ln -s $O l", ".mcp.json", ".codex", "l"},
	})
}

// absent makes a file, or a directory of settings.
func absent(name string) string {
	if strings.Contains(name, "/") {
		return "mkdir -p " + path.Dir(name) + " && echo x >" + name
	}
	return "echo x >" + name
}

func grouped(name string, rows []Row) []Row {
	for i := range rows {
		rows[i].Group = name
	}
	return rows
}
