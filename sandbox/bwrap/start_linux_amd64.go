package bwrap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/bound"
	"github.com/sbx-run/sbx/sandbox/egress"
	"github.com/sbx-run/sbx/sandbox/layout"
	"github.com/sbx-run/sbx/sandbox/proc"
	"github.com/sbx-run/sbx/sandbox/spawn"
)

// run is one command on its way.
type run struct {
	*session
	command sandbox.Command
	hold    *bound.Hold
	bounds  bound.Bounds
	gate    *egress.Gate // nil: no rules

	pipes *spawn.Pipes
	ends  ends
	first int // process 1 of the command
	scene scene
	temp  *temps
}

// setupError is what bwrap said when it ended before the command began.
type setupError struct{ said string }

func (e *setupError) Error() string {
	if e.said == "" {
		return "bwrap ended before the command began, and said nothing"
	}
	return "bwrap: " + e.said
}

// looks is how often the host is looked at again for one run, when what has to
// be hidden is replaced faster than it can be covered.
const looks = 20

// spawn starts the command. What bwrap cannot do here is left out when the
// profile can do without; what went away between being found and being covered
// is looked up again.
func (r *run) spawn(program string, streams [3]uintptr) (proc.Spawned, error) {
	for look := 1; ; look++ {
		spawned, err := r.try(program, streams)
		var setup *setupError
		if err == nil || look == looks || !errors.As(err, &setup) {
			return spawned, stepError(err)
		}
		if err := r.again(setup.said); err != nil {
			return spawned, err
		}
	}
}

// again prepares another try; an error: there is none.
func (r *run) again(said string) error {
	r.mu.RLock()
	f := r.facts
	r.mu.RUnlock()
	switch {
	case !f.nested && (strings.Contains(said, "--disable-userns") || strings.Contains(said, "max_user_namespaces")):
		return r.lower(func(f *facts) { f.nested = true }) // the filter refuses them as well
	case !f.noProc && (strings.Contains(said, "mount proc") || strings.Contains(said, "/newroot/proc")):
		return r.lower(func(f *facts) { f.noProc = true })
	case strings.Contains(said, "Read-only file system"), strings.Contains(said, "No such file"), strings.Contains(said, "Not a directory"):
		return nil
	}
	return &setupError{said}
}

func stepError(err error) error {
	var step *spawn.StepError
	if errors.As(err, &step) {
		return &proc.StepError{Step: step.Step, Err: step.Errno}
	}
	return err
}

// ends are the descriptors that go along to bwrap, and our ends of them.
type ends struct {
	theirs []int
	files
	arguments, stderr, words int
	status, said             *os.File
}

// open makes them. stderr is the command's.
func (e *ends) open(r *run, stderr uintptr) error {
	var err error
	if e.stderr, err = unix.FcntlInt(stderr, unix.F_DUPFD_CLOEXEC, 3); err != nil {
		return err
	}
	e.theirs = append(e.theirs, e.stderr)
	for _, p := range []struct {
		child *int
		ours  **os.File
	}{{&e.files.status, &e.status}, {&e.words, &e.said}} {
		var fds [2]int
		if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
			return err
		}
		*p.ours, *p.child = os.NewFile(uintptr(fds[0]), "bwrap"), fds[1]
		e.theirs = append(e.theirs, fds[1])
	}
	if e.files.filter, err = e.hold(r.filter); err != nil {
		return err
	}
	for _, spot := range r.scene.spots {
		if spot.Text == "" {
			continue
		}
		fd, err := e.hold([]byte(spot.Text))
		if err != nil {
			return err
		}
		e.texts = append(e.texts, fd)
	}
	r.scene.files = e.files
	e.arguments, err = e.hold(text(r.options()))
	return err
}

