//go:build amd64 || arm64

package direct

import (
	"errors"
	"net/netip"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/layout"
	"github.com/sbx-run/sbx/sandbox/notify"
	"github.com/sbx-run/sbx/sandbox/spawn"
)

// witness looks at paths as the command sees them and as the host has them,
// with the rights of the command's user. It opens nothing but names (O_PATH) and
// directories, so that looking has no effect.
type witness struct {
	root     int // of the command; negative: the host's
	hostRoot int
	who      layout.Subject
	owned    bool // the host's root is the command's
	mounts   int  // keeps the command's mounts; negative: they are the host's
}

var errUnseen = errors.New("not to be looked at")

func newWitness(p sandbox.Profile, root, mounts int) (*witness, error) {
	host, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	w := &witness{root: root, hostRoot: host, who: layout.SubjectOf(p), owned: root < 0, mounts: mounts}
	if w.owned {
		w.root = host
	}
	return w, nil
}

func (w *witness) close() {
	closeAll(w.hostRoot, w.mounts)
	if !w.owned {
		closeAll(w.root)
	}
}

// become takes the rights of the identity for looking at files, for this thread
// alone and for good.
func (w *witness) become(i *sandbox.Identity) {
	if i == nil {
		return
	}
	defer spawn.KeepDumpable()()
	var groups unsafe.Pointer
	if len(i.Groups) > 0 {
		groups = unsafe.Pointer(&i.Groups[0])
	}
	syscall.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(i.Groups)), uintptr(groups), 0)
	syscall.RawSyscall(unix.SYS_SETFSGID, uintptr(i.GID), 0, 0)
	syscall.RawSyscall(unix.SYS_SETFSUID, uintptr(i.UID), 0, 0)
}

// look finds out about one path of a call.
func (w *witness) look(e notify.Event, name string, follow bool) (sight, error) {
	here, err := w.find(w.root, name, follow)
	if err != nil {
		return sight{}, err
	}
	s := sight{path: here.path, seen: here.found, around: here.around}
	there := here
	if !w.owned {
		if here.around {
			there, err = w.find(w.hostRoot, here.path, false)
		} else {
			there, err = w.find(w.hostRoot, name, follow)
			s.path = there.path
		}
		if err != nil {
			return sight{}, err
		}
	}
	if s.path == "" || layout.IsBelow(s.path, "/proc") && !layout.IsBelow(s.path, "/proc/sys") && s.path != "/proc/sysrq-trigger" {
		return sight{}, errUnseen // processes have other numbers for the command
	}
	from := here
	if !here.found && there.found {
		from = there
	}
	if from.found {
		s.directory = from.kind == unix.S_IFDIR
		s.special = !s.directory && from.kind != unix.S_IFREG && from.kind != unix.S_IFLNK
	}
	s.readonly, s.pinned, s.mount = here.readonly, here.pinned, here.mount
	s.host = hostSight{found: there.found, device: there.device}
	s.host.may, s.host.unsure = w.permits(e, there)
	return s, nil
}

// location is where a path leads.
type location struct {
	path     string // without links; of a name that is not there, when its directory is
	found    bool
	around   bool
	kind     uint32 // S_IFMT bits
	uid      uint32
	readonly bool
	pinned   bool
	mount    uint64
	device   uint64
}

// find follows a path below a root as the kernel would.
func (w *witness) find(root int, name string, follow bool) (location, error) {
	for range layout.LongestChain {
		if trimmed := strings.TrimRight(name, "/"); trimmed != "" {
			name = trimmed
		} else {
			name = "/"
		}
		fd, err := w.open(root, name, follow)
		if err == nil {
			return describe(fd, true)
		}
		if !absent(err) {
			return location{}, err
		}
		if follow {
			if fd, err := w.open(root, name, false); err == nil { // a link to what is not there
				to, err := readlink(fd)
				_ = unix.Close(fd)
				if err != nil {
					continue // no link: it has come into being just now
				}
				if !path.IsAbs(to) {
					to = parent(name) + "/" + to
				}
				name = to
				continue
			}
		}
		last := path.Base(name)
		if last == "." || last == ".." || last == "/" {
			return location{}, nil
		}
		fd, err = w.open(root, parent(name), true)
		if err != nil {
			if absent(err) {
				return location{}, nil
			}
			return location{}, err
		}
		l, err := describe(fd, false)
		if l.kind != unix.S_IFDIR {
			return location{}, err
		}
		l.path = strings.TrimSuffix(l.path, "/") + "/" + last
		return l, err
	}
	return location{}, unix.ELOOP
}

// parent is all but the last name, without cleaning: a ".." behind a link is
// for the kernel.
func parent(name string) string {
	dir := name[:strings.LastIndexByte(name, '/')+1]
	if dir == "" {
		return "/"
	}
	return dir
}

// absent says that the command's user does not get there.
func absent(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOTDIR)
}

func (w *witness) open(root int, name string, follow bool) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	if !follow {
		how.Flags |= unix.O_NOFOLLOW
	}
	for try := 0; ; try++ {
		fd, err := unix.Openat2(root, name, &how)
		if !errors.Is(err, unix.EAGAIN) || try == 3 { // something was renamed meanwhile
			return fd, err
		}
	}
}

func readlink(fd int) (string, error) {
	b := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", b)
	if err != nil {
		return "", err
	}
	return string(b[:n]), nil
}

