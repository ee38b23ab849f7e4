//go:build amd64 || arm64

package probes

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	secretMark = "sbx-canary-" // every secret of a room begins with it
	secretVar  = "SBX_PROBE_SECRET"
)

// room is the place of one run of the suite: temporary directories, and what
// watches them. Nothing outside of it is changed.
type room struct {
	base    string // holds all but temp, shm and sockets
	temp    string // below the host's temp directory
	varTemp string // below /var/tmp
	shm     string // below /dev/shm; empty where there is none
	sockets string // below a directory that holds sockets of daemons; may be empty

	id     string // a part of every name that this run makes on the host
	secret string
	mark   string // in the arguments of every process that is left on purpose

	inbox    inbox
	victim   *victimProcess
	shared   shared
	terminal *terminal
	made     map[string]string // files, as watchFile saw them
}

func (r *room) ws() string   { return r.base + "/ws" }
func (r *room) out() string  { return r.base + "/out" }
func (r *room) home() string { return r.base + "/home" }
func (r *room) run() string  { return r.base + "/run" }

// helper is the probe program's path inside.
func (r *room) helper() string { return r.ws() + "/.sbx-probe" }

// Base is where the temporary tree is made when nobody says otherwise: not in
// a temp directory, which backends replace by a private one. What is outside
// would be invisible there, and the probes would show less.
func Base() string {
	if os.Geteuid() == 0 {
		return "/var/cache"
	}
	for _, dir := range []string{os.Getenv("XDG_CACHE_HOME"), filepath.Join(os.Getenv("HOME"), ".cache"), os.Getenv("HOME")} {
		if filepath.IsAbs(dir) && len(dir) < 40 && unix.Access(dir, unix.W_OK) == nil {
			return dir
		}
	}
	return os.TempDir()
}

func newRoom(dir string, helper []string) (_ *room, err error) {
	r := &room{made: map[string]string{}, shared: noShared()}
	defer func() {
		if err != nil {
			_ = r.close()
		}
	}()
	var random [12]byte
	if _, err := unix.Getrandom(random[:], 0); err != nil {
		return nil, fmt.Errorf("get random bytes: %w", err)
	}
	r.id = hex.EncodeToString(random[:4])
	r.secret, r.mark = secretMark+hex.EncodeToString(random[4:]), "sbx-mark-"+r.id
	if r.base, err = r.makeTemp(dir); err != nil {
		return nil, err
	}
	if r.temp, err = r.makeTemp(os.TempDir()); err != nil {
		return nil, err
	}
	if r.varTemp, err = r.makeTemp("/var/tmp"); err != nil {
		return nil, err
	}
	r.shm, _ = r.makeTemp("/dev/shm")
	for _, dir := range []string{os.Getenv("XDG_RUNTIME_DIR"), "/run"} {
		if r.sockets == "" && filepath.IsAbs(dir) {
			r.sockets, _ = r.makeTemp(dir)
		}
	}
	for _, d := range []string{r.run(), r.base + "/sock", r.base + "/private", r.base + "/private/tmp", r.base + "/private/cache"} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return nil, err
		}
	}
	if err := r.fill(); err != nil {
		return nil, err
	}
	if err := r.install(helper[0]); err != nil {
		return nil, err
	}
	if err := r.inbox.open(r); err != nil {
		return nil, err
	}
	if r.victim, err = startVictim(helper, r); err != nil {
		return nil, err
	}
	if r.terminal, err = openTerminal(); err != nil {
		return nil, err
	}
	r.shared.open(r.id)
	return r, nil
}

func (r *room) makeTemp(dir string) (string, error) {
	name, err := os.MkdirTemp(dir, "sbx-probe-"+r.id+"-")
	if err != nil {
		return "", err
	}
	if name, err = filepath.EvalSymlinks(name); err != nil {
		return "", err
	}
	return name, os.Chmod(name, 0o755)
}

// close removes everything.
func (r *room) close() error {
	var errs []error
	if r.victim != nil {
		r.victim.end()
	}
	r.inbox.close()
	r.shared.close()
	if r.terminal != nil {
		r.terminal.close()
	}
	r.sweep()
	for _, dir := range []string{r.base, r.temp, r.varTemp, r.shm, r.sockets} {
		if dir != "" {
			errs = append(errs, removeAll(dir))
		}
	}
	return errors.Join(errs...)
}

