package layout

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// IsRealDir says whether a path is a directory and no link to one.
func IsRealDir(name string) bool { return kindOf(name) == dir }

// ResolverFile is the file that /etc/resolv.conf leads to: without it no name
// is found, and with some resolvers it lies in /run.
func ResolverFile(p sandbox.Profile) string {
	if p.Network == sandbox.NetworkNone {
		return "" // with rules names are looked up outside, but some programs end without the file
	}
	real, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil {
		return ""
	}
	return real
}

// LinksIn lists the links in a directory, to be made again where it is covered:
// on some systems the programs are below /run/current-system.
func LinksIn(at string) []Link {
	var links []Link
	for _, e := range newDisk().list(at) {
		if e.kind != link {
			continue
		}
		if to, err := os.Readlink(at + "/" + e.name); err == nil {
			links = append(links, Link{e.name, to})
		}
	}
	return links
}

// BoundSockets lists the unix sockets of this network namespace that are bound
// to a path outside the directories that are covered anyway.
func BoundSockets(skip func(string) bool) []string {
	text, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil
	}
	var names []string
	for line := range bytes.Lines(text) {
		at := bytes.IndexByte(line, '/')
		if at < 1 || line[at-1] != ' ' {
			continue
		}
		name := strings.TrimSuffix(string(line[at:]), "\n")
		if skip(name) || filepath.Clean(name) != name {
			continue
		}
		if isSocket(name) {
			if real, err := filepath.EvalSymlinks(name); err == nil && !slices.Contains(names, real) {
				names = append(names, real)
			}
		}
	}
	return names
}

func isSocket(name string) bool {
	var st unix.Stat_t
	return unix.Lstat(name, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFSOCK
}

// TerminalOf is the device of the first of the files that is a terminal. In the
// command's /dev it is the console, so that its name can be found.
func TerminalOf(files [3]uintptr) string {
	for _, f := range files {
		var st unix.Stat_t
		if unix.Fstat(int(f), &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
			continue
		}
		if _, err := unix.IoctlGetTermios(int(f), unix.TCGETS); err != nil {
			continue
		}
		name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f)))
		var at unix.Stat_t
		if err == nil && strings.HasPrefix(name, "/dev/") && unix.Stat(name, &at) == nil && at.Rdev == st.Rdev {
			return name
		}
	}
	return ""
}

// Tidy takes the mount points back that were made in the private temp directory.
func Tidy(p sandbox.Profile, spots []Spot) {
	for _, i := range Passing(spots) {
		name := p.Private.Temp + "/" + path.Base(spots[i].Path)
		var st unix.Stat_t
		if unix.Lstat(name, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Size == 0 {
			_ = unix.Unlink(name)
		}
	}
}
