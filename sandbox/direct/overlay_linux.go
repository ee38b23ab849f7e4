//go:build amd64 || arm64

package direct

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/layout"
	"github.com/sbx-run/sbx/sandbox/proc"
	"github.com/sbx-run/sbx/sandbox/spawn"
)

// A preview shows an overlay at each of its roots: below the real directory, on
// top a layer that takes what is written. The layers lie in a tmpfs of limited
// size, which is handed to the caller as a descriptor because it is nowhere in
// the caller's own tree, or on disk where the caller said.

// layers is what the plan needs to know of a preview.
type layers struct {
	sandbox.Preview
	disk   []string // of sandbox.Command
	socket int      // the child's end, over which the tmpfs is handed out
	roots  []rootOf
}

// rootOf is one root while the plan is made.
type rootOf struct {
	spot  int
	name  string
	lower spawn.Ref // the real directory
	layer *uint64   // the detached tree of the directory on disk
}

// previewStep begins the names of the steps that only a preview has.
const previewStep = "preview: "

// previewError marks the failure of such a step: the tier works, the overlay
// does not.
func previewError(err error) error {
	var step *proc.StepError
	if errors.As(err, &step) && strings.HasPrefix(step.Step, previewStep) {
		return fmt.Errorf("%w: %w", err, sandbox.ErrNoOverlay)
	}
	return err
}

// openRoot opens what will lie below an overlay, before anything is covered.
func (m *mounter) openRoot(i int, s layout.Spot) {
	k := s.Layer - 1
	if m.preview.Copy && k < len(m.preview.disk) {
		m.openTree("show the copy of "+s.Path, m.preview.disk[k], m.fds[i])
		return
	}
	r := rootOf{spot: i, name: s.Path, lower: m.NewRef()}
	m.Call("open "+s.Path, unix.SYS_OPENAT, []uintptr{spawn.Cwd, m.Str(s.Path), unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC}, spawn.Store(r.lower))
	if was, known := m.exact[s.Path]; known {
		st := new(unix.Stat_t)
		m.Call("look at "+s.Path, unix.SYS_NEWFSTATAT, []uintptr{0, m.Str(""), spawn.Ptr(m.Plan, st), unix.AT_EMPTY_PATH}, spawn.Load(r.lower))
		m.Same(s.Path+" is on the device it was", &st.Dev, &was.Dev)
		m.Same(s.Path+" is the file it was", &st.Ino, &was.Ino)
	}
	if k < len(m.preview.disk) {
		r.layer = new(uint64)
		m.openTree("open the layer of "+s.Path, m.preview.disk[k], r.layer)
	}
	m.preview.roots = append(m.preview.roots, r)
}

// openCopied opens what is shown of a copy below its root.
func (m *mounter) openCopied(i int, s layout.Spot) {
	if k := s.Layer - 1; m.preview.Copy && k < len(m.preview.disk) {
		m.openTree("show the copy of "+s.Path, m.preview.disk[k]+strings.TrimPrefix(s.Path, m.preview.Roots[k]), m.fds[i])
	}
}

// overlays mounts the overlays inside the run's own tmpfs, and opens them to be
// moved to their places.
func (m *mounter) overlays() {
	if m.preview == nil || len(m.preview.roots) == 0 {
		return
	}
	dir := m.base + "/preview"
	m.makeDir(dir, layout.Plain)
	if len(m.preview.disk) == 0 {
		size := max(m.preview.Bytes, 1<<20)
		m.Call("mount a tmpfs for what is written", unix.SYS_MOUNT, []uintptr{
			m.Str("tmpfs"), m.Str(dir), m.Str("tmpfs"), unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOATIME,
			m.Str(fmt.Sprintf("mode=0700,size=%d,nr_inodes=%d", size, max(size>>12, 1<<14))),
		})
	}
	for _, r := range m.preview.roots {
		m.overlay(dir, r)
	}
	if len(m.preview.disk) == 0 {
		m.handOut(dir)
	}
}

