package ssh_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/none"
	"github.com/sbx-run/sbx/sandbox/probes"
	"github.com/sbx-run/sbx/sandbox/ssh"
)

const (
	programVar = "SBX_TEST_PROGRAM" // sbx, which is copied to the other side
	baseVar    = "SBX_TEST_BASE"    // where an ordinary user has rooms
	machineVar = "SBX_TEST_MACHINE" // of the probe program: host, options and state, by lines
)

// The test binary is the probe program too.
func TestMain(m *testing.M) {
	if probes.Helper(os.Args[1:]) {
		os.Exit(probes.Main(os.Args[1:], lookup))
	}
	if os.Getenv(victimVar) != "" {
		os.Exit(beVictim())
	}
	os.Exit(run(m))
}

// lookup finds a backend for the probe program.
func lookup(name string, _ []string) (sandbox.Backend, error) {
	switch name {
	case ssh.Name:
		return ssh.New(optionsFrom(os.Getenv(machineVar))), nil
	case none.Name:
		return none.New(), nil
	}
	return nil, fmt.Errorf("no backend %q", name)
}

// optionsFrom reads what optionsText wrote.
func optionsFrom(text string) ssh.Options {
	f := strings.Split(text, "\n")
	return ssh.Options{Host: f[0], Options: f[1], State: f[2], Self: f[3], Workspace: ssh.Mode(f[4])}
}

func optionsText(o ssh.Options) string {
	return strings.Join([]string{o.Host, o.Options, o.State, o.Self, string(o.Workspace)}, "\n")
}

// run builds sbx once.
func run(m *testing.M) int {
	if os.Getenv(programVar) == "" {
		dir, err := os.MkdirTemp("", "sbx-ssh-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		_ = os.Chmod(dir, 0o755)
		for _, name := range []string{"sbx", "sbx-proxy"} {
			build := exec.Command("go", "build", "-o", dir+"/"+name, "github.com/sbx-run/sbx/cmd/"+name)
			build.Env = append(os.Environ(), "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "build %s: %v\n%s", name, err, out)
				return 1
			}
		}
		os.Setenv(programVar, dir+"/sbx")
	}
	return m.Run()
}

// machine is a real sshd, and a workspace.
type machine struct {
	*testing.T
	dir, home string // home is the user's there
	port      int
	sshd      *exec.Cmd
	options   ssh.Options
	profile   sandbox.Profile
	wrap      []string // before sshd's command line
	extra     string   // lines of its configuration
	vars      string   // further variables of its sessions
}

func need(t *testing.T) string {
	t.Helper()
	sshd := "/usr/sbin/sshd"
	for _, program := range []string{sshd, "/usr/bin/ssh", "/usr/bin/ssh-keygen"} {
		if _, err := os.Stat(program); err != nil {
			if slices.Contains(strings.Split(os.Getenv("SBX_REQUIRE"), ","), ssh.Name) {
				t.Fatalf("there is no %s: scripts/test-deps.sh installs it", program)
			}
			t.Skipf("there is no %s", program)
		}
	}
	return sshd
}

func newMachine(t *testing.T, mode ssh.Mode) *machine {
	t.Helper()
	m := prepare(t, mode)
	m.serve("127.0.0.1")
	return m
}

// prepare makes the directories and keys of a machine.
func prepare(t *testing.T, mode ssh.Mode) *machine {
	t.Helper()
	need(t)
	base := os.Getenv(baseVar)
	if base == "" {
		base = "/var/lib"
	}
	dir, err := os.MkdirTemp(base, "sbxs-")
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	check(t, os.Chmod(dir, 0o755))
	m := &machine{T: t, dir: dir, home: dir + "/there"}
	for _, d := range []string{"ws", "out", "here", "there", "tmp", "cache", "s"} {
		check(t, os.Mkdir(dir+"/"+d, 0o755))
	}
	check(t, os.Chmod(dir+"/s", 0o700))
	for _, key := range []string{"key", "host"} {
		out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", dir+"/"+key).CombinedOutput()
		if err != nil {
			t.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
	}
	m.options = ssh.Options{Host: "127.0.0.1", State: dir + "/s", Self: os.Getenv(programVar), Workspace: mode, Keep: 20 * time.Second}
	m.profile = sandbox.Profile{
		Workspace: dir + "/ws", Home: dir + "/here", Private: sandbox.Private{Temp: dir + "/tmp", Cache: dir + "/cache"}, Supervisor: true,
	}
	if me, err := user.Current(); err == nil && mode == ssh.Shared && me.Uid == "0" {
		m.profile.Home = m.home
	}
	return m
}

// path is a PATH for the machine, on which no sbx is installed, whatever this one has.
func (m *machine) path() string {
	m.Helper()
	dirs := []string{"/usr/local/bin", "/usr/bin"}
	if !slices.ContainsFunc(dirs, func(dir string) bool { _, err := os.Lstat(dir + "/sbx"); return err == nil }) {
		return strings.Join(append(dirs, "/bin"), ":")
	}
	links := m.dir + "/path"
	check(m, os.MkdirAll(links, 0o755))
	for _, dir := range dirs {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), "sbx") {
				_ = os.Symlink(dir+"/"+e.Name(), links+"/"+e.Name()) // the first one counts
			}
		}
	}
	return links
}

