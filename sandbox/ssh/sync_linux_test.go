package ssh_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/ssh"
)

// snapshot is a directory as text: kinds, modes, times of files, contents.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rest, _ := filepath.Rel(dir, path)
		line := fmt.Sprintf("%q %v", rest, info.Mode())
		switch {
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %d %q", info.ModTime().UnixNano(), text)
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			line += " -> " + to
		}
		lines = append(lines, line)
		return nil
	})
	check(t, err)
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// far is the workspace there.
func (m *machine) far() string {
	m.Helper()
	found, err := filepath.Glob(m.home + "/.cache/sbx-sync/*/ws")
	check(m, err)
	if len(found) != 1 {
		m.Fatalf("workspaces there: %q", found)
	}
	return found[0]
}

func (m *machine) write(name, text string) {
	m.Helper()
	path := filepath.Join(m.profile.Workspace, name)
	check(m, os.MkdirAll(filepath.Dir(path), 0o755))
	check(m, os.WriteFile(path, []byte(text), 0o644))
}

// Both sides are the same before and after, whatever is in the workspace.
func TestSync(t *testing.T) {
	m := newMachine(t, ssh.Sync)
	s := m.open()
	ws := m.profile.Workspace
	m.write("plain", "one")
	m.write("dir/sub/deep", strings.Repeat("deep", 50_000))
	m.write("a\nb'\"\\ $(x)\xff", "odd name")
	m.write("-rf", "dash")
	m.write("empty", "")
	m.write("run.sh", "#!/bin/sh\necho ran\n")
	check(t, os.Chmod(ws+"/run.sh", 0o755))
	check(t, os.Symlink("dir/sub", ws+"/link"))
	check(t, os.Symlink("/etc/passwd", ws+"/out"))
	check(t, os.Mkdir(ws+"/hollow", 0o700))
	old := time.Date(2001, 2, 3, 4, 5, 6, 789, time.UTC)
	check(t, os.Chtimes(ws+"/plain", old, old))
	before := snapshot(t, ws)
	if out, result := m.run(s, "./run.sh"); out != "ran\n" || result.ExitCode != 0 {
		t.Fatalf("%q, %+v", out, result)
	}
	if there := snapshot(t, m.far()); there != before || snapshot(t, ws) != before {
		t.Errorf("here:\n%s\nthere:\n%s", before, there)
	}
	// What the command does comes back: content, deletions, renames, kinds, modes.
	_, result := m.run(s, "sh", "-c", `set -e; echo two >plain; rm -r dir; mkdir dir; echo x >dir/new; mv -- -rf moved; rm link; ln -s moved link
		rmdir hollow; echo was >hollow; rm empty; mkdir empty; chmod 700 run.sh; mkdir ro; echo in >ro/f; chmod 500 ro; touch -d 2010-01-01 moved; mkfifo pipe; exit 3`)
	if result.ExitCode != 3 {
		t.Fatalf("%+v", result)
	}
	check(t, os.Remove(m.far()+"/pipe"))
	if here, there := snapshot(t, ws), snapshot(t, m.far()); here != there || !strings.Contains(here, `"two\n"`) || strings.Contains(here, "deep") {
		t.Errorf("here:\n%s\nthere:\n%s", here, there)
	}
	// And the other way round.
	check(t, os.Remove(ws+"/moved"))
	check(t, os.RemoveAll(ws+"/empty"))
	m.write("empty", "a file again")
	m.write("late/x", "y")
	if out, result := m.run(s, "cat", "empty", "late/x"); out != "a file againy" || result.ExitCode != 0 {
		t.Errorf("%q, %+v", out, result)
	}
	if here, there := snapshot(t, ws), snapshot(t, m.far()); here != there || strings.Contains(there, "moved\"") && !strings.Contains(there, "-> moved") {
		t.Errorf("here:\n%s\nthere:\n%s", here, there)
	}
	_ = os.Chmod(ws+"/ro", 0o700)
	_ = os.Chmod(m.far()+"/ro", 0o700)
}

