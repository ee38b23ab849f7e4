package ssh_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/ssh"
)

func TestEndings(t *testing.T) {
	m := newMachine(t, ssh.Shared)
	s := m.open()
	check(t, os.WriteFile(m.profile.Workspace+"/plain", []byte("x"), 0o644))
	for _, c := range []struct {
		argv   []string
		code   int
		signal int
		ending sandbox.Ending
	}{
		{[]string{"sh", "-c", "exit 0"}, 0, 0, sandbox.Exited},
		{[]string{"sh", "-c", "exit 125"}, 125, 0, sandbox.Exited},
		{[]string{"sh", "-c", "exit 255"}, 255, 0, sandbox.Exited},
		{[]string{"sh", "-c", "kill -9 $$"}, 137, 9, sandbox.Signaled},
		{[]string{"sh", "-c", "kill -TERM $$"}, 143, 15, sandbox.Signaled},
		{[]string{"no-such-program"}, 127, 0, sandbox.NotFound},
		{[]string{m.profile.Workspace + "/plain"}, 126, 0, sandbox.NotExec},
	} {
		_, got := m.run(s, c.argv...)
		if got.ExitCode != c.code || got.Signal != c.signal || got.Ending != c.ending {
			t.Errorf("%q: %d, signal %d, %s", c.argv, got.ExitCode, got.Signal, got.Ending)
		}
		if got.Backend != ssh.Name || c.ending == sandbox.Exited && !slices.Contains(got.Enforced, sandbox.WritesConfined) {
			t.Errorf("%q: %+v", c.argv, got)
		}
	}
}

