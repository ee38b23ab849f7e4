//go:build amd64 || arm64

package firejail

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/layout"
	"github.com/sbx-run/sbx/testuser"
)

// asVar makes the test binary run one command under firejail: as an ordinary user.
const asVar = "SBX_FIREJAIL_WORKSPACE"

func TestMain(m *testing.M) {
	workspace := os.Getenv(asVar)
	if workspace == "" {
		os.Exit(m.Run())
	}
	s, err := New().Open(context.Background(), profile(workspace))
	var result sandbox.Result
	if err == nil {
		result, err = s.Run(context.Background(), sandbox.Command{Argv: os.Args[1:], Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
	}
	if err != nil {
		os.Stderr.WriteString("error: " + err.Error() + "\n")
		os.Exit(125)
	}
	os.Exit(result.ExitCode)
}

func profile(workspace string) sandbox.Profile {
	return sandbox.Profile{Workspace: workspace, Home: os.Getenv("HOME"), Supervisor: true, Protect: []string{}}
}

// need skips where firejail does not work, unless SBX_REQUIRE names it.
func need(t *testing.T) {
	t.Helper()
	if _, err := New().Probe(t.Context()); err != nil {
		if slices.Contains(strings.Split(os.Getenv("SBX_REQUIRE"), ","), Name) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// user is who runs the commands of a test: root, or one that is made for it.
type user struct {
	name, home string
	uid, gid   int
}

func users(t *testing.T) []user {
	t.Helper()
	if os.Geteuid() != 0 {
		return []user{{name: "user", home: os.Getenv("HOME"), uid: os.Geteuid(), gid: os.Getegid()}}
	}
	u := testuser.Take(t)
	return []user{{"root", "/root", 0, 0}, {u.Name, u.Home, u.UID, u.GID}}
}

// run runs a command in a workspace as a user, and returns what it said on each
// stream and its exit status.
func (u user) run(t *testing.T, workspace string, argv ...string) (stdout, stderr string, status int) {
	t.Helper()
	cmd, done := u.command(t, workspace, argv...)
	defer done()
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	_ = cmd.Run()
	return out.String(), said.String(), cmd.ProcessState.ExitCode()
}

// command is the test binary that runs a command; done takes its copy away.
func (u user) command(t *testing.T, workspace string, argv ...string) (cmd *exec.Cmd, done func()) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	done = func() {}
	if os.Geteuid() == 0 {
		dir, err := os.MkdirTemp("/opt", "sbx-firejail-")
		must(t, err)
		done = func() { _ = os.RemoveAll(dir) }
		text, err := os.ReadFile(self)
		must(t, err)
		self = dir + "/self"
		must(t, os.WriteFile(self, text, 0o755))
		must(t, os.Chmod(dir, 0o755))
		argv = append([]string{"setpriv", "--reuid", strconv.Itoa(u.uid), "--regid", strconv.Itoa(u.gid), "--clear-groups", self}, argv...)
	} else {
		argv = append([]string{self}, argv...)
	}
	cmd = exec.Command(argv[0], argv[1:]...)
	cmd.Dir = workspace
	cmd.Env = []string{"HOME=" + u.home, "PATH=/usr/local/bin:/usr/bin:/bin", asVar + "=" + workspace}
	return cmd, done
}

// The script that runtimes shipped lost the workspace, dropped start files of the
// shell into it, and let writes to /tmp reach the host. Wherever the workspace
// lies, it stays at its path, holds what the command wrote and nothing else, and
// nothing else changes.
func TestWorkspaceStaysAtItsPath(t *testing.T) {
	need(t)
	for _, u := range users(t) {
		for _, base := range []string{"/tmp", u.home, "/srv"} {
			t.Run(u.name+" "+base, func(t *testing.T) {
				workspace, err := os.MkdirTemp(base, "sbx-firejail-ws-")
				if err != nil {
					t.Skip(err)
				}
				defer os.RemoveAll(workspace)
				must(t, os.Chown(workspace, u.uid, u.gid))
				beside := filepath.Dir(workspace) + "/sbx-firejail-beside-" + filepath.Base(workspace)
				before := sandboxes(t)
				acts := `pwd; echo said >&2; : >made; (: >` + beside + `); (: >/tmp/` + filepath.Base(beside) + `); exit 7`
				stdout, stderr, status := u.run(t, workspace, "sh", "-c", acts)
				if stdout != workspace+"\n" || status != 7 || !strings.HasPrefix(stderr, "said\n") {
					t.Errorf("status %d, stdout %q, stderr %q", status, stdout, stderr)
				}
				entries, err := os.ReadDir(workspace)
				must(t, err)
				if len(entries) != 1 || entries[0].Name() != "made" {
					t.Errorf("in the workspace: %v", entries)
				}
				for _, name := range []string{beside, "/tmp/" + filepath.Base(beside)} {
					if _, err := os.Lstat(name); err == nil {
						_ = os.Remove(name)
						t.Errorf("%s is on the host", name)
					}
				}
				for _, name := range sandboxes(t) {
					if !slices.Contains(before, name) && !exists("/proc/"+name) {
						t.Errorf("left in /run/firejail/sandbox: %s", name)
					}
				}
			})
		}
	}
}

// sandboxes lists what firejail keeps of running sandboxes; root alone can look.
func sandboxes(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("/run/firejail/sandbox")
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Firejail keeps a file for each sandbox, which root alone can remove: it must get
// to do so whatever ends the run.
func TestNothingIsLeftWhenTheCallerIsKilled(t *testing.T) {
	need(t)
	for _, u := range users(t) {
		t.Run(u.name, func(t *testing.T) {
			workspace, err := os.MkdirTemp("/srv", "sbx-firejail-ws-")
			if err != nil {
				t.Skip(err)
			}
			defer os.RemoveAll(workspace)
			must(t, os.Chown(workspace, u.uid, u.gid))
			cmd, done := u.command(t, workspace, "sh", "-c", "echo; exec sleep 1000")
			defer done()
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			_, err = out.Read(make([]byte, 1))
			must(t, err)
			children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", cmd.Process.Pid, cmd.Process.Pid))
			must(t, err)
			firejail := strings.Fields(string(children))
			if len(firejail) != 1 {
				t.Fatalf("children: %q", children)
			}
			if kept := "/run/firejail/sandbox/" + firejail[0]; os.Geteuid() == 0 && !exists(kept) {
				t.Fatalf("%s is not there while firejail runs", kept)
			}
			must(t, cmd.Process.Kill())
			_ = cmd.Wait()
			for until := time.Now().Add(10 * time.Second); exists("/proc/" + firejail[0]); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(until) {
					t.Fatal("firejail goes on")
				}
			}
			if exists("/run/firejail/sandbox/" + firejail[0]) {
				t.Error("its file is left")
			}
		})
	}
}

// What firejail does not do is told in a sentence, and at once.
func TestAWorkspaceOfOthersIsRefused(t *testing.T) {
	need(t)
	list := users(t)
	if len(list) < 2 {
		t.Skip("root alone makes a directory of others")
	}
	workspace, err := os.MkdirTemp("/srv", "sbx-firejail-ws-")
	must(t, err)
	defer os.RemoveAll(workspace)
	must(t, os.Chmod(workspace, 0o777))
	if _, said, status := list[1].run(t, workspace, "true"); status != 125 || !strings.Contains(said, "belongs to others") {
		t.Errorf("status %d: %s", status, said)
	}
	if _, said, status := list[0].run(t, workspace, "true"); status != 0 {
		t.Errorf("its owner: status %d: %s", status, said)
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

func TestExitStatusAndArguments(t *testing.T) {
	need(t)
	u := users(t)[0]
	workspace, err := os.MkdirTemp("/srv", "sbx-firejail-ws-")
	must(t, err)
	defer os.RemoveAll(workspace)
	must(t, os.Chown(workspace, u.uid, u.gid))
	for _, status := range []int{0, 1, 42, 126, 127, 255} {
		if _, said, got := u.run(t, workspace, "sh", "-c", "exit "+strconv.Itoa(status)); got != status {
			t.Errorf("exit %d came as %d: %s", status, got, said)
		}
	}
	if _, _, got := u.run(t, workspace, "sh", "-c", "kill -9 $$"); got != 128+9 {
		t.Errorf("signal 9 came as %d", got)
	}
	// Firejail itself takes 128 arguments, none longer than a path.
	many := make([]string, 1000)
	for i := range many {
		many[i] = "a\n*'\"\\ \xff"
	}
	out, said, status := u.run(t, workspace, append([]string{"sh", "-c", `printf %s "$#"; printf %s "$1" | od -An -c; printf %s "${2}" | wc -c`, "sh"}, append(many, strings.Repeat("x", 100_000))...)...)
	if status != 0 || !strings.HasPrefix(out, "1001") || !strings.Contains(out, "\\n") || !strings.Contains(out, "377") {
		t.Errorf("status %d, %q, %q", status, out, said)
	}
}

// A directory that only looks like one of ours is not made writable, and that is
// told before anything runs.
func TestWhatFirejailDoesNotDoIsFoundOut(t *testing.T) {
	spots := []layout.Spot{{Path: "/etc", Kind: layout.Bind, Dir: true}, {Path: "/etc/passwd", Kind: layout.Mask}}
	root, err := os.Open("/")
	must(t, err)
	defer root.Close()
	v := view{root: int(root.Fd()), points: []string{"/proc"}, scene: scene{spots: spots[1:], isLink: isLink}}
	if err := v.check(); err == nil || !strings.Contains(err.Error(), "/etc/passwd") || !strings.Contains(err.Error(), "not covered") {
		t.Errorf("a path that is not hidden: %v", err)
	}
	v.points, v.spots = []string{"/"}, nil
	if err := v.check(); err == nil || !strings.Contains(err.Error(), "can be written") {
		t.Errorf("a writable root: %v", err)
	}
	if err := rights("NoNewPrivs:\t1\nCapPrm:\t" + zeros + "\nCapEff:\t0000000000000001\nCapBnd:\t" + zeros + "\nCapInh:\t" + zeros + "\nCapAmb:\t" + zeros + "\n"); err == nil {
		t.Error("a capability is let through")
	}
	if err := rights("CapEff:\t" + zeros + "\n"); err == nil {
		t.Error("what is not told is let through")
	}
}