// hold makes an anonymous file that holds bytes, at its start.
func (e *ends) hold(b []byte) (int, error) {
	fd, err := unix.MemfdCreate("sbx", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // a kernel before 6.3
		fd, err = unix.MemfdCreate("sbx", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return -1, fmt.Errorf("make anonymous file: %w", err)
	}
	e.theirs = append(e.theirs, fd)
	for off := 0; off < len(b); {
		n, err := unix.Pwrite(fd, b[off:], int64(off))
		if err != nil {
			return -1, fmt.Errorf("write anonymous file: %w", err)
		}
		off += n
	}
	return fd, nil
}

// sent closes what bwrap has now.
func (e *ends) sent() {
	for _, fd := range e.theirs {
		_ = unix.Close(fd)
	}
	e.theirs = nil
}

func (e *ends) close() {
	e.sent()
	_ = e.status.Close()
	_ = e.said.Close()
}

// options are those of this run.
func (r *run) options() [][]string {
	list := options(r.profile, r.facts, r.scene)
	if r.only.omit == nil {
		return list
	}
	kept := list[:0]
	for _, o := range list {
		if !r.only.omit(o) {
			kept = append(kept, o)
		}
	}
	return kept
}

func (r *run) try(program string, streams [3]uintptr) (proc.Spawned, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed {
		return proc.Spawned{}, errors.New("session is closed")
	}
	var err error
	if r.pipes, err = spawn.NewPipes(spawn.WithInit | spawn.WithRelease); err != nil {
		return proc.Spawned{}, err
	}
	r.ends, r.first, r.gate = ends{}, 0, nil
	defer r.ends.close()
	r.scene, _ = r.look(r.command, layout.TerminalOf(streams), files{})
	if err := r.ends.open(r, streams[2]); err != nil {
		r.pipes.Close()
		return proc.Spawned{}, err
	}
	if r.profile.Network == sandbox.NetworkRules {
		if r.gate, err = egress.Start(r.profile.Egress); err != nil {
			r.pipes.Close()
			return proc.Spawned{}, err
		}
	}
	p := r.plan(program, streams)
	if r.profile.Identity != nil {
		defer spawn.KeepDumpable()()
	}
	pid, err := p.Start(0, r.pipes)
	if err == nil && r.first == 0 {
		err = r.unready(pid)
	}
	if err != nil {
		r.gate.Kill()
		r.gate = nil
		r.temp.close()
		r.pipes.Close()
		return proc.Spawned{}, err
	}
	return r.spawned(pid), nil
}

// spawned is the command that runs.
func (r *run) spawned(pid int) proc.Spawned {
	pipes, temp, spots := r.pipes, r.temp, r.scene.spots
	ended := func() (proc.Ended, bool) {
		e, ok := pipes.Ending()
		return proc.Ended{Status: syscall.WaitStatus(e.Status), PeakBytes: e.PeakBytes}, ok
	}
	release := func() {
		pipes.Close()
		temp.close()
		layout.Tidy(r.profile, spots)
	}
	s := proc.Spawned{PID: pid, Inner: r.first, Ended: ended, Release: release}
	if temp != nil {
		s.Temp = temp.usage
	}
	return s
}

// unready is the error of a bwrap that ended before process 1 began.
func (r *run) unready(pid int) error {
	for {
		if _, err := unix.Wait4(pid, nil, 0, nil); err != unix.EINTR {
			break
		}
	}
	said, _ := io.ReadAll(io.LimitReader(r.ends.said, 4096))
	first, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
	return &setupError{strings.TrimPrefix(first, "bwrap: ")}
}

// plan is the table up to what executes bwrap. It gets all signals blocked, so
// that one from the terminal, which is for the command, does not end it.
func (r *run) plan(program string, streams [3]uintptr) *spawn.Plan {
	p := spawn.NewPlan()
	r.bounds.Enter(p, r.hold)
	if !r.profile.Supervisor {
		p.Call("enter new process group", unix.SYS_SETPGID, []uintptr{0, 0})
	}
	p.Stdio([3]uintptr{streams[0], streams[1], uintptr(r.ends.words)})
	if i := r.profile.Identity; i != nil {
		p.Become(i.UID, i.GID, i.Groups)
	}
	p.DieWithParent()
	p.ParentLives(r.pipes)
	p.Call("change directory", unix.SYS_CHDIR, []uintptr{p.Str("/")})
	bound.Usual(p)
	r.bounds.SetEach(p)
	p.CloseOnExec(r.pipes.Errors, r.pipes.Lifeline, r.pipes.Status, r.pipes.Go, r.init.FD,
		r.ends.arguments, r.ends.filter, r.ends.files.status, r.ends.stderr)
	for _, fd := range r.ends.texts {
		p.Call("keep a text", unix.SYS_FCNTL, []uintptr{uintptr(fd), unix.F_SETFD, 0})
	}
	p.Call("set no_new_privs", unix.SYS_PRCTL, []uintptr{unix.PR_SET_NO_NEW_PRIVS, 1})
	if r.facts.scoped && r.profile.Network == sandbox.NetworkHost {
		planScope(p)
	}
	args := []string{"bwrap", "--args", strconv.Itoa(r.ends.arguments), "--", "/proc/self/fd/" + strconv.Itoa(r.init.FD)}
	args = append(args, r.pipes.InitArguments(r.ends.stderr, program, r.command.Argv)[1:]...)
	p.ExecBlocked(r.program, args, nil)
	p.AfterClone = func(int) error { return r.prepare() }
	return p
}

// prepare waits for process 1, which waits for us, and does what can be done
// only from outside. When bwrap ends before that, Start tells why, or unready.
func (r *run) prepare() error {
	r.ends.sent()
	pid, err := childOf(r.ends.status)
	if err != nil || !r.pipes.Ready() {
		return nil
	}
	if !r.only.unwatched {
		if err := check(pid, r.scene); err != nil {
			return err
		}
	}
	if n := r.hold.Processes(); n > 0 {
		if err := unix.Prlimit(pid, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: n, Max: n}, nil); err != nil {
			return &proc.StepError{Step: "limit the number of processes", Err: err}
		}
	}
	if r.temp, err = openTemps(pid, r.bounds.Limits, r.scene.spots); err != nil {
		return &proc.StepError{Step: "look at the temp directories", Err: err}
	}
	if r.gate != nil {
		if err := r.serve(pid); err != nil {
			return err
		}
	}
	r.first = pid
	return r.pipes.Release()
}