// serve starts sshd on a free port of an address.
func (m *machine) serve(address string) {
	m.Helper()
	if os.Geteuid() == 0 {
		if err := os.Mkdir("/run/sshd", 0o755); err == nil { // where it locks itself up
			m.Cleanup(func() { _ = os.Remove("/run/sshd") })
		}
	}
	if m.vars == "" {
		m.vars = " PATH=" + m.path()
	}
	for range 20 {
		m.port = freePort(m.T)
		if m.listen(address) {
			break
		}
		m.stop()
	}
	if m.sshd == nil {
		m.Fatalf("sshd does not start: %s", m.log())
	}
	m.Cleanup(m.stop)
	key, err := os.ReadFile(m.dir + "/host.pub")
	check(m, err)
	check(m, os.WriteFile(m.dir+"/known", fmt.Appendf(nil, "[%s]:%d %s", address, m.port, key), 0o600))
	m.options.Host = address
	m.options.Options = fmt.Sprintf("-p %d -F %s/client -i %s/key -o UserKnownHostsFile=%s/known -o IdentitiesOnly=yes", m.port, m.dir, m.dir, m.dir)
	check(m, os.WriteFile(m.dir+"/client", nil, 0o600))
	m.Cleanup(m.disconnect)
}

func (m *machine) listen(address string) bool {
	config := fmt.Sprintf("ListenAddress %s:%d\nHostKey %s/host\nAuthorizedKeysFile %s/key.pub\nStrictModes no\nUsePAM no\nPidFile none\n"+
		"PermitRootLogin prohibit-password\nSetEnv HOME=%s%s\n%s", address, m.port, m.dir, m.dir, m.home, m.vars, m.extra)
	check(m, os.WriteFile(m.dir+"/sshd", []byte(config), 0o600))
	log, err := os.Create(m.dir + "/log")
	check(m, err)
	defer log.Close()
	argv := append(slices.Clone(m.wrap), "/usr/sbin/sshd", "-D", "-e", "-f", m.dir+"/sshd")
	m.sshd = exec.Command(argv[0], argv[1:]...)
	m.sshd.Stderr = log
	m.sshd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	check(m, m.sshd.Start())
	return eventually(func() bool { return strings.Contains(m.log(), "Server listening") })
}

func (m *machine) log() string {
	text, _ := os.ReadFile(m.dir + "/log")
	return string(text)
}

func (m *machine) stop() {
	if m.sshd != nil {
		_ = m.sshd.Process.Kill()
		_ = m.sshd.Wait()
		m.sshd = nil
	}
}

// sockets are those of the connections that stand.
func (m *machine) sockets() []string {
	all, err := filepath.Glob(m.dir + "/s/*")
	check(m, err)
	return slices.DeleteFunc(all, func(path string) bool {
		info, err := os.Lstat(path)
		return err != nil || info.Mode()&os.ModeSocket == 0
	})
}

// disconnect ends the connections.
func (m *machine) disconnect() {
	for _, socket := range m.sockets() {
		_ = exec.Command("/usr/bin/ssh", "-F", "/dev/null", "-S", socket, "-O", "exit", "x").Run()
	}
}

// master is the process that keeps the connection.
func (m *machine) master() int {
	m.Helper()
	for _, socket := range m.sockets() {
		out, _ := exec.Command("/usr/bin/ssh", "-F", "/dev/null", "-S", socket, "-O", "check", "x").CombinedOutput()
		_, rest, _ := strings.Cut(string(out), "pid=")
		number, _, _ := strings.Cut(rest, ")")
		if pid, err := strconv.Atoi(number); err == nil {
			return pid
		}
	}
	m.Fatal("no connection stands")
	return 0
}

func (m *machine) backend() sandbox.Backend { return ssh.New(m.options) }

func (m *machine) open() sandbox.Session {
	m.Helper()
	s, err := m.backend().Open(context.Background(), m.profile)
	check(m, err)
	m.Cleanup(func() { check(m, s.Close()) })
	return s
}

// run runs a command and returns its standard output and error, one after the other.
func (m *machine) run(s sandbox.Session, argv ...string) (string, sandbox.Result) {
	m.Helper()
	var out, errs bytes.Buffer
	result, err := s.Run(context.Background(), sandbox.Command{Argv: argv, Stdout: &out, Stderr: &errs, Timeout: time.Minute})
	if err != nil {
		m.Fatalf("%q: %v\n%s", argv, err, m.log())
	}
	return out.String() + errs.String(), result
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// eventually waits for what takes a moment.
func eventually(done func() bool) bool {
	for end := time.Now().Add(10 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