// Words cross as they are, whatever a shell would make of them.
func TestWordsCrossExactly(t *testing.T) {
	m := newMachine(t, ssh.Shared)
	s := m.open()
	words := []string{"", " ", "'", `"`, "`id`", "$(id)", "$HOME", "*", "a\nb", "\\", "!!", "\xff\xfe", "-", "--", "~", ";", strings.Repeat("long ", 25000)}
	env := []string{"PLAIN=x", "QUOTE='\"", "LINES=a\nb\n", "EMPTY=", "BYTES=\xff", "HASH=#", "EQUAL=a=b"}
	var out bytes.Buffer
	argv := append([]string{"sh", "-c", `for w; do printf '%s\0' "$w"; done; for v in PLAIN QUOTE LINES EMPTY BYTES HASH EQUAL; do eval "printf '%s\0' \"\$v=\$$v\""; done`, "sh"}, words...)
	if _, err := s.Run(context.Background(), sandbox.Command{Argv: argv, Env: env, Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSuffix(out.String(), "\x00"), "\x00"); !slices.Equal(got, append(slices.Clone(words), env...)) {
		t.Errorf("have %d words: %.300q", len(got), got)
	}
	out.Reset()
	if _, err := s.Run(context.Background(), sandbox.Command{Argv: []string{"env"}, Env: []string{"ONLY=this"}, Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if name, _, _ := strings.Cut(line, "="); strings.HasPrefix(name, "SSH_") {
			t.Errorf("of the connection: %s", line)
		}
	}
}

// What goes in and out is the same bytes, on separate streams, and much of it.
func TestStreams(t *testing.T) {
	m := newMachine(t, ssh.Shared)
	s := m.open()
	in := bytes.Repeat([]byte("a\x00b\xff\r\n~.\n"), 300_000)
	var out, errs bytes.Buffer
	result, err := s.Run(context.Background(), sandbox.Command{
		Argv: []string{"sh", "-c", "tee /dev/stderr"}, Stdin: bytes.NewReader(in), Stdout: &out, Stderr: &errs,
	})
	if err != nil || result.ExitCode != 0 || !bytes.Equal(out.Bytes(), in) || !bytes.Equal(errs.Bytes(), in) {
		t.Errorf("%v, %+v: %d and %d bytes of %d", err, result, out.Len(), errs.Len(), len(in))
	}
	if result.BytesOut == nil || *result.BytesOut != int64(2*len(in)) {
		t.Errorf("counted %v", result.BytesOut)
	}
	// A command that reads nothing ends although input waits for ever.
	r, w, err := os.Pipe()
	check(t, err)
	defer r.Close()
	defer w.Close()
	for _, stdin := range []io.Reader{endless{}, r} {
		if result, err := s.Run(context.Background(), sandbox.Command{Argv: []string{"true"}, Stdin: stdin}); err != nil || result.ExitCode != 0 {
			t.Errorf("%v, %+v", err, result)
		}
	}
	// A command whose reader goes away learns it.
	read, write, err := os.Pipe()
	check(t, err)
	done := make(chan sandbox.Result, 1)
	go func() {
		result, err := s.Run(context.Background(), sandbox.Command{Argv: []string{"yes"}, Stdout: write, Timeout: time.Minute})
		if err != nil {
			t.Error(err)
		}
		done <- result
	}()
	_, err = io.ReadFull(read, make([]byte, 100_000))
	check(t, err)
	check(t, write.Close())
	check(t, read.Close())
	if result := <-done; result.Signal != int(syscall.SIGPIPE) {
		t.Errorf("%+v", result)
	}
}

// endless is input without an end.
type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

func TestSignalsAndLimits(t *testing.T) {
	m := newMachine(t, ssh.Shared)
	s := m.open()
	signals := make(chan os.Signal, 1)
	r, w, err := os.Pipe()
	check(t, err)
	go func() {
		_, _ = io.ReadFull(r, make([]byte, 6))
		signals <- syscall.SIGUSR1
	}()
	result, err := s.Run(context.Background(), sandbox.Command{
		Argv: []string{"sh", "-c", "trap 'exit 9' USR1; echo ready; while :; do sleep 0.05; done"}, Stdout: w, Signals: signals, Timeout: time.Minute,
	})
	if err != nil || result.ExitCode != 9 {
		t.Errorf("%v, %+v", err, result)
	}
	result, err = s.Run(context.Background(), sandbox.Command{Argv: []string{"sleep", "60"}, Timeout: 200 * time.Millisecond})
	if err != nil || result.Ending != sandbox.TimedOut {
		t.Errorf("%v, %+v", err, result)
	}
	orphaned := make(chan struct{})
	close(orphaned)
	result, err = s.Run(context.Background(), sandbox.Command{Argv: []string{"sleep", "60"}, Orphaned: orphaned})
	if err != nil || result.Ending != sandbox.Abandoned {
		t.Errorf("%v, %+v", err, result)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	result, err = s.Run(ctx, sandbox.Command{Argv: []string{"sleep", "60"}})
	if err != nil || result.Ending != sandbox.Abandoned {
		t.Errorf("%v, %+v", err, result)
	}
	m.profile.Limits.OutputBytes = 1000
	if out, result := m.run(m.open(), "sh", "-c", "head -c 5000 /dev/zero; exit 3"); len(out) != 1000 || result.ExitCode != 3 || result.BytesCut != 4000 {
		t.Errorf("%d bytes, %+v", len(out), result)
	}
}

// The command is confined there: the control writes to the same place without.
func TestConfinedThere(t *testing.T) {
	m := newMachine(t, ssh.Shared)
	s := m.open()
	canary := m.dir + "/out/canary"
	check(t, os.WriteFile(canary, []byte("as it was"), 0o644))
	out, result := m.run(s, "sh", "-c", "echo in >inside; echo x >"+canary+"; cat "+m.dir+"/key "+m.profile.Home+"/.netrc")
	if text, _ := os.ReadFile(canary); string(text) != "as it was" || result.ExitCode == 0 {
		t.Errorf("%q: %s%+v", text, out, result)
	}
	if text, _ := os.ReadFile(m.profile.Workspace + "/inside"); string(text) != "in\n" {
		t.Errorf("in the workspace: %q", text)
	}
	m.profile.Network, m.profile.Required = sandbox.NetworkHost, []sandbox.Control{sandbox.HostNetwork}
	_, err := m.open().Run(context.Background(), sandbox.Command{Argv: []string{"true"}})
	var gaps *sandbox.GapError
	if !errors.As(err, &gaps) || !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("a missing control that was required: %v", err)
	}
}

// sbx is copied once, and found afterwards.
func TestCopiedOnce(t *testing.T) {
	m := newMachine(t, ssh.Shared)
	m.run(m.open(), "true")
	copies := func() []string {
		list, err := filepath.Glob(m.home + "/.cache/sbx/far/*/*")
		check(t, err)
		return list
	}
	first := copies()
	if len(first) != 2 { // sbx, and sbx-proxy, which it finds beside itself
		t.Fatalf("copied: %q", first)
	}
	before, err := os.Stat(first[0])
	check(t, err)
	m.disconnect()
	m.run(m.open(), "true")
	if after, err := os.Stat(first[0]); err != nil || !os.SameFile(before, after) {
		t.Errorf("copied again: %v", err)
	}
	// Removed under a connection that stands: copied again.
	check(t, os.RemoveAll(m.home+"/.cache"))
	m.run(m.open(), "true")
	if len(copies()) != 2 {
		t.Errorf("not copied again: %q", copies())
	}
	m.options.Program = m.home + "/nowhere/sbx"
	_, err = m.open().Run(context.Background(), sandbox.Command{Argv: []string{"true"}})
	if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "start sbx there") {
		t.Errorf("a program that is not there: %v", err)
	}
}

// What ssh says is told apart from what a command does.
func TestErrorsOfSSH(t *testing.T) {
	m := newMachine(t, ssh.Shared)
	for name, c := range map[string]struct {
		change func(o *ssh.Options)
		want   string
	}{
		"unknown host key": {func(o *ssh.Options) {
			o.Options = strings.ReplaceAll(o.Options, m.dir+"/known", "/dev/null")
		}, "Host key verification failed"},
		"refused key": {func(o *ssh.Options) { o.Options = strings.ReplaceAll(o.Options, m.dir+"/key", m.dir+"/host") }, "Permission denied"},
		"no server":   {func(o *ssh.Options) { o.Options += fmt.Sprintf(" -p %d", freePort(t)) }, "Connection refused"},
	} {
		other := *m
		c.change(&other.options)
		if name == "no server" {
			other.options.Options = strings.Replace(other.options.Options, fmt.Sprintf("-p %d ", m.port), "", 1)
		}
		result, err := other.open().Run(context.Background(), sandbox.Command{Argv: []string{"true"}})
		if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), c.want) || result.Ending != sandbox.NotStarted || result.ExitCode != 125 {
			t.Errorf("%s: %v, %+v", name, err, result)
		}
	}
	m.run(m.open(), "true") // and the machine itself answers
}