// What changed on both sides is refused and listed, and nothing is overwritten.
func TestSyncConflicts(t *testing.T) {
	m := newMachine(t, ssh.Sync)
	s := m.open()
	m.write("both", "base")
	m.write("mine", "base")
	m.run(s, "true")
	far := m.far()
	m.write("both", "here")
	m.write("mine", "here")
	check(t, os.WriteFile(far+"/both", []byte("there"), 0o644))
	check(t, os.WriteFile(far+"/theirs", []byte("there"), 0o644))
	result, err := s.Run(context.Background(), sandbox.Command{Argv: []string{"touch", "ran"}})
	if !errors.Is(err, sandbox.ErrStart) || !strings.Contains(err.Error(), `"both"`) || strings.Contains(err.Error(), `"mine"`) || result.Ending != sandbox.NotStarted {
		t.Errorf("%v, %+v", err, result)
	}
	is := func(path, want string) {
		t.Helper()
		if text, _ := os.ReadFile(path); string(text) != want {
			t.Errorf("%s: %q, want %q", path, text, want)
		}
	}
	is(m.profile.Workspace+"/both", "here")
	is(far+"/both", "there")
	is(far+"/mine", "base")
	is(m.profile.Workspace+"/theirs", "")
	m.write("both", "there") // settled
	m.run(s, "true")
	is(far+"/mine", "here")
	is(m.profile.Workspace+"/theirs", "there")

	// Changed here while the command changes it there.
	done := make(chan error, 1)
	go func() {
		result, err := s.Run(context.Background(), sandbox.Command{Argv: []string{"sh", "-c", "echo ready >flag; until [ -e go ]; do sleep 0.05; done; rm go flag; echo far >both; echo far >other"}})
		if err == nil {
			err = fmt.Errorf("no error: %+v", result)
		}
		done <- err
	}()
	if !eventually(func() bool { _, err := os.Stat(far + "/flag"); return err == nil }) {
		t.Fatal("the command does not run")
	}
	m.write("both", "near")
	check(t, os.WriteFile(far+"/go", nil, 0o644))
	if err := <-done; !errors.Is(err, sandbox.ErrLost) || !strings.Contains(err.Error(), `"both"`) || strings.Contains(err.Error(), `"other"`) {
		t.Errorf("%v", err)
	}
	is(m.profile.Workspace+"/both", "near")
	is(m.profile.Workspace+"/other", "far\n")
	is(far+"/both", "far\n")
}

// A directory that was lost there does not empty the one here.
func TestSyncLostThere(t *testing.T) {
	m := newMachine(t, ssh.Sync)
	s := m.open()
	m.write("keep/file", "x")
	m.run(s, "true")
	for name, lose := range map[string]func() error{
		"the whole directory": func() error { return os.RemoveAll(m.far()) },
		"all that is in it":   func() error { return os.RemoveAll(m.far() + "/keep") },
		"what is known of it": func() error { return os.RemoveAll(m.home + "/.cache") },
	} {
		check(t, lose())
		if out, _ := m.run(s, "cat", "keep/file"); out != "x" {
			t.Errorf("%s: there %q", name, out)
		}
		if text, err := os.ReadFile(m.profile.Workspace + "/keep/file"); string(text) != "x" {
			t.Errorf("%s: here %q, %v", name, text, err)
		}
	}
}

// What cannot be remembered there (a full disk, say) keeps nothing from coming back.
func TestSyncWithoutMemory(t *testing.T) {
	m := newMachine(t, ssh.Sync)
	s := m.open()
	m.run(s, "true")
	list, err := filepath.Glob(m.home + "/.cache/sbx-sync/*.index")
	check(t, err)
	if len(list) != 1 {
		t.Fatalf("%q", list)
	}
	check(t, os.Remove(list[0]))
	check(t, os.MkdirAll(list[0]+"/in the way", 0o755))
	m.run(s, "sh", "-c", "echo made >made")
	if text, _ := os.ReadFile(m.profile.Workspace + "/made"); string(text) != "made\n" {
		t.Errorf("it did not come back: %q", text)
	}
	m.run(s, "rm", "made")
	if _, err := os.Lstat(m.profile.Workspace + "/made"); err == nil {
		t.Error("what was removed there is here")
	}
}

