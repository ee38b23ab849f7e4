//go:build amd64 || arm64

package probes

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// state is all that a command could change outside, by name.
type state map[string]string

// state looks at everything that is watched.
func (r *room) state() state {
	s := state{}
	for _, dir := range []string{"out", "home", "hide", "bin", "sock"} {
		watchTree(s, filepath.Join(r.base, dir))
	}
	watchFile(s, r.base)
	for _, dir := range []string{r.temp, r.varTemp, r.shm} {
		if dir != "" {
			watchTree(s, dir)
		}
	}
	for _, f := range trustedFiles() {
		if path := filepath.Join(r.base, f.path); strings.HasSuffix(f.path, "/") {
			watchNames(s, path)
		} else {
			watchFile(s, path)
		}
	}
	r.watchDoors(s)
	r.inbox.watch(s)
	s["victim"] = r.victim.state()
	r.shared.watch(s)
	s["terminal"] = r.terminal.seen()
	return s
}

func watchTree(s state, dir string) {
	_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			watchFile(s, path)
		}
		return nil
	})
}

func watchFile(s state, path string) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		s[path] = err.Error()
		return
	}
	text := ""
	if st.Mode&unix.S_IFMT == unix.S_IFREG && st.Size < 1<<16 {
		b, _ := os.ReadFile(path)
		text = string(b)
	}
	names := make([]byte, 256)
	n, _ := unix.Llistxattr(path, names)
	s[path] = fmt.Sprintf("mode %o owner %d:%d links %d size %d time %d attributes %q %d text %q",
		st.Mode, st.Uid, st.Gid, st.Nlink, st.Size, st.Mtim.Nano(), names[:max(n, 0)], inodeFlags(path, st.Mode), text)
}

func inodeFlags(path string, mode uint32) int {
	if f := mode & unix.S_IFMT; f != unix.S_IFREG && f != unix.S_IFDIR {
		return 0
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	flags, _ := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
	return flags & noDump
}

func watchNames(s state, dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		s[dir] = err.Error()
		return
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	s[dir] = strings.Join(names, " ")
}

// watchDoors looks in the workspace for what would outlive the sandbox there:
// set-id files and device nodes.
func (r *room) watchDoors(s state) {
	_ = filepath.WalkDir(r.ws(), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		var st unix.Stat_t
		if unix.Lstat(path, &st) != nil {
			return nil
		}
		kind := st.Mode & unix.S_IFMT
		if kind == unix.S_IFCHR || kind == unix.S_IFBLK || kind != unix.S_IFLNK && st.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
			s[path] = fmt.Sprintf("mode %o", st.Mode)
		}
		return nil
	})
}

// changes lists what differs, without what lies below a name that differs too.
func (before state) changes(after state) []string {
	var list []string
	for name, was := range before {
		if now, ok := after[name]; !ok {
			list = append(list, "removed "+name)
		} else if now != was {
			list = append(list, "changed "+name)
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			list = append(list, "made "+name)
		}
	}
	slices.Sort(list)
	return list
}

// processesWith lists the processes that have a word in their arguments.
func processesWith(mark string) []int {
	var list []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		text, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if slices.ContainsFunc(strings.Split(string(text), "\x00"), func(a string) bool { return a == mark }) {
			list = append(list, pid)
		}
	}
	return list
}