// The user's configuration opens nothing.
func TestNothingIsForwarded(t *testing.T) {
	m := newMachine(t, ssh.Shared)
	agent := startAgent(t, m.dir)
	port := freePort(t)
	marker := m.dir + "/out/local"
	check(t, os.WriteFile(m.dir+"/client", fmt.Appendf(nil, "Host *\nForwardAgent yes\nForwardX11 yes\nStrictHostKeyChecking no\nBatchMode no\nPermitLocalCommand yes\nLocalCommand touch %s\n"+
		"LocalForward 127.0.0.1:%d 127.0.0.1:%d\nRemoteCommand echo other\nRequestTTY force\nSendEnv *\nSetEnv SBX_SECRET=leaked\nLogLevel QUIET\nControlPath none\n", marker, port, m.port), 0o600))
	t.Setenv("SSH_AUTH_SOCK", agent)
	t.Setenv("DISPLAY", ":7")
	out, result := m.run(m.open(), "sh", "-c", `echo "[$SSH_AUTH_SOCK][$DISPLAY][$SBX_SECRET]"; tty; exit 4`)
	if result.ExitCode != 4 || !strings.HasPrefix(out, "[][][]\nnot a tty\n") {
		t.Errorf("%q, %+v", out, result)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the local command ran")
	}
	if listens(port) {
		t.Error("a port is forwarded")
	}
	if sockets, _ := filepath.Glob("/tmp/ssh-*/agent.*"); len(sockets) > 0 {
		for _, s := range sockets {
			if !strings.HasPrefix(s, filepath.Dir(agent)) {
				if info, err := os.Stat(s); err == nil && time.Since(info.ModTime()) < 10*time.Second {
					t.Errorf("an agent is forwarded: %s", s)
				}
			}
		}
	}
}

