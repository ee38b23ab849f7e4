package ssh_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/ssh"
	"github.com/sbx-run/sbx/testuser"
)

// namespace is a network of its own, held by a process.
func namespace(t *testing.T) string {
	t.Helper()
	hold := exec.Command("unshare", "--net", "sleep", "1000")
	check(t, hold.Start())
	t.Cleanup(func() { _ = hold.Process.Kill(); _ = hold.Wait() })
	pid := strconv.Itoa(hold.Process.Pid)
	own, err := os.Readlink("/proc/self/ns/net")
	check(t, err)
	if !eventually(func() bool {
		net, err := os.Readlink("/proc/" + pid + "/ns/net")
		return err == nil && net != own
	}) {
		t.Fatal("no network namespace was made")
	}
	return pid
}

// in runs a program in a network namespace.
func in(t *testing.T, pid string, argv ...string) {
	t.Helper()
	out, err := exec.Command("nsenter", append([]string{"-t", pid, "-n"}, argv...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, out)
	}
}

// The two machines are network namespaces, and the wire between them is cut.
func TestLinkIsCut(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes the networks")
	}
	m := prepare(t, ssh.Sync)
	here, there := namespace(t), namespace(t)
	in(t, here, "ip", "link", "add", "near", "type", "veth", "peer", "name", "far", "netns", there)
	in(t, here, "ip", "address", "add", "192.0.2.1/24", "dev", "near")
	in(t, here, "ip", "link", "set", "near", "up")
	in(t, there, "ip", "address", "add", "192.0.2.2/24", "dev", "far")
	in(t, there, "ip", "link", "set", "far", "up")
	m.wrap = []string{"nsenter", "-t", there, "-n"}
	client := m.dir + "/ssh"
	check(t, os.WriteFile(client, fmt.Appendf(nil, "#!/bin/sh\nexec nsenter -t %s -n /usr/bin/ssh \"$@\"\n", here), 0o755))
	m.options.Client = client
	m.serve("192.0.2.2")
	m.write("file", "over the wire")
	if out, result := m.run(m.open(), "cat", "file"); out != "over the wire" || result.ExitCode != 0 {
		t.Fatalf("%q, %+v", out, result)
	}
	done := make(chan error, 1)
	s := m.open()
	go func() {
		_, err := s.Run(context.Background(), sandbox.Command{Argv: tree(mark(t))})
		done <- err
	}()
	m.started(mark(t))
	in(t, there, "ip", "link", "set", "far", "down")
	m.ends(mark(t), "the wire is cut")
	if err := <-done; !errors.Is(err, sandbox.ErrLost) {
		t.Errorf("%v", err)
	}
	// The wire is back, and so are commands: the dead connection is not used.
	in(t, there, "ip", "link", "set", "far", "up")
	if out, result := m.run(m.open(), "cat", "file"); out != "over the wire" || result.ExitCode != 0 {
		t.Errorf("%q, %+v", out, result)
	}
}

// What connections left that ended long ago is taken away; what stands stays.
func TestOldConnectionsAreSwept(t *testing.T) {
	m := newMachine(t, ssh.Shared)
	state := m.options.State
	m.run(m.open(), "true")
	old := time.Now().Add(-48 * time.Hour)
	names := []string{"0123456789abcdef", "0123456789abcdef.far", "0123456789abcdef.lock", "fedcba9876543210.lock", "words-1"}
	for _, name := range names {
		check(t, os.WriteFile(state+"/"+name, nil, 0o600))
	}
	check(t, os.WriteFile(state+"/new.lock", nil, 0o600))
	entries, err := os.ReadDir(state)
	check(t, err)
	kept := []string{"new.lock"}
	for _, e := range entries {
		if !slices.Contains(names, e.Name()) {
			kept = append(kept, e.Name())
		}
		if e.Name() != "new.lock" {
			check(t, os.Chtimes(state+"/"+e.Name(), old, old))
		}
	}
	stands := m.sockets()
	m.options.Options += " -o ConnectTimeout=19" // another connection
	m.run(m.open(), "true")
	for _, name := range names {
		if _, err := os.Lstat(state + "/" + name); err == nil {
			t.Errorf("%s is left", name)
		}
	}
	for _, name := range kept {
		if _, err := os.Lstat(state + "/" + name); err != nil {
			t.Errorf("%s is gone", name)
		}
	}
	if now := m.sockets(); len(stands) != 1 || len(now) != 2 || !slices.Contains(now, stands[0]) {
		t.Errorf("sockets: %q, then %q", stands, now)
	}
}

// TestAsUser runs the tests again as an ordinary user, whose sshd is the user's.
func TestAsUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the tests run as an ordinary user already")
	}
	need(t)
	user := testuser.Take(t)
	name, home := user.Name, user.Home
	self, err := os.Executable()
	check(t, err)
	copied := home + "/ssh.test"
	if out, err := exec.Command("install", "-o", name, "-m", "755", self, copied).CombinedOutput(); err != nil {
		t.Fatalf("install: %v\n%s", err, out)
	}
	sockets, err := os.MkdirTemp("/run", "sbx-user-")
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(sockets) })
	check(t, exec.Command("chown", name, sockets).Run())
	cmd := exec.Command("setpriv", "--reuid", name, "--regid", name, "--init-groups", copied, "-test.v", "-test.timeout=8m",
		"-test.skip=^TestPlain(InEveryShell|OnlyWhereNoCopyWillDo|TakesTwoSessions)$") // the same for everybody
	cmd.Dir = "/"
	cmd.Env = []string{
		"HOME=" + home, "USER=" + name, "PATH=/usr/local/bin:/usr/bin:/bin", "SBX_REQUIRE=" + os.Getenv("SBX_REQUIRE"), "XDG_RUNTIME_DIR=" + sockets,
		baseVar + "=" + home, programVar + "=" + os.Getenv(programVar), "SBX_TEST_ROWS=" + cmp.Or(os.Getenv("SBX_TEST_ROWS"), someRows),
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestSync ") || !strings.Contains(string(out), "--- PASS: TestKilled ") {
		t.Errorf("%v\n%s", err, out)
	}
}

// someRows are rows of each kind, for a second run.
const someRows = "P00,P01,P02,P04,P11,P19,P26,P29,P31a,N10,N11,N20,P45,P47a,P47l,P49,P50a,P52a,P54d,P56d,P61,P64,P65h,P67,P68,P69,P71,P72,P73,P75,P76,P77a,P79,P80,P81,P86a,P86g,N60,N61,P88,P89"
