//go:build amd64 || arm64

package firejail

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/layout"
)

// What firejail does depends on its configuration too, it goes on after options
// that it does not carry out, and other commands may be at work in the same
// directories meanwhile. So what it made is looked at, by way of the waiting
// process, before the command starts.

// changedError says that what was made is not what was to be made.
type changedError struct{ what string }

func (e *changedError) Error() string {
	return "what firejail has made is not what it was told: " + e.what
}

func changed(format string, args ...any) error { return &changedError{fmt.Sprintf(format, args...)} }

// lowest follows the children of a process down to the one that has none.
func lowest(pid int) int {
	for {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		list := strings.Fields(string(text))
		if err != nil || len(list) == 0 {
			return pid
		}
		next, err := strconv.Atoi(list[len(list)-1])
		if err != nil {
			return pid
		}
		pid = next
	}
}

// check looks at everything that the plan promises and a process can be asked. What it
// gives is the mount points that can be written.
func (s *session) check(pid int, sc scene) (writable []string, err error) {
	at := "/proc/" + strconv.Itoa(pid)
	status, err := os.ReadFile(at + "/status")
	if err != nil {
		return nil, fmt.Errorf("look at the command: %w", err)
	}
	if err := rights(string(status)); err != nil {
		return nil, err
	}
	apart := []string{"mnt", "pid", "ipc"}
	if s.profile.Network == sandbox.NetworkNone {
		apart = append(apart, "net")
	}
	for _, name := range apart {
		theirs, err := os.Readlink(at + "/ns/" + name)
		if err != nil {
			return nil, fmt.Errorf("look at the namespaces of the command: %w", err)
		}
		if ours, err := os.Readlink("/proc/self/ns/" + name); err != nil || ours == theirs {
			return nil, changed("the command has no %s namespace of its own", name)
		}
	}
	root, err := unix.Open(at+"/root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("look at the files of the command: %w", err)
	}
	defer unix.Close(root)
	text, err := os.ReadFile(at + "/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("look at the mounts of the command: %w", err)
	}
	v := view{root: root, points: points(string(text)), scene: sc, exact: s.host.Exact, uid: layout.SubjectOf(s.profile).UID}
	err = v.check()
	return v.writable, err
}

// rights judges /proc/PID/status.
func rights(status string) error {
	want := map[string]string{"NoNewPrivs": "1", "CapPrm": zeros, "CapEff": zeros, "CapBnd": zeros, "CapInh": zeros, "CapAmb": zeros}
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		if w, ok := want[name]; ok {
			if strings.TrimSpace(value) != w {
				return changed("%s is %s", name, strings.TrimSpace(value))
			}
			delete(want, name)
		}
	}
	for name := range want {
		return changed("%s is not told", name)
	}
	return nil
}

const zeros = "0000000000000000"

// view is what the command will see.
type view struct {
	root   int
	points []string // mount points
	scene
	exact map[string]layout.Place
	uid   uint32 // of the command

	writable []string // of the mount points, those that can be written
}

// open finds a path as the command does.
func (v view) open(name string) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	return unix.Openat2(v.root, name, &how)
}

// place is what is known of a file there.
type place struct {
	device, inode uint64
	readOnly      bool
	kind          int64 // of the file system
}

func (v view) place(name string) (place, bool) {
	fd, err := v.open(name)
	if err != nil {
		return place{}, false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	var fs unix.Statfs_t
	if unix.Fstat(fd, &st) != nil || unix.Fstatfs(fd, &fs) != nil {
		return place{}, false
	}
	return place{st.Dev, st.Ino, fs.Flags&unix.ST_RDONLY != 0, fs.Type}, true
}

func (v *view) check() error {
	ours := hostDevices()
	for _, name := range v.points {
		at, seen := v.place(name)
		may := seen && v.mayWrite(name)
		if !seen || at.readOnly || !may && v.outOfReach(name) {
			continue
		}
		v.writable = append(v.writable, name)
		if may {
			continue
		}
		switch {
		case at.kind == unix.PROC_SUPER_MAGIC && name == "/proc", at.kind == unix.DEVPTS_SUPER_MAGIC && name == "/dev/pts":
		case at.kind == unix.TMPFS_MAGIC && !ours[at.device]: // of the run's own
		case slices.ContainsFunc(layout.Devices(), func(d layout.Device) bool { return d.Path == name }):
		default:
			return changed("%q can be written", name)
		}
	}
	for _, spot := range v.spots {
		if err := v.checkSpot(spot); err != nil {
			return err
		}
	}
	return nil
}

// outOfReach says that the command's user gets to no file below a mount point: a
// directory above it is another's and lets neither its group nor others through (an
// access list lets nobody through whom the bits of the group do not). Firejail, which
// looks as that user, leaves such a mount as it is.
func (v view) outOfReach(name string) bool {
	if v.uid == 0 {
		return false
	}
	for dir := filepath.Dir(name); dir != "/"; dir = filepath.Dir(dir) {
		fd, err := v.open(dir)
		if err != nil {
			return false
		}
		var st unix.Stat_t
		err = unix.Fstat(fd, &st)
		unix.Close(fd)
		if err == nil && st.Uid != v.uid && st.Mode&0o011 == 0 {
			return true
		}
	}
	return false
}

// mayWrite says whether the layout lets the command write at a mount point.
func (v view) mayWrite(name string) bool {
	spot := layout.Nearest(v.spots, name)
	return spot != nil && spot.Writable() && spot.From == ""
}

func (v view) checkSpot(spot layout.Spot) error {
	if layout.IsBelow(spot.Path, "/dev") || spot.From != "" || spot.Kind == layout.Guard && v.isLink(spot.Path) {
		return nil
	}
	var host unix.Stat_t
	outside := unix.Lstat(spot.Path, &host) == nil
	at, seen := v.place(spot.Path)
	same := seen && outside && at.device == host.Dev && at.inode == host.Ino
	switch spot.Kind {
	case layout.Mask:
		if same {
			return changed("%q is not covered", spot.Path)
		}
	case layout.Bind, layout.Pin:
		was, known := v.exact[spot.Path]
		if !same || known && (at.device != was.Dev || at.inode != was.Ino) {
			return changed("%q is not there", spot.Path)
		}
		if at.readOnly {
			return changed("%q cannot be written: firejail makes nothing writable that belongs to others", spot.Path)
		}
		if spot.Kind == layout.Pin && !slices.Contains(v.points, spot.Path) {
			return changed("%q is not kept in place", spot.Path)
		}
	case layout.Guard:
		if !same || !at.readOnly || !slices.Contains(v.points, spot.Path) {
			return changed("%q is not protected", spot.Path)
		}
	}
	return nil
}

// hostDevices are the file systems that are mounted here.
func hostDevices() map[uint64]bool {
	devices := map[uint64]bool{}
	text, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		major, minor, _ := strings.Cut(fields[2], ":")
		a, _ := strconv.ParseUint(major, 10, 32)
		b, _ := strconv.ParseUint(minor, 10, 32)
		devices[unix.Mkdev(uint32(a), uint32(b))] = true
	}
	return devices
}

// points lists the mount points of a mountinfo, each once.
func points(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 4 {
			list = append(list, layout.Unescape(fields[4]))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
