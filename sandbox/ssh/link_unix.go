//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package ssh

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/proc"
)

// link is the connection to a machine, which outlives this process.
type link struct {
	options Options
	client  string // path of ssh
	base    string // path of the socket; other files of the connection lie beside it
}

// longestSocket leaves room for what ssh appends while it makes the socket: the
// kernel takes 104 bytes on the shortest system.
const longestSocket = 104 - 18

// newLink finds the client and the place of the socket. One connection serves
// all that have the same options.
func newLink(o Options, p sandbox.Profile) (*link, error) {
	client, err := findClient(o.Client, p)
	if err != nil {
		return nil, err
	}
	name := hashOf(strings.Join([]string{client, o.Host, o.Options, o.Program, os.Getenv("SSH_AUTH_SOCK")}, "\x00"))
	dir, err := stateDir(o.State)
	if err != nil {
		return nil, err
	}
	return &link{options: o, client: client, base: filepath.Join(dir, name)}, nil
}

// further is another connection to the same machine.
func (l *link) further(n int) *link {
	other := *l
	other.base = fmt.Sprintf("%s-%d", l.base, n)
	return &other
}

// clientDirs is where ssh is looked for: PATH may hold directories of a workspace.
var clientDirs = [...]string{"/usr/bin", "/bin", "/usr/local/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin"}

func findClient(named string, p sandbox.Profile) (string, error) {
	candidates := []string{named}
	if named == "" {
		candidates = nil
		for _, dir := range clientDirs {
			candidates = append(candidates, dir+"/ssh")
		}
	}
	var why error
	for _, path := range candidates {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		err := proc.Trusted(path, p)
		if err == nil {
			return path, nil
		}
		why = fmt.Errorf("%s is not used: %w", path, err)
	}
	if why != nil {
		return "", why
	}
	return "", fmt.Errorf("there is no %s: install the OpenSSH client, or name it in sbx.ssh.client", strings.Join(candidates, ", "))
}

// stateDir is a directory that only the caller can enter. Credentials tables
// list it, so that no confined command on this machine reaches the sockets.
func stateDir(named string) (string, error) {
	dirs := []string{named}
	if named == "" {
		dirs = nil
		if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
			dirs = append(dirs, filepath.Join(dir, "sbx", "ssh"))
		}
		if home := os.Getenv("HOME"); filepath.IsAbs(home) {
			dirs = append(dirs, filepath.Join(home, ".local", "state", "sbx", "ssh"))
		}
		if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
			dirs = append(dirs, filepath.Join(dir, "sbx-ssh"))
		}
	}
	var first error
	for _, dir := range dirs {
		err := error(nil)
		if len(dir)+len("/0123456789abcdef-7") > longestSocket || strings.Contains(dir, "${") {
			err = fmt.Errorf("directory %q: it is too long for a socket (set XDG_RUNTIME_DIR to a short one of your own)", dir)
		}
		if err == nil {
			err = ownDir(dir)
		}
		if err == nil {
			return dir, nil
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = errors.New("neither HOME nor XDG_STATE_HOME is set")
	}
	return "", fmt.Errorf("find a place for the connection: %w", first)
}

func ownDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("directory %q: it belongs to somebody else", dir)
	}
	if info.Mode().Perm() != 0o700 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// there says whether a connection seems to stand.
func (l *link) there() bool {
	_, err := os.Lstat(l.base)
	return err == nil
}

// answers says whether somebody listens on the socket.
func (l *link) answers() bool {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	unix.CloseOnExec(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: l.base}) == nil
}

