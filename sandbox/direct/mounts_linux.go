//go:build amd64 || arm64

package direct

import (
	"path"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox/layout"
	"github.com/sbx-run/sbx/sandbox/spawn"
)

// mounter writes the layout down as steps. Every tree that the command may see
// is copied, detached, before anything is covered, and attached in the end at
// its own path.
type mounter struct {
	*spawn.Plan
	spots []layout.Spot
	rules []*pathRule // of each spot
	fds   []*uint64   // of each spot: its detached tree, known when the plan runs
	base  string      // where the run's own tmpfs is mounted while the tree is built
	exact map[string]layout.Place

	size      int64      // of that tmpfs in bytes; 0: the kernel's default
	share     *tempShare // who wants to look at it; may be nil
	own       spawn.Ref  // the root of that tmpfs
	procFiles []string   // hidden in /proc
	init      *spawn.Init
	preview   *layers // nil: none
}

const (
	treeFlags = unix.OPEN_TREE_CLONE | unix.O_CLOEXEC | unix.AT_RECURSIVE
	emptyDir  = "empty"
	emptyFile = "nothing"
)

// pathRule is struct landlock_path_beneath_attr. The descriptor has 32 bits;
// little endian, so a step can store its 64-bit result there.
type pathRule struct{ rights, fd uint64 }

func newMounter(p *spawn.Plan, spots []layout.Spot, exact map[string]layout.Place) *mounter {
	m := &mounter{Plan: p, spots: spots, exact: exact}
	for range spots {
		r := &pathRule{fd: ^uint64(0)}
		m.rules, m.fds = append(m.rules, r), append(m.fds, &r.fd)
	}
	// Any directory will do that gets covered itself.
	for _, s := range spots {
		if (s.Kind == layout.Shut || s.Kind == layout.Cover) && s.Above < 0 && (m.base == "" || s.Path == "/run") {
			m.base = s.Path
		}
	}
	return m
}

// mounts appends all steps. Before them the plan is in its own mount namespace.
func (m *mounter) mounts(freshProc bool, links []layout.Link) {
	m.Call("keep mounts to this namespace", unix.SYS_MOUNT, []uintptr{0, m.Str("/"), 0, unix.MS_REC | unix.MS_PRIVATE})
	for i, s := range m.spots {
		switch {
		case s.Root:
			m.openRoot(i, s)
		case s.Layer > 0:
			m.openCopied(i, s)
		case s.Writable():
			m.copyTree(i, s.Source())
		}
	}
	if len(m.spots) == 0 || m.spots[0].Path != "/" {
		m.attr("make everything read-only", "/", unix.AT_RECURSIVE, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID)
	}
	for i, s := range m.spots {
		if (s.Kind == layout.View || s.Kind == layout.Guard) && s.Text == "" {
			m.copyTree(i, s.Source())
		}
	}
	old := m.NewRef()
	m.Call("make files with their full modes", unix.SYS_UMASK, []uintptr{0}, spawn.Store(old))
	m.tmpfs(links)
	m.PlaceInit(m.init, m.base+"/init")
	m.overlays()
	m.texts()
	for i, s := range m.spots {
		if s.Own() && s.Kind != layout.Mask && s.Path != ptsDir {
			m.copyTree(i, m.base+"/"+strconv.Itoa(i))
		}
	}
	for _, i := range layout.Passing(m.spots) {
		name := path.Base(m.spots[i].Path)
		m.Call("make file "+name+" in the private temp directory", unix.SYS_MKNODAT, []uintptr{0, m.Str(name), unix.S_IFREG | 0o600, 0},
			spawn.Load(m.Word(m.fds[m.spots[i].Above])), spawn.IgnoreError) // an earlier run may have left it
	}
	for i, s := range m.spots {
		m.attach(i, s)
	}
	if freshProc {
		m.proc()
	}
	m.Call("give the mode mask back", unix.SYS_UMASK, nil, spawn.Load(old))
}

// texts makes the files that are shown in place of the host's.
func (m *mounter) texts() {
	for i, s := range m.spots {
		if s.Text == "" {
			continue
		}
		name := m.base + "/text" + strconv.Itoa(i)
		fd := m.NewRef()
		m.Call("make the file for "+s.Path, unix.SYS_OPENAT, []uintptr{spawn.Cwd, m.Str(name), unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_CLOEXEC, 0o444}, spawn.Store(fd))
		m.Call("write the file for "+s.Path, unix.SYS_WRITE, []uintptr{0, m.Str(s.Text), uintptr(len(s.Text))}, spawn.Load(fd))
		m.Call("close the file for "+s.Path, unix.SYS_CLOSE, nil, spawn.Load(fd))
		m.openTree("copy the file for "+s.Path, name, m.fds[i])
		a := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		m.Call("make the file for "+s.Path+" read-only", unix.SYS_MOUNT_SETATTR, []uintptr{
			0, m.Str(""), unix.AT_EMPTY_PATH, spawn.Ptr(m.Plan, a), unix.MOUNT_ATTR_SIZE_VER0,
		}, spawn.Load(m.Word(m.fds[i])))
	}
}

