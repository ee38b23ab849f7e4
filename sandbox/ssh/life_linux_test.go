package ssh_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/probes"
	"github.com/sbx-run/sbx/sandbox/ssh"
)

// gone is how long a test waits for the end of what outlived the last sign from here:
// five seconds are promised, a machine that is busy with other tests takes longer, and
// what is not ended stays for minutes.
const gone = 20 * time.Second

// victimVar makes the test binary a process that runs a command there and is
// killed.
const victimVar = "SBX_TEST_VICTIM"

// clientVar makes it start a client for the session.
const clientVar = "SBX_TEST_CLIENT"

type order struct {
	Options ssh.Options
	Profile sandbox.Profile
	Argv    []string
}

func beVictim() int {
	var o order
	if err := json.Unmarshal([]byte(os.Getenv(victimVar)), &o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if os.Getenv(clientVar) != "" {
		o.Options = ssh.ByClient(o.Options)
	}
	s, err := ssh.New(o.Options).Open(context.Background(), o.Profile)
	if err == nil {
		_, err = s.Run(context.Background(), sandbox.Command{Argv: o.Argv, Stdout: os.Stdout})
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// tree is what a test leaves running there: a shell, a child, and a daemon that
// has left session and group.
func tree(mark string) []string {
	return []string{"sh", "-c", "setsid sh -c 'sleep 1000; : " + mark + "' & sleep 1001; : " + mark}
}

// living lists the processes whose command line has the mark.
func living(mark string) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if pid, perr := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && perr == nil && strings.Contains(string(text), mark) &&
			!strings.Contains(string(text), "SBX") && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// victim starts a process that runs a tree there, and returns when it runs.
func (m *machine) victim(mark string) *exec.Cmd {
	m.Helper()
	text, err := json.Marshal(order{m.options, m.profile, tree(mark)})
	check(m, err)
	self, err := os.Executable()
	check(m, err)
	v := exec.Command(self)
	v.Env = append(os.Environ(), victimVar+"="+string(text))
	v.Stderr = os.Stderr
	check(m, v.Start())
	m.Cleanup(func() { _ = v.Process.Kill(); _ = v.Wait() })
	m.started(mark)
	return v
}

func (m *machine) started(mark string) {
	m.Helper()
	if !eventually(func() bool { return len(living(mark)) >= 2 }) {
		m.Fatalf("the tree does not run: %s", m.log())
	}
}

// ends checks that the tree is gone in time.
func (m *machine) ends(mark, why string) {
	m.Helper()
	began := time.Now()
	for len(living(mark)) > 0 {
		if time.Since(began) > gone {
			m.Errorf("%s: %d processes are left after %v", why, len(living(mark)), gone)
			for _, pid := range living(mark) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func mark(t *testing.T) string { return fmt.Sprintf("mark-%d-%s", os.Getpid(), t.Name()) }

// Whatever part is killed, nothing is left there.
func TestKilled(t *testing.T) {
	m := newMachine(t, ssh.Shared)
	m.run(m.open(), "true")
	t.Setenv(clientVar, "1")
	for name, kill := range map[string]func(victim *exec.Cmd) int{
		"sbx here, and its client": func(v *exec.Cmd) int { return v.Process.Pid },
		"its client":               func(v *exec.Cmd) int { return childOf(v.Process.Pid) },
		"the connection":           func(*exec.Cmd) int { return m.master() },
	} {
		v := m.victim(mark(t))
		if os.Getenv(clientVar) != "" && childOf(v.Process.Pid) == 0 {
			t.Fatal("there is no client")
		}
		pid := kill(v)
		if pid == 0 {
			t.Fatalf("%s: no such process", name)
		}
		check(t, syscall.Kill(pid, syscall.SIGKILL))
		m.ends(mark(t), name)
		_ = v.Process.Kill()
		_ = v.Wait()
	}
	m.run(m.open(), "true") // a new connection is made
	os.Unsetenv(clientVar)
	for name, kill := range map[string]func(victim *exec.Cmd) int{
		"sbx here":       func(v *exec.Cmd) int { return v.Process.Pid },
		"the connection": func(*exec.Cmd) int { return m.master() },
	} {
		v := m.victim(mark(t))
		check(t, syscall.Kill(kill(v), syscall.SIGKILL))
		m.ends(mark(t), name)
		_ = v.Process.Kill()
		_ = v.Wait()
	}
}

// Where the connection's process speaks another version, the client does it.
func TestByClient(t *testing.T) {
	m := newMachine(t, ssh.Shared)
	m.options = ssh.ByClient(m.options)
	if out, result := m.run(m.open(), "sh", "-c", "echo out; exit 255"); out != "out\n" || result.ExitCode != 255 {
		t.Errorf("%q, %+v", out, result)
	}
}

// sbx there is killed: the kernel ends what it confines.
func TestFarKilled(t *testing.T) {
	m := newMachine(t, ssh.Shared)
	done := make(chan error, 1)
	s := m.open()
	go func() {
		_, err := s.Run(context.Background(), sandbox.Command{Argv: tree(mark(t))})
		done <- err
	}()
	m.started(mark(t))
	far := living(m.home + "/.cache/sbx/far/")
	if len(far) == 0 {
		t.Fatal("sbx does not run there")
	}
	for _, pid := range far {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	m.ends(mark(t), "sbx there")
	if err := <-done; !errors.Is(err, sandbox.ErrLost) {
		t.Errorf("%v", err)
	}
}

// childOf is the first child of a process.
func childOf(pid int) int {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		if fields := strings.Fields(string(text)); len(fields) > 0 {
			child, _ := strconv.Atoi(fields[0])
			return child
		}
	}
	return 0
}

// startAgent is a real ssh-agent, which nobody may reach from there.
func startAgent(t *testing.T, dir string) string {
	t.Helper()
	socket := dir + "/agent"
	agent := exec.Command("ssh-agent", "-D", "-a", socket)
	check(t, agent.Start())
	t.Cleanup(func() { _ = agent.Process.Kill(); _ = agent.Wait() })
	if !eventually(func() bool { _, err := os.Stat(socket); return err == nil }) {
		t.Fatal("no agent")
	}
	return socket
}

func listens(port int) bool {
	c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}

// TestConformance runs the suite of package probes: each row is held, or the
// gap is named.
func TestConformance(t *testing.T) {
	m := newMachine(t, ssh.Shared)
	self, err := os.Executable()
	check(t, err)
	report, err := probes.Run(context.Background(), m.backend(), probes.Options{
		Parallel: 3, Helper: []string{self}, Dir: os.Getenv(baseVar), Only: strings.FieldsFunc(os.Getenv("SBX_TEST_ROWS"), func(r rune) bool { return r == ',' }),
		Environ: []string{machineVar + "=" + optionsText(m.options)}, Proxy: filepath.Join(filepath.Dir(os.Getenv(programVar)), "sbx-proxy"),
	})
	check(t, err)
	held := 0
	for _, o := range report.Outcomes {
		switch {
		case o.Status == probes.Held:
			held++
		case o.Status == probes.NotHeld, o.Refused && o.Want == "works":
			t.Errorf("%s: %s: not held\n  without a sandbox: %s\n  inside: %s\n  %s", o.ID, o.Try, o.Control, o.Observed, o.Why)
		case o.Status == probes.NotTried:
			t.Logf("%s: %s: %s", o.ID, o.Try, o.Why)
		}
	}
	if os.Getenv("SBX_TEST_ROWS") == "" && held < 200 {
		t.Errorf("only %d rows held", held)
	}
	t.Logf("%s", report.Summary())
}
