package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestComplete(t *testing.T) {
	for _, tt := range []struct {
		words string // the last one after the last blank
		has   string // one of the candidates; "" for none
		not   string
		offer string
	}{
		{"", "exec", "", ""},
		{"ex", "exec", "run", ""},
		{"help d", "doctor", "exec", ""},
		{"exec --b", "--backend", "--env", ""},
		{"exec --backend ", "auto", "", ""},
		{"exec --backend=d", "--backend=direct", "--backend=none", ""},
		{"exec --network allow:n", "allow:npm", "allow:go", ""},
		{"exec --accept-gap net", "network-off", "tree-ends", ""},
		{"exec --session ", "auto", "", ""},
		{"exec --workspace ", "", "", offerDirs},
		{"exec --hide ", "", "", offerFiles},
		{"exec --timeout ", "", "", ""},
		{"exec --read-only ", "", "", offerCommands},
		{"exec -- ", "", "", offerCommands},
		{"exec -- make --b", "", "", offerFiles},
		{"setup --backend ", kindNone, "auto", ""},
		{"wrapper ", "install", "", ""},
		{"wrapper install d", "direct", "bwrap", ""},
		{"completion ", "zsh", "", ""},
		{"wrapper install --standalone ", "bwrap", "direct", ""},
		{"image ", "build", "", ""},
		{"hook install cl", "claude-code", "codex", ""},
		{"policy ", "lint", "", ""},
		{"approvals sh", "show", "list", ""},
		{"grants ", "clear", "", ""},
		{"secret ", "check", "", ""},
		{"rules delete-s", "delete-system", "", ""},
		{"check --fail-on del", "deletes", "network", ""},
		{"exec --require f", "full-noproc", "landlock", ""},
		{"exec --network allow:npm,g", "allow:npm,git", "allow:npm,pypi", ""},
		{"network presets n", "npm", "go", ""},
		{"nothing ", "", "", offerFiles},
	} {
		list, offer := complete(strings.Split(tt.words, " "))
		if tt.has == "" && len(list) > 0 || tt.has != "" && !slices.Contains(list, tt.has) || slices.Contains(list, tt.not) || offer != tt.offer {
			t.Errorf("%q: %q, %q", tt.words, list, offer)
		}
	}
}

// What is read out of the help is names of flags, and nothing else.
func TestFlagsInHelp(t *testing.T) {
	name := regexp.MustCompile(`^--[a-z][a-z-]*$`)
	for _, c := range commands() {
		for flag := range flagsIn(c.help) {
			if !name.MatchString(flag) {
				t.Errorf("%s: %q", c.name, flag)
			}
		}
	}
	have := flagsIn(execHelp)
	for flag, arg := range map[string]string{"--preview": "", "--explain-denials": "", "--apply": "", "--discard": "", "--session": "auto|off", "--workspace": "DIR", "--dry-run": ""} {
		if got, ok := have[flag]; !ok || got != arg {
			t.Errorf("%s: %q, %v", flag, got, ok)
		}
	}
}

// completed runs a shell with the script of sbx and gives what it prints.
func completed(t *testing.T, shell, script string, words ...string) string {
	t.Helper()
	path, err := exec.LookPath(shell)
	if err != nil {
		if os.Getenv(requireVar) != "" {
			t.Fatalf("%s is not installed and %s is set", shell, requireVar)
		}
		t.Skipf("%s is not installed", shell)
	}
	cmd := exec.Command(path, append([]string{"-c", script}, words...)...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv(binVar) + ":" + os.Getenv("PATH"), "TERM=dumb"}
	cmd.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(cmd.Dir, "a file.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", shell, err, out)
	}
	return string(out)
}

func TestCompletionInBash(t *testing.T) {
	const script = `eval "$(sbx completion bash)"
complete -p sbx >&2 || exit 1
ask() { COMP_LINE=$1 COMP_POINT=${#1}; _sbx_complete; printf '[%s] %s\n' "$1" "${COMPREPLY[*]}"; }
ask 'sbx doc'; ask 'sbx exec --backend di'; ask 'sbx exec --network allow:np'; ask 'sbx exec --network=of'; ask 'sbx check --file a'; ask 'sbx exec --hide a'; ask 'sbx exec --hide=a'; ask 'sbx exec -- tru'`
	got := completed(t, "bash", script)
	for _, want := range []string{
		"[sbx doc] doctor\n", "[sbx exec --backend di] direct\n", "[sbx exec --network allow:np] npm\n", "[sbx exec --network=of] off\n",
		"[sbx exec --hide a] a file.txt\n", "[sbx exec --hide=a] a file.txt\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if !regexp.MustCompile(`\[sbx exec -- tru\].* true\b`).MatchString(got) {
		t.Errorf("no program in\n%s", got)
	}
}

// zsh completes only for somebody who types, so that its own commands are stood in for.
func TestCompletionInZsh(t *testing.T) {
	const script = `compdef() { print "compdef $*" }
eval "$(sbx completion zsh)"
compadd() { while [[ $1 == -* ]]; do shift; done; print "add $*" }
compset() { : }
_files() { print "files $*" }
_command_names() { print "commands" }
ask() { words=("$@"); CURRENT=$#; print "[$*]"; _sbx_complete }
ask sbx doc; ask sbx exec --backend di; ask sbx exec --workspace ''; ask sbx exec -- ''`
	got := completed(t, "zsh", script)
	for _, want := range []string{"compdef _sbx_complete sbx\n", "[sbx doc]\nadd doctor\n", "di]\nadd direct\n", "--workspace ]\nfiles -/\n", "-- ]\ncommands\nfiles \n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestCompletionInFish(t *testing.T) {
	const script = `sbx completion fish | source
for line in 'sbx doc' 'sbx exec --backend di' 'sbx exec --hide a' 'sbx exec --network allow:np'
	echo "[$line]" (complete -C $line)
end`
	got := completed(t, "fish", script)
	for _, want := range []string{"[sbx doc] doctor\n", "di] direct\n", "--hide a] a file.txt\n", "allow:np] allow:npm\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// Under another name the scripts are for that one.
func TestCompletionName(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		out, err := exec.Command(filepath.Join(os.Getenv(binVar), "sbx"), "completion", shell, "--name", "sbx2").Output()
		if err != nil || !strings.Contains(string(out), " sbx2\n") && !strings.Contains(string(out), "-c sbx2 ") || strings.Contains(string(out), completionName) {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
	if err := exec.Command(filepath.Join(os.Getenv(binVar), "sbx"), "completion", "bash", "--name", "a;b").Run(); err == nil {
		t.Error("a name that a shell would run was taken")
	}
}