const ptsDir = "/dev/pts"

func (m *mounter) openTree(what, name string, fd *uint64, o ...spawn.Opt) {
	o = append(o, spawn.Store(m.Word(fd)))
	m.Call(what, unix.SYS_OPEN_TREE, []uintptr{spawn.Cwd, m.Str(name), treeFlags | unix.AT_SYMLINK_NOFOLLOW}, o...)
}

// copyTree makes the detached tree of a spot. Where the caller looked at the
// path before, it must still be the same file.
func (m *mounter) copyTree(i int, from string) {
	s := m.spots[i]
	was, known := m.exact[from]
	switch {
	case s.Kind == layout.View && known:
		m.openTree("copy "+from+forSpot(s, from), from, m.fds[i], spawn.SkipAbsent(3)) // what the command's user cannot reach
	case s.Kind == layout.View:
		m.openTree("copy "+from+forSpot(s, from), from, m.fds[i], spawn.SkipAbsent(0))
	default:
		m.openTree("copy "+from+forSpot(s, from), from, m.fds[i])
	}
	if !known {
		return
	}
	st := new(unix.Stat_t)
	m.Call("look at "+from, unix.SYS_NEWFSTATAT, []uintptr{0, m.Str(""), spawn.Ptr(m.Plan, st), unix.AT_EMPTY_PATH}, spawn.Load(m.Word(m.fds[i])))
	m.Same(from+" is on the device it was", &st.Dev, &was.Dev)
	m.Same(from+" is the file it was", &st.Ino, &was.Ino)
}

func forSpot(s layout.Spot, from string) string {
	if from == s.Path {
		return ""
	}
	return " for " + s.Path
}

// attr sets attributes of the mounts at a path.
func (m *mounter) attr(what, name string, flags uintptr, set uint64) {
	a := &unix.MountAttr{Attr_set: set}
	m.Call(what, unix.SYS_MOUNT_SETATTR, []uintptr{spawn.Cwd, m.Str(name), flags, spawn.Ptr(m.Plan, a), unix.MOUNT_ATTR_SIZE_VER0})
}

// tmpfs makes the run's own file system with all that will be shown of it.
func (m *mounter) tmpfs(links []layout.Link) {
	m.Call("mount own tmpfs on "+m.base, unix.SYS_MOUNT, []uintptr{
		m.Str("tmpfs"), m.Str(m.base), m.Str("tmpfs"), unix.MS_NOSUID | unix.MS_NODEV, m.Str("mode=0755" + tmpfsSize(m.size)),
	})
	m.share.send(m.Plan, m.base)
	m.own = m.NewRef()
	m.Call("open own tmpfs", unix.SYS_OPENAT, []uintptr{spawn.Cwd, m.Str(m.base), unix.O_PATH | unix.O_CLOEXEC}, spawn.Store(m.own))
	m.makeDir(m.base+"/"+emptyDir, 0)
	m.makeFile(m.base+"/"+emptyFile, 0)
	for _, name := range []string{m.base + "/" + emptyDir, m.base + "/" + emptyFile} {
		m.Call("mount "+name, unix.SYS_MOUNT, []uintptr{m.Str(name), m.Str(name), 0, unix.MS_BIND})
		m.attr("make "+name+" read-only", name, 0, unix.MOUNT_ATTR_RDONLY)
	}
	for i, s := range m.spots {
		if (s.Kind == layout.Cover || s.Kind == layout.Shut) && s.Path != ptsDir {
			m.makeDir(m.base+"/"+strconv.Itoa(i), s.Mode)
		}
		switch {
		case s.Kind == layout.Shut && s.Path == "/dev":
			for _, l := range devLinks() {
				m.symlink(l.To, m.base+"/"+strconv.Itoa(i)+"/"+l.Name)
			}
		case s.Kind == layout.Shut && s.Path == "/run":
			for _, l := range links {
				m.symlink(l.To, m.base+"/"+strconv.Itoa(i)+"/"+l.Name)
			}
		}
	}
	for _, p := range layout.Points(m.spots) {
		name := path.Join(m.base, strconv.Itoa(p.Spot), p.Path)
		if p.Dir {
			m.makeDir(name, p.Mode)
		} else {
			m.makeFile(name, p.Mode)
		}
	}
}