// Only what has changed is carried.
func TestSyncCarriesChangesOnly(t *testing.T) {
	m := newMachine(t, ssh.Sync)
	s := m.open()
	m.write("big", strings.Repeat("x", 4<<20))
	m.write("small", "1")
	m.run(s, "true")
	inode := func() string {
		info, err := os.Stat(m.far() + "/big")
		check(t, err)
		return fmt.Sprint(info.Sys())
	}
	first := inode()
	m.write("small", "2")
	m.run(s, "sh", "-c", "cat small")
	if again := inode(); again != first {
		t.Error("what had not changed was written again")
	}
}

// The workspace is where commands are confined, and what is outside of it cannot
// be asked for.
func TestSyncIsConfined(t *testing.T) {
	m := newMachine(t, ssh.Sync)
	check(t, os.MkdirAll(m.profile.Workspace+"/.git/hooks", 0o755))
	m.write(".git/config", "[core]\n")
	m.profile.Protect = []string{m.profile.Workspace + "/.git/config", m.profile.Workspace + "/.git/hooks"}
	out, result := m.run(m.open(), "sh", "-c", "echo x >>.git/config; echo x >.git/hooks/post-commit; echo x >"+m.home+"/made; cd ..; echo x >beside; pwd")
	if result.ExitCode != 0 || !strings.Contains(out, "/.cache/sbx-sync/") {
		t.Errorf("%q, %+v", out, result)
	}
	for _, path := range []string{m.home + "/made", filepath.Dir(m.far()) + "/beside", m.profile.Workspace + "/.git/hooks/post-commit"} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s was made", path)
		}
	}
	if text, _ := os.ReadFile(m.profile.Workspace + "/.git/config"); string(text) != "[core]\n" {
		t.Errorf("%q", text)
	}
	m.profile.Write = []string{m.dir + "/out"}
	if _, err := m.backend().Open(context.Background(), m.profile); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("a further path to write: %v", err)
	}
}

// A directory that can be no workspace there is refused before files are carried.
func TestSyncRefusedDirectory(t *testing.T) {
	m := newMachine(t, ssh.Sync)
	check(t, os.MkdirAll(m.home+"/.ssh", 0o700))
	check(t, os.WriteFile(m.home+"/.ssh/id", []byte("theirs"), 0o600))
	m.write("ours", "ours")
	m.options.Dir = ".ssh"
	result, err := m.open().Run(context.Background(), sandbox.Command{Argv: []string{"true"}})
	if err == nil || result.Ending != sandbox.NotStarted || !strings.Contains(err.Error(), ".ssh") {
		t.Errorf("%+v, %v", result, err)
	}
	for _, path := range []string{m.home + "/.ssh/ours", m.profile.Workspace + "/id"} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s was carried", path)
		}
	}
	m.options.Dir = "work/app" // control
	if out, _ := m.run(m.open(), "cat", "ours"); out != "ours" {
		t.Errorf("%q", out)
	}
}

// Root runs a command as the owner of a shared workspace, who reads the script.
func TestScriptOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs commands as somebody else")
	}
	m := newMachine(t, ssh.Shared)
	const nobody = 65534
	for _, path := range []string{m.profile.Workspace, m.dir + "/tmp", m.dir + "/cache"} {
		check(t, os.Chown(path, nobody, nobody))
	}
	script := m.dir + "/out/script.sh"
	check(t, os.WriteFile(script, []byte("id -u\n"), 0o600))
	m.profile.Read = []string{script}
	if out, result := m.run(m.open(), "sh", script); out != "65534\n" || result.ExitCode != 0 {
		t.Errorf("%q, %+v", out, result)
	}
}

// The script file of a runtime lies outside of the workspace and crosses, too.
func TestScriptCrosses(t *testing.T) {
	m := newMachine(t, ssh.Sync)
	script := m.dir + "/tmp/script.sh"
	check(t, os.WriteFile(script, []byte("echo \"script $1\"; exit 6\n"), 0o600))
	m.profile.Read = []string{script}
	var out bytes.Buffer
	result, err := m.open().Run(context.Background(), sandbox.Command{Argv: []string{"sh", script, "word"}, Stdout: &out})
	if err != nil || out.String() != "script word\n" || result.ExitCode != 6 {
		t.Errorf("%v, %q, %+v", err, out.String(), result)
	}
}