// A server takes few sessions on a connection, and commands come all at once.
func TestManyAtOnce(t *testing.T) {
	m := prepare(t, ssh.Shared)
	m.extra = "MaxSessions 2\n"
	m.serve("127.0.0.1")
	s := m.open()
	var all sync.WaitGroup
	for i := range 7 {
		all.Go(func() {
			var out bytes.Buffer
			word := fmt.Sprint("word ", i)
			result, err := s.Run(context.Background(), sandbox.Command{Argv: []string{"sh", "-c", "sleep 1; echo $1", "sh", word}, Stdout: &out})
			if err != nil || out.String() != word+"\n" || result.ExitCode != 0 {
				t.Errorf("%v, %q, %+v", err, out.String(), result)
			}
		})
	}
	all.Wait()
	if n := len(m.sockets()); n < 2 {
		t.Errorf("%d connections", n)
	}
}

// The command line: flags, variables, the record, and what stands on which stream.
func TestCommandLine(t *testing.T) {
	m := newMachine(t, ssh.Sync)
	m.write("file", "carried")
	config := m.dir + "/here/config.json" // a directory of its own: no workspace may lie beside it
	check(t, os.WriteFile(config, fmt.Appendf(nil, `{"sbx": {"backend": "ssh", "ssh": {"host": "127.0.0.1", "options": %q}}}`, m.options.Options), 0o600))
	call := func(args ...string) (out, errs string, code int) {
		t.Helper()
		c := exec.Command(os.Getenv(programVar), args...)
		c.Dir = m.profile.Workspace
		c.Env = []string{"HOME=" + m.dir + "/here", "PATH=/usr/bin:/bin", "PEPE_CONFIG=" + config, "XDG_STATE_HOME=" + m.dir + "/s", "API_TOKEN=secret-of-here", "PLAIN=kept"}
		var o, e bytes.Buffer
		c.Stdout, c.Stderr = &o, &e
		err := c.Run()
		if c.ProcessState == nil {
			t.Fatal(err)
		}
		return o.String(), e.String(), c.ProcessState.ExitCode()
	}
	t.Cleanup(func() {
		sockets, _ := filepath.Glob(m.dir + "/s/sbx/ssh/*")
		for _, socket := range sockets {
			_ = exec.Command("/usr/bin/ssh", "-F", "/dev/null", "-O", "exit", "-S", socket, "x").Run()
		}
	})
	record := m.dir + "/out/record"
	out, errs, code := call("exec", "--result", record, "--", "sh", "-c", `cat file; echo " $PLAIN <$API_TOKEN>"; echo made >made; exit 255`)
	if out != "carried kept <>\n" || code != 255 || strings.Contains(errs, "error") {
		t.Errorf("%q, %q, %d", out, errs, code)
	}
	text, err := os.ReadFile(record)
	check(t, err)
	for _, want := range []string{`"backend":"ssh"`, `"exit_code":255`, `"writes-confined"`, `"ending":"exit"`, "direct on 127.0.0.1"} {
		if !strings.Contains(strings.ReplaceAll(string(text), `": `, `":`), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if made, _ := os.ReadFile(m.profile.Workspace + "/made"); string(made) != "made\n" {
		t.Errorf("%q", made)
	}
	if out, errs, code := call("exec", "--dry-run", "--", "true"); code != 0 || !strings.Contains(out, "start sbx there") {
		t.Errorf("%q, %q, %d", out, errs, code)
	}
	if out, errs, code := call("exec", "--ssh-host", "-oProxyCommand=id", "--", "true"); code != 125 || out != "" || !strings.Contains(errs, "sbx: error:") {
		t.Errorf("%q, %q, %d", out, errs, code)
	}
	if out, errs, code := call("exec", "--", "rm", "-rf", "/"); code != 126 || out != "" || !strings.Contains(errs, "sbx: refused:") {
		t.Errorf("%q, %q, %d", out, errs, code)
	}
}