// removeAll also removes directories that lost their mode.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// fill makes the files as they were, so that no row sees what another one did.
// What is unchanged is left alone: making seventy files for each try would be
// most of the time of the suite.
func (r *room) fill() error {
	files := append(append(outsideFiles(), workspaceFiles()...), file{"ws/new-hook", "exit 0\n", 0o755})
	known := make(map[string]bool, len(files))
	for _, f := range files {
		known[filepath.Join(r.base, f.path)] = true
	}
	if err := r.clear(known); err != nil {
		return err
	}
	for _, f := range files {
		if err := r.restore(f); err != nil {
			return err
		}
	}
	for _, dir := range []string{r.temp, r.varTemp, r.shm} {
		if dir == "" {
			continue
		}
		_ = os.Remove(dir + "/new")
		if err := os.WriteFile(dir+"/f", []byte(r.secret+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// clear removes what is not known. Workspace and outside stay the directories
// they are: a session may be open.
func (r *room) clear(known map[string]bool) error {
	for _, dir := range []string{"ws", "out", "extra", "hide", "home", "private/tmp", "private/cache"} {
		top := filepath.Join(r.base, dir)
		err := filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
			if err != nil || path == top || known[path] || path == r.helper() {
				return nil
			}
			if err := removeAll(path); err != nil {
				return err
			}
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// restore makes a file or directory unless it is as it was made.
func (r *room) restore(f file) error {
	at := filepath.Join(r.base, f.path)
	if strings.HasSuffix(f.path, "/") {
		info, err := os.Lstat(at)
		if err == nil && info.IsDir() && info.Mode().Perm() == f.mode {
			return nil
		}
		if err == nil && !info.IsDir() {
			_ = os.Remove(at)
		}
		if err := os.Mkdir(at, f.mode); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		return os.Chmod(at, f.mode)
	}
	now := state{}
	if watchFile(now, at); r.made[at] != "" && now[at] == r.made[at] {
		return nil
	}
	if err := removeAll(at); err != nil {
		return err
	}
	if err := os.WriteFile(at, []byte(strings.ReplaceAll(f.text, "SECRET", r.secret)), f.mode); err != nil {
		return err
	}
	err := os.Chmod(at, f.mode)
	watchFile(now, at)
	r.made[at] = now[at]
	return err
}

// install copies the probe program into the workspace, which every backend
// shows at its own path, and for root a set-id copy of another user outside.
func (r *room) install(program string) error {
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.helper(), text, 0o755); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return nil
	}
	if err := os.WriteFile(r.base+"/bin/root", []byte(r.secret+"\n"), 0o600); err != nil {
		return err
	}
	other := r.base + "/bin/other"
	if err := os.WriteFile(other, text, 0o755); err != nil {
		return err
	}
	if os.Chown(other, 1, 1) != nil {
		return os.Remove(other) // a user namespace with one user: the row cannot be tried
	}
	return os.Chmod(other, os.ModeSetuid|0o755)
}

// sweep ends the processes that bear the room's mark. They are ours alone: the
// mark is random.
func (r *room) sweep() {
	if r.mark == "" {
		return
	}
	for _, pid := range processesWith(r.mark) {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// vars are the places that rows name.
func (r *room) vars() map[string]string {
	return map[string]string{
		"W": r.ws(), "O": r.out(), "H": r.home(), "B": r.base, "T": r.temp, "VT": r.varTemp, "SHM": r.shm, "RUN": r.sockets,
		"TCP": strconv.Itoa(r.inbox.port("tcp")), "TCP6": strconv.Itoa(r.inbox.port("tcp6")),
		"UDP": strconv.Itoa(r.inbox.port("udp")), "UDP6": strconv.Itoa(r.inbox.port("udp6")),
		"SOCK": r.base + "/sock", "ABSTRACT": r.mark,
		"VICTIM": strconv.Itoa(r.victim.pid), "ADDRESS": strconv.FormatUint(r.victim.address, 10),
		"KEY": strconv.Itoa(r.shared.key), "QUEUE": r.shared.queue, "PTS": r.terminal.name,
		"MARK": r.mark, "PROBE": r.helper(), "SIZE": strconv.Itoa(len(r.secret) + 1),
	}
}

// await waits for what takes milliseconds.
func await(done func() bool) bool { return awaitFor(10*time.Second, done) }

func awaitFor(limit time.Duration, done func() bool) bool {
	for end := time.Now().Add(limit); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