// childOf reads the number of process 1 from what bwrap says of its status.
func childOf(status *os.File) (int, error) {
	var line []byte
	b := make([]byte, 1024)
	for !bytes.ContainsRune(line, '\n') {
		n, err := status.Read(b)
		if err != nil {
			return 0, err
		}
		line = append(line, b[:n]...)
	}
	var told struct {
		PID int `json:"child-pid"`
	}
	if err := json.NewDecoder(bytes.NewReader(line)).Decode(&told); err != nil || told.PID <= 1 {
		return 0, fmt.Errorf("bwrap names no process: %q", line)
	}
	return told.PID, nil
}

// temps are the file systems of a run that a limit holds.
type temps struct{ roots []int }

// openTemps opens them by way of process 1.
func openTemps(pid int, l sandbox.Limits, spots []layout.Spot) (*temps, error) {
	if bound.TempSize(l) == 0 {
		return nil, nil
	}
	t := &temps{}
	for _, s := range spots {
		if s.Kind != layout.Cover {
			continue
		}
		fd, err := unix.Open(path.Join("/proc", strconv.Itoa(pid), "root", s.Path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.close()
			return nil, err
		}
		t.roots = append(t.roots, fd)
	}
	return t, nil
}

// usage is what lies in them, and the room in the fullest.
func (t *temps) usage() (used, free int64) {
	free = 1 << 62
	for _, fd := range t.roots {
		var st unix.Statfs_t
		if unix.Fstatfs(fd, &st) == nil {
			used += int64(st.Blocks-st.Bfree) * st.Bsize
			free = min(free, int64(st.Bavail)*st.Bsize)
		}
	}
	return used, free
}

func (t *temps) close() {
	if t == nil {
		return
	}
	for _, fd := range t.roots {
		_ = unix.Close(fd)
	}
	t.roots = nil
}
