package container_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/containerd"
)

const (
	netVar = "SBX_TEST_NETNS" // this process has a network of its own
	farVar = "SBX_TEST_FAR"   // another machine on it
)

// serve tells each caller its address, until there is no listener.
func serve(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
		fmt.Fprintf(c, "you are %s\n", host)
		_ = c.Close()
	}
}

// beFar is the other machine.
func beFar() int {
	l, err := net.Listen("tcp4", "0.0.0.0:8080")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready")
	serve(l)
	return 1
}

// apart is a process in a new network namespace.
func apart(t testing.TB, variable string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	check(t, err)
	c := exec.Command(self, args...)
	c.Env = append(os.Environ(), variable+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	return c
}

// TestContainerdNetwork is in a network namespace of its own: the bridge and its
// rules are not the host's.
func TestContainerdNetwork(t *testing.T) {
	need(t, containerd.Name)
	t.Setenv("CONTAINERD_ADDRESS", host(containerd.Name)) // a probe has no profile
	if c, err := newBackend(containerd.Name, options()).Probe(t.Context()); err == nil && c.Offline != "" && !slices.Contains(strings.Split(os.Getenv("SBX_REQUIRE"), ","), containerd.Name) {
		t.Skip(c.Offline)
	}
	if os.Getenv(netVar) != "" {
		withFar(newRoom(t, containerd.Name))
		return
	}
	out, err := apart(t, netVar, "-test.run=^TestContainerdNetwork$", "-test.v").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func withFar(r *room) {
	far := apart(r, farVar)
	said, err := far.StdoutPipe()
	check(r, err)
	check(r, far.Start())
	r.Cleanup(func() { _ = far.Process.Kill(); _ = far.Wait() })
	_, err = said.Read(make([]byte, 16))
	check(r, err)
	pid := strconv.Itoa(far.Process.Pid)
	for _, line := range []string{
		"ip link set lo up",
		"ip link add near type veth peer name far netns " + pid,
		"ip addr add 198.51.100.1/24 dev near", "ip link set near up",
		"nsenter --net=/proc/" + pid + "/ns/net ip addr add 198.51.100.2/24 dev far",
		"nsenter --net=/proc/" + pid + "/ns/net ip link set far up",
	} {
		words := strings.Fields(line)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			r.Fatalf("%s: %v: %s", line, err, out)
		}
	}
	loopback, err := net.Listen("tcp4", "127.0.0.1:0")
	check(r, err)
	defer loopback.Close()
	go serve(loopback)
	port := strconv.Itoa(loopback.Addr().(*net.TCPAddr).Port)
	if c, err := net.Dial("tcp4", loopback.Addr().String()); err != nil { // the control
		r.Fatal(err)
	} else {
		_ = c.Close()
	}
	ask := "nc -w 5 198.51.100.2 8080 </dev/null"
	if out, result := r.run(r.open(), "sh", "-c", ask); result.ExitCode == 0 || strings.Contains(out, "you are") {
		r.Errorf("with the network off: %q, %+v", out, result)
	}

	r.profile.Network = sandbox.NetworkHost
	r.profile.Container.Options = "--add-host far.test:198.51.100.2 --dns 198.51.100.2" // nothing resolves there, and says so
	s, err := r.backend().Open(r.Context(), r.profile)
	check(r, err)
	out, result := r.run(s, "sh", "-c", strings.Replace(ask, "198.51.100.2", "far.test", 1)+"; hostname; cat /etc/resolv.conf; "+
		"for at in 127.0.0.1 $(ip route | sed -n 's/default via \\([0-9.]*\\).*/\\1/p'); do nc -w 1 $at "+port+" </dev/null && echo OPEN; done; echo x >>/etc/hosts || exit 7")
	check(r, s.Close())
	lines := strings.Split(out, "\n")
	// The far machine knows no way back to the bridge: it sees the near one.
	if len(lines) < 3 || lines[0] != "you are 198.51.100.1" || !strings.HasPrefix(lines[1], "sbx-") || !strings.Contains(out, "nameserver 198.51.100.2\n") || result.ExitCode != 7 {
		r.Fatalf("%q, %+v", out, result)
	}
	if strings.Contains(out, "OPEN") {
		r.Errorf("the host's loopback is open: %q", out)
	}
	if left := traces(r, lines[1]); left != nil {
		r.Errorf("left on the host: %q", left)
	}
	if rules := output(r, "iptables-save"); strings.Contains(rules, "/32") || !strings.Contains(rules, "MASQUERADE") {
		r.Errorf("rules: %s", rules)
	}
	killedOnline(r)
}

// killedOnline kills a maker whose container has a network: the interface is gone
// with the container, the rest with the next run.
func killedOnline(r *room) {
	c := r.victim()
	ids := r.containers()
	if len(ids) != 1 || len(traces(r, ids[0])) == 0 || !strings.Contains(output(r, "ip", "link", "show", "master", "sbx0"), "veth") { // the control
		r.Fatalf("containers %q, %q", ids, output(r, "ip", "link"))
	}
	check(r, c.Process.Kill())
	_ = c.Wait()
	ports := func() string { return output(r, "ip", "link", "show", "master", "sbx0") }
	if !await(func() bool { return ports() == "" }) {
		r.Errorf("after the kill: %s", ports())
	}
	s, err := r.backend().Open(r.Context(), r.profile)
	check(r, err)
	r.run(s, "true")
	check(r, s.Close())
	if left := traces(r, ids[0]); left != nil {
		r.Errorf("after the next run: %q", left)
	}
	r.leavesNothing()
}

// traces are the files about a container's network.
func traces(r *room, id string) []string {
	r.Helper()
	var found []string
	check(r, filepath.WalkDir("/run/sbx/cni", func(at string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // it may go while we look
		}
		text, _ := os.ReadFile(at)
		if strings.Contains(at, id) || bytes.Contains(text, []byte(id)) {
			found = append(found, at)
		}
		return nil
	}))
	return found
}

func output(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatalf("%s %q: %v", name, args, err)
	}
	return string(out)
}
