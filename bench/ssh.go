//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// overSSH compares a command on another machine with ssh itself over a connection
// that stands. The other machine is this one: what is measured is no network.
func overSSH(w io.Writer, o options) error {
	const sshd, client = "/usr/sbin/sshd", "/usr/bin/ssh"
	for _, program := range []string{sshd, client} {
		if _, err := os.Stat(program); err != nil || o.guest {
			fmt.Fprintf(w, "\nAnother machine by ssh: not measured, there is no %s\n", program)
			return nil
		}
	}
	port, stop, err := o.serveSSH(sshd)
	if err != nil {
		return err
	}
	defer stop()
	dir := filepath.Join(o.dir, "ssh")
	key := []string{"-p", port, "-F", "/dev/null", "-i", dir + "/key", "-o", "UserKnownHostsFile=" + dir + "/known", "-o", "IdentitiesOnly=yes"}
	socket := dir + "/socket"
	if out, err := exec.Command(client, append(append([]string{"-MNf", "-S", socket}, key...), "127.0.0.1")...).CombinedOutput(); err != nil {
		return fmt.Errorf("connect: %w: %s", err, out)
	}
	plain := func(words ...string) []string {
		return append([]string{client, "-F", "/dev/null", "-S", socket, "-T", "127.0.0.1"}, words...)
	}
	defer func() { _ = exec.Command(client, "-F", "/dev/null", "-S", socket, "-O", "exit", "x").Run() }()
	if err := os.WriteFile(filepath.Join(dir, "config.json"), fmt.Appendf(nil,
		`{"sbx": {"ssh": {"host": "127.0.0.1", "keep": "1m", "options": "-p %s -F /dev/null -i %s/key -o UserKnownHostsFile=%s/known -o IdentitiesOnly=yes"}}}`, port, dir, dir), 0o600); err != nil {
		return err
	}
	by := func(mode string) candidate {
		p := process{argv: []string{o.sbx, "exec", "--backend", "ssh", "--ssh-workspace", mode, "--workspace", o.workspace(), "--", "true"}, env: append(o.env(), "PEPE_CONFIG="+dir+"/config.json"), dir: o.workspace()}
		return candidate{name: "sbx exec --backend ssh, " + mode, run: p.run}
	}
	const bare, start = "ssh, a connection that stands", "sbx exec"
	there := fmt.Sprintf("cd '%s' && '%s' exec -- true", o.workspace(), o.sbx)
	all, err := interleave(max(5, o.rounds/3), []candidate{
		o.candidate(bare, plain("true")...),
		o.candidate(start, o.sbx, "exec", "--backend", "direct", "--workspace", o.workspace(), "--", "true"),
		o.candidate("ssh, and sbx exec there", plain(there)...),
		by("shared"), by("sync"),
	})
	if err != nil {
		return err
	}
	if err := report(w, "A command on another machine "+o.who(), max(5, o.rounds/3), all, nil); err != nil {
		return err
	}
	for _, s := range all[3:] {
		fmt.Fprintf(w, "  %s / %s = %.2f\n", s.name, all[2].name, ratio(s, all[2]))
		over := float64(s.median()-all[1].median()) / float64(all[0].median())
		fmt.Fprintf(w, "  (%s - %s) / %s = %.2f (target at most 1.30: %s)\n", s.name, start, bare, over, verdict(over <= 1.3))
	}
	return nil
}

// serveSSH starts an sshd with keys of its own.
func (o options) serveSSH(program string) (port string, stop func(), err error) {
	dir := filepath.Join(o.dir, "ssh")
	if err := os.MkdirAll(dir+"/home", 0o700); err != nil {
		return "", nil, err
	}
	for _, key := range []string{"key", "host"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)).CombinedOutput(); err != nil {
			return "", nil, fmt.Errorf("ssh-keygen: %w: %s", err, out)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	port = fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	_ = l.Close()
	public, err := os.ReadFile(dir + "/host.pub")
	if err == nil {
		err = os.WriteFile(dir+"/known", fmt.Appendf(nil, "[127.0.0.1]:%s %s", port, public), 0o600)
	}
	if err == nil {
		err = os.WriteFile(dir+"/sshd", fmt.Appendf(nil, "ListenAddress 127.0.0.1:%s\nHostKey %s/host\nAuthorizedKeysFile %s/key.pub\nStrictModes no\nUsePAM no\nPidFile none\n"+
			"PermitRootLogin prohibit-password\nSetEnv HOME=%s/home\n", port, dir, dir, dir), 0o600)
	}
	if err != nil {
		return "", nil, err
	}
	if os.Geteuid() == 0 {
		_ = os.Mkdir("/run/sshd", 0o755) // where it locks itself up
	}
	server := exec.Command(program, "-D", "-f", dir+"/sshd")
	if err := server.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { _ = server.Process.Kill(); _ = server.Wait() }
	for range 200 {
		if c, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			_ = c.Close()
			return port, stop, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	return "", nil, errors.New("sshd does not answer")
}