// describe looks at an open name and closes it. of says that it is the name
// itself and not its directory.
func describe(fd int, of bool) (location, error) {
	defer unix.Close(fd)
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, &st); err != nil {
		return location{}, err
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return location{}, err
	}
	at, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil || !path.IsAbs(at) || st.Nlink == 0 {
		return location{}, errUnseen
	}
	return location{
		path: at, found: of, around: true, kind: uint32(st.Mode) & unix.S_IFMT, uid: st.Uid,
		readonly: fs.Flags&unix.ST_RDONLY != 0, pinned: of && st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0,
		mount: st.Mnt_id, device: uint64(st.Dev_major)<<32 | uint64(st.Dev_minor),
	}, nil
}

// permits says whether the permissions of the command's user would have let the
// act through on the host. unsure: this kernel cannot be asked.
func (w *witness) permits(e notify.Event, l location) (may, unsure bool) {
	if l.path == "" {
		return false, false
	}
	owner := l.uid == w.who.UID || w.who.UID == 0
	switch e.Act {
	case notify.Read:
		return w.access(l.path, unix.R_OK)
	case notify.Write, notify.Truncate:
		switch {
		case e.Unnamed:
			return w.access(l.path, unix.W_OK|unix.X_OK)
		case l.found && e.Act == notify.Write && !e.Writes:
			return w.access(l.path, unix.R_OK)
		case l.found:
			return w.access(l.path, unix.W_OK)
		}
		return w.access(parent(l.path), unix.W_OK|unix.X_OK)
	case notify.Create:
		return w.access(parent(l.path), unix.W_OK|unix.X_OK)
	case notify.Delete, notify.DeleteDir, notify.Rename:
		may, unsure = w.access(parent(l.path), unix.W_OK|unix.X_OK)
		if may && e.Act == notify.DeleteDir && l.kind == unix.S_IFDIR {
			may, unsure = isEmpty(l.path)
		}
		return may && (!l.found || owner || !w.sticky(parent(l.path))), unsure
	case notify.Link:
		may, unsure = w.access(parent(l.path), unix.W_OK|unix.X_OK)
		if l.found { // the file; fs.protected_hardlinks wants more than reading
			may, unsure = owner, !owner
			if !owner {
				may, _ = w.access(l.path, unix.R_OK|unix.W_OK)
			}
		}
		return may, unsure
	case notify.Mode:
		return owner && l.found && !l.readonly, false
	case notify.Owner: // giving a file away is for root; one's own groups are not looked at
		return owner && l.found && !l.readonly, w.who.UID != 0
	case notify.Times:
		if owner {
			return l.found && !l.readonly, false
		}
		return w.access(l.path, unix.W_OK)
	}
	return false, false
}

// access asks with the rights of this thread.
func (w *witness) access(name string, mode uintptr) (may, unsure bool) {
	b, err := unix.BytePtrFromString(name)
	if err != nil || name == "" {
		return false, false
	}
	cwd := unix.AT_FDCWD
	_, _, errno := unix.Syscall6(unix.SYS_FACCESSAT2, uintptr(cwd), uintptr(unsafe.Pointer(b)), mode, unix.AT_EACCESS|unix.AT_SYMLINK_NOFOLLOW, 0, 0)
	if errno == unix.ENOSYS {
		return true, true
	}
	return errno == 0, false
}

// isEmpty says whether a directory could be removed.
func isEmpty(dir string) (empty, unsure bool) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return true, true
	}
	defer unix.Close(fd)
	b := make([]byte, 1024)
	n, err := unix.ReadDirent(fd, b)
	_, _, names := unix.ParseDirent(b[:max(n, 0)], 1, nil) // without . and ..
	return len(names) == 0, err != nil
}

// sticky says that only owners may delete in a directory, and that the
// command's user does not own it.
func (w *witness) sticky(dir string) bool {
	var st unix.Stat_t
	return unix.Stat(dir, &st) != nil || st.Mode&unix.S_ISVTX != 0 && st.Uid != w.who.UID
}

// judge says what became of a call; known is false when it could not be found
// out.
func (w *witness) judge(b rulebook, e notify.Event) (d sandbox.Denial, refused, known bool) {
	one, err := w.look(e, e.Paths[0], e.Follow)
	if err != nil {
		return d, false, natural(err)
	}
	if e.Act != notify.Rename && e.Act != notify.Link {
		d, refused = judgeOne(b, e, one)
		return d, refused, true
	}
	to := e
	to.Act = notify.Create
	if e.Act == notify.Rename { // what is there is replaced
		to.Act = notify.Rename
	}
	two, err := w.look(to, e.Paths[1], false)
	if err != nil {
		return d, false, natural(err)
	}
	d, refused = judgeTwo(b, e, one, two)
	return d, refused, true
}

// natural says that the command meets the same error, whatever the sandbox: a
// ring of links, a name that is too long, a directory that was removed.
func natural(err error) bool {
	return slices.ContainsFunc([]error{unix.ELOOP, unix.ENAMETOOLONG, unix.EINVAL, errUnseen}, func(known error) bool { return errors.Is(err, known) })
}

// hasRoute says whether the host knows a way to an address. Nothing is sent: a
// datagram socket is only given its peer.
func hasRoute(to netip.AddrPort) bool {
	family, address := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()})
	if to.Addr().Is4() {
		family, address = unix.AF_INET, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return unix.Connect(fd, address) == nil
}