func (m *mounter) makeDir(name string, mode uint32) {
	m.Call("make directory "+name, unix.SYS_MKDIRAT, []uintptr{spawn.Cwd, m.Str(name), uintptr(mode)})
}

func (m *mounter) makeFile(name string, mode uint32) {
	m.Call("make file "+name, unix.SYS_MKNODAT, []uintptr{spawn.Cwd, m.Str(name), uintptr(unix.S_IFREG | mode&0o666), 0})
}

func (m *mounter) symlink(to, name string) {
	m.Call("make link "+name, unix.SYS_SYMLINKAT, []uintptr{m.Str(to), spawn.Cwd, m.Str(name)})
}

func devLinks() []layout.Link {
	return []layout.Link{
		{Name: "ptmx", To: "pts/ptmx"},
		{Name: "fd", To: "/proc/self/fd"},
		{Name: "stdin", To: "/proc/self/fd/0"},
		{Name: "stdout", To: "/proc/self/fd/1"},
		{Name: "stderr", To: "/proc/self/fd/2"},
	}
}

// attach shows the spot at its path.
func (m *mounter) attach(i int, s layout.Spot) {
	if s.Path == ptsDir {
		m.Call("mount own terminals on "+ptsDir, unix.SYS_MOUNT, []uintptr{
			m.Str("devpts"), m.Str(ptsDir), m.Str("devpts"), unix.MS_NOSUID | unix.MS_NOEXEC, m.Str("newinstance,ptmxmode=0666,mode=0620"),
		})
		return
	}
	if s.Kind == layout.Shut {
		a := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		m.Call("make the cover of "+s.Path+" read-only", unix.SYS_MOUNT_SETATTR, []uintptr{
			0, m.Str(""), unix.AT_EMPTY_PATH, spawn.Ptr(m.Plan, a), unix.MOUNT_ATTR_SIZE_VER0,
		}, spawn.Load(m.Word(m.fds[i])))
	}
	if s.Kind == layout.Mask {
		m.hide(s.Path, s.Dir)
		return
	}
	if s.Kind == layout.View {
		m.Call("is "+s.Path+" there", unix.SYS_FCNTL, []uintptr{0, unix.F_GETFD}, spawn.Load(m.Word(m.fds[i])), spawn.SkipAbsent(1))
	}
	verb := [...]string{layout.Cover: "cover ", layout.Shut: "cover ", layout.View: "show ", layout.Pin: "keep in place ", layout.Bind: "make writable ", layout.Guard: "protect "}[s.Kind]
	m.Call(verb+s.Path, unix.SYS_MOVE_MOUNT, []uintptr{0, m.Str(""), spawn.Cwd, m.Str(s.Path), unix.MOVE_MOUNT_F_EMPTY_PATH}, spawn.Load(m.Word(m.fds[i])))
}

// stepHide begins the name of the step that covers a path.
const stepHide = "hide "

// hide covers a path with nothing. The file may have vanished, or be out of
// reach for the command, too. The copy is made late: one that is not attached
// costs more to let go of than all the rest.
func (m *mounter) hide(name string, dir bool) {
	nothing := emptyFile
	if dir {
		nothing = emptyDir
	}
	at, tree := m.NewRef(), m.NewRef()
	m.Call("find "+name, unix.SYS_OPENAT, []uintptr{spawn.Cwd, m.Str(name), unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC}, spawn.Store(at), spawn.SkipAbsent(2))
	m.Call("copy "+nothing+" for "+name, unix.SYS_OPEN_TREE, []uintptr{0, m.Str(nothing), treeFlags}, spawn.Load(m.own), spawn.Store(tree))
	m.Call(stepHide+name, unix.SYS_MOVE_MOUNT, []uintptr{
		0, m.Str(""), 0, m.Str(""), unix.MOVE_MOUNT_F_EMPTY_PATH | unix.MOVE_MOUNT_T_EMPTY_PATH,
	}, spawn.Load(tree), spawn.Load2(at))
}

// proc mounts the processes of the new pid namespace. It is read-only, so that
// root cannot turn the kernel's switches; Landlock would refuse that, too.
func (m *mounter) proc() {
	m.Call("mount /proc of the new processes, read-only", unix.SYS_MOUNT, []uintptr{
		m.Str("proc"), m.Str("/proc"), m.Str("proc"), unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_RDONLY, 0,
	})
	for _, name := range m.procFiles {
		m.hide(name, false)
	}
}
