package command

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// farAway is an sshd on a loopback port: the other machine, which sees the same
// files. It returns what the script needs to know of it.
func farAway(t *testing.T, s *script) (env []string, dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, key := range []string{"key", "host"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", dir+"/"+key).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
	}
	if os.Geteuid() == 0 {
		if err := os.Mkdir("/run/sshd", 0o755); err == nil { // where it locks itself up
			t.Cleanup(func() { _ = os.Remove("/run/sshd") })
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	at := l.Addr().String()
	check(t, l.Close())
	config := fmt.Sprintf("ListenAddress %s\nHostKey %s/host\nAuthorizedKeysFile %s/key.pub\nStrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin prohibit-password\n", at, dir, dir)
	check(t, os.WriteFile(dir+"/sshd", []byte(config), 0o600))
	daemon := exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", dir+"/sshd")
	check(t, daemon.Start())
	t.Cleanup(func() { _ = daemon.Process.Kill(); _ = daemon.Wait() })
	s.await("sshd", func() bool {
		c, err := net.DialTimeout("tcp", at, time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	_, port, _ := strings.Cut(at, ":")
	public, err := os.ReadFile(dir + "/host.pub")
	check(t, err)
	check(t, os.WriteFile(dir+"/known", fmt.Appendf(nil, "[127.0.0.1]:%s %s", port, public), 0o600))
	return []string{
		"PEPE_SANDBOX_SSH_HOST=127.0.0.1", "PEPE_SANDBOX_SSH_WRAPPER=" + install(t, "bwrap"),
		fmt.Sprintf("PEPE_SANDBOX_SSH_OPTIONS=-F none -p %s -i %s/key -o UserKnownHostsFile=%s/known", port, dir, dir),
	}, dir
}

// On the other machine the command is confined by the script there.
func TestStandaloneSSH(t *testing.T) {
	s := &script{T: t, path: install(t, "ssh")}
	if _, err := os.Stat("/usr/sbin/sshd"); err != nil {
		if slices.Contains(strings.Split(os.Getenv("SBX_REQUIRE"), ","), "ssh") {
			t.Fatal("there is no sshd")
		}
		t.Skip("there is no sshd")
	}
	s.room()
	env, dir := farAway(t, s)
	s.env = append(env, "PATH="+os.Getenv("PATH"), "HOME="+os.Getenv("HOME"))
	odd := []string{"", " ", "a b", "a\nb\n", "$HOME", "`id`", "'", `"`, `\`, "*", "-rf", "--", "it's\n"}
	out, code := s.output(s.command(append([]string{"printf", "%s|"}, odd...)...))
	if want := strings.Join(odd, "|") + "|"; code != 0 || out != want {
		t.Errorf("arguments: %d, %q", code, out)
	}
	canary := s.outside + "/canary"
	c := s.command("sh", "-c", `cat; pwd -P; echo x >in; echo x >"$0"; exit 42`, canary)
	c.Stdin = strings.NewReader("input\n")
	if out, code := s.output(c); code != 42 || !strings.HasPrefix(out, "input\n"+s.workspace+"\n") {
		t.Errorf("%d, %q", code, out)
	}
	if _, err := os.Stat(s.workspace + "/in"); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(canary); err == nil {
		t.Error("it wrote outside of the workspace there")
	}
	// Cut off, the tree there ends: the script there sees that nobody reads.
	mark := fmt.Sprintf("8%d", os.Getpid())
	c = s.command("sh", "-c", "trap '' TERM; sleep "+mark+" & >"+mark+"; sleep "+mark)
	check(t, c.Start())
	s.await("start", func() bool { _, err := os.Stat(s.workspace + "/" + mark); return err == nil })
	check(t, c.Process.Kill())
	_ = c.Wait()
	// The client goes on until it is told: it is a child of the killed script.
	_ = exec.Command("sh", "-c", "kill $(pgrep -f 'ssh -T .*sleep "+mark+"')").Run()
	s.await("the end there", func() bool { return !s.running(mark) })

	refused := func(name, words string, change ...string) {
		t.Helper()
		c := s.command("touch", "ran")
		c.Env = append(c.Env, change...)
		if out, code := s.output(c); code == 0 || !strings.Contains(out, words) {
			t.Errorf("%s: %d, %q", name, code, out)
		}
	}
	refused("no machine", "names no machine", "PEPE_SANDBOX_SSH_HOST=")
	refused("an option for a machine", "names no machine", "PEPE_SANDBOX_SSH_HOST=-oProxyCommand=touch ran")
	refused("no script there", "confines the program there", "PEPE_SANDBOX_SSH_WRAPPER=")
	check(t, os.WriteFile(dir+"/known", nil, 0o600))
	refused("an unknown machine", "verification failed")
	if _, err := os.Stat(s.workspace + "/ran"); err == nil {
		t.Error("it ran")
	}
}
