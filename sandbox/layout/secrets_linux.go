package layout

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/credentials"
)

// Subject is who the command runs as.
type Subject struct {
	UID    uint32
	gid    uint32
	groups []uint32
	self   bool // the caller itself, so access(2) answers
}

// SubjectOf is the user of a profile.
func SubjectOf(p sandbox.Profile) Subject {
	if i := p.Identity; i != nil {
		return Subject{UID: i.UID, gid: i.GID, groups: i.Groups}
	}
	return Subject{UID: uint32(os.Geteuid()), gid: uint32(os.Getegid()), self: os.Geteuid() != 0}
}

// hiddenPaths lists what the command must not read: the tables, what the
// profile adds, and for root the homes of others.
func hiddenPaths(p sandbox.Profile) []string {
	who, own := SubjectOf(p), homes(p)
	hidden := make([]string, 0, 256)
	for _, home := range own {
		for _, s := range credentials.Home() {
			hidden = append(hidden, beside(home, s.Path))
		}
	}
	for _, s := range credentials.System() {
		if who.UID == 0 || slices.ContainsFunc(named(s.Path), who.canRead) {
			hidden = append(hidden, s.Path)
		}
	}
	if who.UID == 0 {
		hidden = append(hidden, othersHomes(own)...)
	}
	for _, h := range p.Hide {
		hidden = append(hidden, path.Clean(h))
	}
	return hidden
}

// homes lists the caller's home and that of the identity, without links.
func homes(p sandbox.Profile) []string {
	var list []string
	add := func(home string) {
		if home == "" {
			return
		}
		if real, err := filepath.EvalSymlinks(home); err == nil {
			home = real
		}
		if !slices.Contains(list, home) {
			list = append(list, path.Clean(home))
		}
	}
	add(p.Home)
	if p.Identity != nil {
		add(p.Identity.Home)
	}
	return list
}

// othersHomes hides the homes of other users from root, who without
// capabilities still reads what is open to everybody. What a profile names as
// workspace or readable is granted by a rule of its own.
func othersHomes(own []string) []string {
	candidates := []string{"/root"}
	for _, e := range newDisk().list("/home") {
		candidates = append(candidates, "/home/"+e.name)
	}
	return slices.DeleteFunc(candidates, func(c string) bool {
		return slices.ContainsFunc(own, func(home string) bool { return IsBelow(home, c) || IsBelow(c, home) })
	})
}

// named lists the files that a pattern means now.
func named(pattern string) []string {
	if !strings.ContainsRune(pattern, '*') {
		return []string{pattern}
	}
	var list []string
	for _, e := range newDisk().list(path.Dir(pattern)) {
		if at := path.Join(path.Dir(pattern), e.name); matches(pattern, at) {
			list = append(list, at)
		}
	}
	return list
}

// canRead says whether the permissions let the subject read a file or enter a
// directory. In doubt it says yes. A directory of two hundred files is carved
// only where it has to be.
func (who Subject) canRead(name string) bool {
	if who.self {
		return access(name, unix.R_OK) || IsDir(name) && access(name, unix.X_OK)
	}
	var st unix.Stat_t
	if err := unix.Lstat(name, &st); err != nil {
		return false
	}
	if st.Uid == who.UID || hasACL(name) {
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

func access(name string, mode uint32) bool {
	return unix.Faccessat(unix.AT_FDCWD, name, mode, unix.AT_EACCESS) == nil
}

// IsDir says whether a path is a directory.
func IsDir(name string) bool { return kindOf(name) == dir }

func hasACL(name string) bool {
	n, err := unix.Lgetxattr(name, "system.posix_acl_access", nil)
	return err == nil && n > 0
}
