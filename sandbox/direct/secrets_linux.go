package direct

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// subject is who the command runs as.
type subject struct {
	uid    uint32
	gid    uint32
	groups []uint32
	self   bool // the caller itself, so access(2) answers
}

func subjectOf(p sandbox.Profile) subject {
	if i := p.Identity; i != nil {
		return subject{uid: i.UID, gid: i.GID, groups: i.Groups}
	}
	return subject{uid: uint32(os.Geteuid()), gid: uint32(os.Getegid()), self: os.Geteuid() != 0}
}

// hiddenPaths lists what the command must not read: the tables, what the
// profile adds, and for root the homes of others. All without symbolic links.
func hiddenPaths(p sandbox.Profile) []string {
	who := subjectOf(p)
	r := resolver{readlink: os.Readlink, known: map[string]string{}}
	var hidden []string
	for _, home := range homes(p) {
		for _, s := range homeSecrets() {
			hidden = append(hidden, r.resolve(path.Join(home, s.path)))
		}
	}
	for _, s := range systemSecrets() {
		hidden = append(hidden, readableMatches(who, r.resolve(s.path))...)
	}
	if who.uid == 0 {
		hidden = append(hidden, othersHomes(p, &r)...)
	}
	for _, h := range p.Hide {
		hidden = append(hidden, r.resolve(path.Clean(h)))
	}
	slices.Sort(hidden)
	return slices.Compact(hidden)
}

func homes(p sandbox.Profile) []string {
	var list []string
	if p.Home != "" {
		list = append(list, p.Home)
	}
	if i := p.Identity; i != nil && i.Home != "" && i.Home != p.Home {
		list = append(list, i.Home)
	}
	return list
}

// othersHomes hides the homes of other users from root, who without
// capabilities still reads what is open to everybody. What a profile names as
// workspace or readable is granted by a rule of its own.
func othersHomes(p sandbox.Profile, r *resolver) []string {
	var own []string
	for _, h := range homes(p) {
		own = append(own, r.resolve(h))
	}
	var hidden []string
	candidates := []string{"/root"}
	entries, _ := os.ReadDir("/home")
	for _, e := range entries {
		candidates = append(candidates, "/home/"+e.Name())
	}
	for _, c := range candidates {
		at := r.resolve(c)
		if !slices.ContainsFunc(own, func(home string) bool { return overlaps(home, at) }) {
			hidden = append(hidden, at)
		}
	}
	return hidden
}

// overlaps says whether one path is the other or lies below it.
func overlaps(a, b string) bool { return isBelow(a, b) || isBelow(b, a) }

// isBelow says whether name is dir or lies below it.
func isBelow(name, dir string) bool {
	return name == dir || dir == "/" || strings.HasPrefix(name, dir+"/")
}

// readableMatches returns the pattern when the subject could read anything it
// names. A directory of two hundred files is carved only where it has to be.
func readableMatches(who subject, pattern string) []string {
	matches := []string{pattern}
	if strings.ContainsRune(pattern, '*') {
		matches = nil
		entries, _ := os.ReadDir(path.Dir(pattern))
		for _, e := range entries {
			if ok, _ := path.Match(path.Base(pattern), e.Name()); ok {
				matches = append(matches, path.Join(path.Dir(pattern), e.Name()))
			}
		}
	}
	if slices.ContainsFunc(matches, who.canRead) {
		return []string{pattern}
	}
	return nil
}

// canRead says whether the permissions let the subject read a file or enter a
// directory. In doubt it says yes.
func (who subject) canRead(name string) bool {
	if who.self {
		return unix.Faccessat(unix.AT_FDCWD, name, unix.R_OK, unix.AT_EACCESS) == nil ||
			isDir(name) && unix.Faccessat(unix.AT_FDCWD, name, unix.X_OK, unix.AT_EACCESS) == nil
	}
	var st unix.Stat_t
	if err := unix.Lstat(name, &st); err != nil {
		return false
	}
	if st.Uid == who.uid || hasACL(name) {
		return true // an owner can always change the mode
	}
	bits := uint32(0o4)
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		bits = 0o5
	}
	if st.Gid == who.gid || slices.Contains(who.groups, st.Gid) {
		bits <<= 3
	}
	return st.Mode&bits != 0
}

func isDir(name string) bool {
	var st unix.Stat_t
	return unix.Lstat(name, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

func hasACL(name string) bool {
	n, err := unix.Lgetxattr(name, "system.posix_acl_access", nil)
	return err == nil && n > 0
}

// disk is the tree of the file system.
type disk struct{}

func (disk) list(dir string) ([]fs.DirEntry, error) { return os.ReadDir(dir) }
