//go:build amd64 || arm64

package bwrap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/bound"
	"github.com/sbx-run/sbx/sandbox/egress"
	"github.com/sbx-run/sbx/sandbox/layout"
	"github.com/sbx-run/sbx/sandbox/proc"
	"github.com/sbx-run/sbx/sandbox/spawn"
	"github.com/sbx-run/sbx/sandbox/under"
)

// run is one command on its way.
type run struct {
	*session
	command sandbox.Command
	hold    *bound.Hold
	bounds  bound.Bounds
	gate    *egress.Gate // nil: no rules

	scene  scene
	theirs []int    // descriptors that bwrap has
	status *os.File // what bwrap tells
	temp   *temps
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
		var setup *under.SetupError
		var changed *changedError
		switch {
		case err == nil || look == looks:
			return spawned, err
		case errors.As(err, &setup):
			if again := r.again(setup); again != nil {
				return spawned, again
			}
		case !errors.As(err, &changed):
			return spawned, err
		}
	}
}

// again prepares another try; an error: there is none.
func (r *run) again(e *under.SetupError) error {
	r.mu.RLock()
	f := r.facts
	r.mu.RUnlock()
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(e.Said, w) })
	}
	switch {
	case !f.nested && says("--disable-userns", "max_user_namespaces"):
		return r.lower(func(f *facts) { f.nested = true }) // the filter refuses them as well
	case !f.noProc && says("mount proc", "/newroot/proc"):
		return r.lower(func(f *facts) { f.noProc = true })
	case says("Read-only file system", "No such file", "Not a directory", "Unable to apply mount flags", "Unable to remount", "Can't create file at"):
		return nil // somebody mounts, unmounts or replaces files meanwhile
	case says("Unknown option"):
		return fmt.Errorf("%w: this bwrap is too old, want 0.7 or newer (Debian package bubblewrap): %w", e, sandbox.ErrUnavailable)
	case says("new namespace", "uid map"):
		return fmt.Errorf("%w: this host lets bwrap make no user namespace (sysctl, AppArmor or a container; sbx doctor says which): %w", e, sandbox.ErrUnavailable)
	}
	return e
}

func (r *run) try(program string, streams [3]uintptr) (proc.Spawned, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed {
		return proc.Spawned{}, errors.New("session is closed")
	}
	r.scene, _ = r.look(r.command, layout.TerminalOf(streams), files{})
	r.gate, r.temp = nil, nil
	var err error
	if r.profile.Network == sandbox.NetworkRules {
		if r.gate, err = egress.Start(r.profile.Egress); err != nil {
			return proc.Spawned{}, err
		}
	}
	u := under.Run{
		Init: r.init, Profile: r.profile, Command: r.command, Path: program, Streams: streams,
		Bounds: r.bounds, Hold: r.hold, Program: r.program,
		Options: r.open, Steps: r.steps, Sent: r.sent, Ready: r.ready,
	}
	defer func() {
		if r.status != nil {
			_ = r.status.Close()
		}
	}()
	temp, spots := &r.temp, r.scene.spots
	spawned, err := u.Start(func() {
		(*temp).close()
		layout.Tidy(r.profile, spots)
	})
	if err != nil {
		r.gate.Kill()
		r.gate = nil
		r.temp.close()
		return spawned, err
	}
	if r.temp != nil {
		spawned.Temp = r.temp.usage
	}
	return spawned, nil
}

// open makes the descriptors that go along to bwrap, and its options.
func (r *run) open(u *under.Run) ([]string, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	f := files{status: fds[1]}
	r.status = os.NewFile(uintptr(fds[0]), "bwrap")
	r.theirs = []int{fds[1]}
	hold := func(b []byte) (int, error) {
		fd, err := spawn.Memory(b)
		if err == nil {
			r.theirs = append(r.theirs, fd)
		}
		return fd, err
	}
	var err error
	if f.filter, err = hold(r.filter); err != nil {
		return nil, err
	}
	for _, spot := range r.scene.spots {
		if spot.Text == "" {
			continue
		}
		fd, err := hold([]byte(spot.Text))
		if err != nil {
			return nil, err
		}
		f.texts = append(f.texts, fd)
	}
	r.scene.files = f
	arguments, err := hold(text(r.options()))
	u.Keep = r.theirs
	return []string{"bwrap", "--args", strconv.Itoa(arguments)}, err
}

// options are those of this run.
func (r *run) options() [][]string {
	list := options(r.profile, r.facts, r.scene)
	if r.only.omit == nil {
		return list
	}
	return slices.DeleteFunc(list, r.only.omit)
}

// sent closes what bwrap has now.
func (r *run) sent() {
	for _, fd := range r.theirs {
		_ = unix.Close(fd)
	}
	r.theirs = nil
}

func (r *run) steps(p *spawn.Plan) {
	p.Call("set no_new_privs", unix.SYS_PRCTL, []uintptr{unix.PR_SET_NO_NEW_PRIVS, 1})
}

// ready does what can be done only from outside.
func (r *run) ready(u *under.Run, _ int) (int, error) {
	pid, err := childOf(r.status)
	if err != nil {
		return 0, err
	}
	text, err := under.Apart(pid) // before the look, which then lasts
	if err != nil {
		return 0, err
	}
	mounts := mountsOf(text)
	u.Writable = writable(mounts, r.scene.spots)
	if !r.only.unwatched {
		if err := check(mounts, r.scene); err != nil {
			return 0, err
		}
	}
	if r.temp, err = openTemps(pid, r.bounds.Limits, r.scene.spots); err != nil {
		return 0, &proc.StepError{Step: "look at the temp directories", Err: err}
	}
	if r.gate != nil {
		err = under.Serve(pid, r.gate, func(p *spawn.Plan) {
			egress.SecondAddress(p)
			egress.SendListener(p, r.gate.Child, egress.BindNames(p))
		})
	}
	return pid, err
}

// childOf reads the number of process 1 from what bwrap says of its status.
func childOf(status *os.File) (int, error) {
	var line []byte
	b := make([]byte, 1024)
	for !bytes.ContainsRune(line, '\n') {
		n, err := status.Read(b)
		if err != nil {
			return 0, fmt.Errorf("read the status of bwrap: %w", err)
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