// lock holds the connection's files until unlock is called.
func (l *link) lock(ctx context.Context) (unlock func(), err error) {
	for {
		f, err := os.OpenFile(l.base+".lock", os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil && isStill(f, l.base+".lock") {
			return func() { _ = f.Close() }, nil
		}
		_ = f.Close()
		if err != nil && err != unix.EWOULDBLOCK && err != unix.EINTR {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// isStill says whether a path leads to the file that was opened by it.
func isStill(f *os.File, path string) bool {
	opened, err := f.Stat()
	now, nerr := os.Lstat(path)
	return err == nil && nerr == nil && os.SameFile(opened, now)
}

// stale is how long ago what is left of a connection was made when it is taken away.
const stale = 24 * time.Hour

// sweep takes away what connections have left that ended long ago: each agent and
// each set of options has one of its own.
func sweep(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		name := e.Name()
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < stale || strings.HasPrefix(name, "sync-") || name == "machine" {
			continue
		}
		if strings.HasPrefix(name, "words-") {
			_ = os.Remove(filepath.Join(dir, name))
			continue
		}
		old := &link{base: filepath.Join(dir, strings.TrimSuffix(strings.TrimSuffix(name, ".far"), ".lock"))}
		f, err := os.OpenFile(old.base+".lock", os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			continue
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && isStill(f, old.base+".lock") && !old.answers() {
			for _, end := range [...]string{"", ".far", ".lock"} {
				_ = os.Remove(old.base + end)
			}
		}
		_ = f.Close()
	}
}

// connect makes sure that the connection stands. The process that keeps it
// belongs to no run: it is in a session of its own and ends by itself.
func (l *link) connect(ctx context.Context) error {
	if l.there() {
		return nil
	}
	unlock, err := l.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if l.there() {
		return nil
	}
	sweep(filepath.Dir(l.base))
	args, err := l.options.masterArguments(l.base)
	if err != nil {
		return err
	}
	// A file, not a pipe: the process that stays would hold the pipe open.
	words, err := os.CreateTemp(filepath.Dir(l.base), "words-")
	if err != nil {
		return err
	}
	defer os.Remove(words.Name())
	defer words.Close()
	master := exec.CommandContext(ctx, l.client, args...)
	master.Stderr = words
	master.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := master.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		text, _ := os.ReadFile(words.Name())
		return l.sshError(string(text), err)
	}
	return nil
}

// forget drops a connection that nobody serves any more.
func (l *link) forget(ctx context.Context) error {
	unlock, err := l.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if l.answers() {
		return nil
	}
	_ = os.Remove(l.base)
	return nil
}

// session is a command over the connection, not started. Its environment holds
// nothing that ssh could send.
func (l *link) session(command string) *exec.Cmd {
	c := exec.Command(l.client, l.options.sessionArguments(l.base, command)...)
	for _, name := range [...]string{"HOME", "PATH", "USER", "LOGNAME"} {
		if value, ok := os.LookupEnv(name); ok {
			c.Env = append(c.Env, name+"="+value)
		}
	}
	// Not in our process group: what the terminal sends is for us to pass on.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c
}

// open runs a command there: over the socket, or by a client of its own where the
// connection's process speaks another version.
func (l *link) open(command string) (*channel, error) {
	if !l.options.byClient {
		if c, err := l.mux(command); !errors.Is(err, errNoMux) {
			return c, err
		}
	}
	child := l.session(command)
	child.WaitDelay = time.Second // the process of the connection has its streams, too
	var said sayings
	child.Stderr = &said
	in, err := child.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := child.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := child.Start(); err != nil {
		return nil, err
	}
	wait := sync.OnceFunc(func() { _ = child.Wait() })
	return &channel{
		in: in, out: out, kill: func() { _ = child.Process.Kill() },
		wait: func() (int, string) {
			_ = in.Close()
			wait() // before the words are read
			return child.ProcessState.ExitCode(), said.String()
		},
		close: func() {
			_ = in.Close()
			_ = child.Process.Kill()
			go wait()
		},
	}, nil
}

// ssh's own exit status.
const sshFailed = 255

// sshError is an error in ssh's words.
func (l *link) sshError(words string, err error) error {
	words = strings.TrimPrefix(oneLine(words), "ssh: ")
	if words == "" {
		words = err.Error()
	}
	if strings.HasPrefix(words, "kex_exchange_identification: Connection closed") {
		// ssh does not pass on what its ProxyJump or ProxyCommand says where a
		// connection is kept.
		words += fmt.Sprintf(" (or by a jump host on the way; `ssh %s` shows what it says)", l.options.Host)
	}
	return fmt.Errorf("connect to %s: ssh: %s", l.options.Host, words)
}

// maxWords bounds what is kept of what ssh or the other machine says on standard
// error.
const maxWords = 4 << 10

// sayings keeps the end of what is written to it.
type sayings struct{ bytes.Buffer }

func (s *sayings) Write(p []byte) (int, error) {
	if s.Len() > maxWords {
		s.Next(s.Len() - maxWords/2)
	}
	return s.Buffer.Write(p)
}

// oneLine makes a line of what another program says, without control characters.
func oneLine(words string) string {
	var lines []string
	for line := range strings.Lines(words) {
		line = strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return -1
			}
			return r
		}, line)
		if line = strings.TrimSpace(line); line != "" && strings.Trim(line, "@") != "" {
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines, "; ")
	if len(text) > 1000 {
		text = "…" + text[len(text)-1000:]
	}
	return strings.ToValidUTF8(text, "\ufffd")
}

// hashOf names a thing by a few bytes.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// machine is a number of this machine and user, made once.
func (l *link) machine() string {
	file := filepath.Join(filepath.Dir(l.base), "machine")
	for range 2 {
		if text, err := os.ReadFile(file); err == nil && len(text) > 0 {
			return string(text)
		}
		var random [8]byte
		_, _ = rand.Read(random[:])
		temp := fmt.Sprintf("%s-%x", file, random)
		if os.WriteFile(temp, []byte(hex.EncodeToString(random[:])), 0o600) == nil {
			_ = os.Link(temp, file) // whoever is first
		}
		_ = os.Remove(temp)
	}
	return ""
}