// overlay mounts one. The root of an overlay is its upper directory as far as
// mode, times and attributes go, so that one gets those of the real directory.
func (m *mounter) overlay(dir string, r rootOf) {
	k := strconv.Itoa(m.spots[r.spot].Layer - 1)
	at, merged := dir+"/"+k, m.base+"/merged"+k
	upper, work := at+"/upper", at+"/work"
	m.makeDir(at, 0o700)
	if r.layer != nil {
		m.Call("attach the layer of "+r.name, unix.SYS_MOVE_MOUNT, []uintptr{0, m.Str(""), spawn.Cwd, m.Str(at), unix.MOVE_MOUNT_F_EMPTY_PATH}, spawn.Load(m.Word(r.layer)))
	}
	for _, name := range [...]string{upper, work} { // on disk they may be left from a set-up that failed
		m.Call("make directory "+name, unix.SYS_MKDIRAT, []uintptr{spawn.Cwd, m.Str(name), 0o700}, spawn.IgnoreError)
	}
	// An overlay without such attributes cannot remove a directory.
	attr := m.Str(overlayTest)
	m.Call(previewStep+"the layer takes attributes", unix.SYS_SETXATTR, []uintptr{m.Str(upper), attr, attr, 1, 0})
	m.Call(previewStep+"take the attribute back", unix.SYS_REMOVEXATTR, []uintptr{m.Str(upper), attr})
	m.likeRoot(upper, r.name)
	m.makeDir(merged, layout.Plain)
	// The real directory is "." and the others have names of ours: a path needs
	// escapes in the options, which differ between kernels.
	m.Call("enter "+r.name, unix.SYS_FCHDIR, nil, spawn.Load(r.lower))
	m.Call(previewStep+"mount an overlay on "+r.name, unix.SYS_MOUNT, []uintptr{
		m.Str("overlay"), m.Str(merged), m.Str("overlay"), unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOATIME,
		m.Str("lowerdir=.,upperdir=" + upper + ",workdir=" + work + ",userxattr,volatile"),
	})
	m.Call("open the overlay on "+r.name, unix.SYS_OPEN_TREE, []uintptr{spawn.Cwd, m.Str(merged), unix.O_CLOEXEC}, spawn.Store(m.Word(m.fds[r.spot])))
	for i, s := range m.spots {
		if s.Layer == m.spots[r.spot].Layer && !s.Root {
			m.openTree("open "+s.Path+" in the overlay", merged+strings.TrimPrefix(s.Path, r.name), m.fds[i])
		}
	}
}

const overlayTest = "user.sbx"

// likeRoot gives the upper directory what the real one has.
func (m *mounter) likeRoot(upper, name string) {
	var st unix.Stat_t
	if unix.Lstat(name, &st) != nil {
		return // openRoot's step fails
	}
	m.Call("mode of the layer of "+name, unix.SYS_FCHMODAT, []uintptr{spawn.Cwd, m.Str(upper), uintptr(st.Mode & 0o7777)})
	for _, attr := range [...]string{"system.posix_acl_access", "system.posix_acl_default"} {
		value := make([]byte, 1<<12)
		if n, err := unix.Lgetxattr(name, attr, value); err == nil && n > 0 {
			m.Call("access list of the layer of "+name, unix.SYS_SETXATTR, []uintptr{m.Str(upper), m.Str(attr), m.Bytes(value[:n]), uintptr(n), 0}, spawn.IgnoreError)
		}
	}
	times := &[2]unix.Timespec{st.Atim, st.Mtim}
	m.Call("times of the layer of "+name, unix.SYS_UTIMENSAT, []uintptr{spawn.Cwd, m.Str(upper), spawn.Ptr(m.Plan, times), 0})
}

// handOut sends a descriptor of the tmpfs to the caller.
func (m *mounter) handOut(dir string) {
	r := newRights()
	m.Call("open what is written", unix.SYS_OPENAT, []uintptr{spawn.Cwd, m.Str(dir), unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC}, spawn.Store(m.Word(&r.fd)))
	planSend(m.Plan, "hand it to the caller", m.preview.socket, r)
}
