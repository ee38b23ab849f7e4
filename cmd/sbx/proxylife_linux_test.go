package main

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/sandbox"
)

// confinedProxy starts a command with rules that says when it runs, and finds its
// sbx-proxy. The command goes on when it gets a line.
func confinedProxy(t *testing.T, after string) (cmd *exec.Cmd, proxy int, record string, goOn func()) {
	t.Helper()
	if have, err := condition("full"); err != nil || !have {
		if err != nil {
			t.Fatal(err)
		}
		t.Skip("the tier full does not work here")
	}
	ws, err := os.MkdirTemp("/var/tmp", "sbx-life-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(ws) })
	record = filepath.Join(ws, "record.json")
	if err := os.Mkdir(filepath.Join(ws, "ws"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(filepath.Join(os.Getenv(binVar), "sbx"), "exec", "--network", "allow:example.com", "--result", record, "--", "bash", "-c", "echo ready; read -r x; "+after)
	cmd.Dir = filepath.Join(ws, "ws")
	cmd.Env = append(os.Environ(), "HOME="+ws)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	for _, pid := range childrenNamed(cmd.Process.Pid, "sbx-proxy") {
		proxy = pid
	}
	if proxy == 0 {
		t.Fatal("no sbx-proxy below sbx")
	}
	return cmd, proxy, record, func() { _, _ = in.Write([]byte("go\n")) }
}

func childrenNamed(parent int, name string) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(text), "(")
		comm, rest, _ := strings.Cut(rest, ") ")
		fields := strings.Fields(rest)
		if comm == name && len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pid, _ := strconv.Atoi(strings.Split(file, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}

// gone waits until a process is no more, or is a zombie that nobody waits for.
func gone(pid int) bool {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(text), ") Z ") {
			return true
		}
	}
	return false
}

func readRecord(t *testing.T, file string) sbx.Result {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r sbx.Result
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestProxyEndsWithTheRun(t *testing.T) {
	cmd, proxy, record, goOn := confinedProxy(t, "curl -sS https://evil.test/")
	if syscall.Kill(proxy, 0) != nil {
		t.Fatal("control: the proxy does not run")
	}
	goOn()
	_ = cmd.Wait()
	if !gone(proxy) {
		t.Error("sbx-proxy is left")
	}
	if r := readRecord(t, record); len(r.Denials) != 1 || r.NetworkError != "" {
		t.Errorf("%+v", r)
	}
}

func TestProxyEndsWhenSbxIsKilled(t *testing.T) {
	cmd, proxy, _, _ := confinedProxy(t, "sleep 60")
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if !gone(proxy) {
		t.Error("sbx-proxy is left")
	}
}

// When the proxy breaks nothing is reached any more, and the record says so.
func TestBrokenProxyShutsTheNetwork(t *testing.T) {
	cmd, proxy, record, goOn := confinedProxy(t, "curl -sS https://example.com/")
	if err := syscall.Kill(proxy, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if !gone(proxy) {
		t.Fatal("the proxy was not killed")
	}
	goOn()
	_ = cmd.Wait()
	if r := readRecord(t, record); r.ExitCode != 7 || !strings.Contains(r.NetworkError, "killed by signal 9") {
		t.Errorf("exit %d, %q", r.ExitCode, r.NetworkError)
	}
}

// The proxy answers its own sandbox: not the host, and not another sandbox, which
// has one of its own.
func TestProxyAnswersItsOwnSandbox(t *testing.T) {
	_, proxy, _, _ := confinedProxy(t, "true")
	if c, err := net.DialTimeout("tcp", sandbox.ProxyAddress, time.Second); err == nil {
		c.Close()
		t.Error("the proxy answers the host")
	}
	home := t.TempDir()
	ws := filepath.Join(home, "ws")
	if err := os.Mkdir(ws, 0o755); err != nil {
		t.Fatal(err)
	}
	ask := func(network string) string {
		cmd := exec.Command(filepath.Join(os.Getenv(binVar), "sbx"), "exec", "--network", network, "--", "curl", "-sS", "-x", "http://"+sandbox.ProxyAddress, "http://other.test/")
		cmd.Dir, cmd.Env = ws, append(os.Environ(), "HOME="+home)
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	if out := ask("off"); strings.Contains(out, "sbx: refused") {
		t.Errorf("a sandbox without network reaches it: %s", out)
	}
	// The control: with rules there is one, and it is another.
	if out := ask("allow:"); !strings.Contains(out, "sbx: refused: request other.test:80") {
		t.Errorf("%s", out)
	}
	if syscall.Kill(proxy, 0) != nil {
		t.Error("the first one has ended")
	}
}

// A signal of the terminal is the command's, which may need the network to end
// well: the proxy is in a session of its own.
func TestProxyHasItsOwnSession(t *testing.T) {
	cmd, proxy, _, goOn := confinedProxy(t, "true")
	text, err := os.ReadFile("/proc/" + strconv.Itoa(proxy) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text)[strings.LastIndex(string(text), ")")+2:])
	if fields[3] != strconv.Itoa(proxy) {
		t.Errorf("session %s of process %d", fields[3], proxy)
	}
	if os.Geteuid() != 0 {
		if _, err := os.ReadFile("/proc/" + strconv.Itoa(proxy) + "/environ"); err == nil {
			t.Error("the memory of the proxy can be read")
		}
	}
	goOn()
	_ = cmd.Wait()
}
