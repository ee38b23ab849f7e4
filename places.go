package sbx

import (
	"path/filepath"
	"strings"
)

// reach says how much of a place is refused as a workspace.
type reach uint8

const (
	tree     reach = iota // the directory and everything below it
	children              // the directory and its direct children
	itself                // only the directory
)

// place is a directory that must not become writable as a workspace. An
// ancestor of a place is refused as well, whatever the reach.
type place struct {
	path  string // absolute, or below the home directory in homePlaces
	reach reach
	what  string // completes "the workspace is …"
}

// systemPlaces hold what other programs and users run and trust. Below the
// ones that are not refused whole people do keep projects (/opt/x, /usr/src/x,
// /var/www/x, /mnt/x).
var systemPlaces = [...]place{
	{"/", itself, "the root of the file system"},
	{"/bin", tree, "a system directory"},
	{"/boot", tree, "a system directory"},
	{"/dev", children, "a system directory"}, // /dev/shm/x is a temp directory
	{"/dev/shm", itself, "the shared temp directory of all users"},
	{"/etc", tree, "a system directory"},
	{"/home", children, "a home directory"},
	{"/lib", tree, "a system directory"},
	{"/lib32", tree, "a system directory"},
	{"/lib64", tree, "a system directory"},
	{"/libx32", tree, "a system directory"},
	{"/media", itself, "a mount directory of the system"},
	{"/mnt", itself, "a mount directory of the system"},
	{"/opt", itself, "a system directory"},
	{"/proc", tree, "a system directory"},
	{"/root", itself, "a home directory"},
	{"/run", tree, "a system directory"}, // sockets of live services
	{"/sbin", tree, "a system directory"},
	{"/srv", itself, "a system directory"},
	{"/sys", tree, "a system directory"},
	{"/tmp", itself, "the shared temp directory of all users"},
	{"/usr", children, "a system directory"},
	{"/usr/bin", tree, "a system directory"},
	{"/usr/include", tree, "a system directory"},
	{"/usr/lib", tree, "a system directory"},
	{"/usr/lib32", tree, "a system directory"},
	{"/usr/lib64", tree, "a system directory"},
	{"/usr/libexec", tree, "a system directory"},
	{"/usr/local", children, "a system directory"},
	{"/usr/local/bin", tree, "a system directory"},
	{"/usr/local/lib", tree, "a system directory"},
	{"/usr/local/sbin", tree, "a system directory"},
	{"/usr/sbin", tree, "a system directory"},
	{"/usr/share", tree, "a system directory"},
	{"/var", children, "a system directory"},
	{"/var/cache/sbx", tree, "sbx's own directory"},
	{"/var/lib/apt", tree, "a system directory"},
	{"/var/lib/containerd", tree, "a system directory"},
	{"/var/lib/docker", tree, "a system directory"},
	{"/var/lib/dpkg", tree, "a system directory"},
	{"/var/lib/systemd", tree, "a system directory"},
	{"/var/run", tree, "a system directory"},
	{"/var/spool", tree, "a system directory"}, // crontabs
	{"/var/tmp", itself, "the shared temp directory of all users"},
	// macOS
	{"/Applications", tree, "a system directory"},
	{"/Library", tree, "a system directory"},
	{"/System", tree, "a system directory"},
	{"/Users", children, "a home directory"},
	{"/Volumes", itself, "a mount directory of the system"},
	{"/private/etc", tree, "a system directory"},
	{"/private/tmp", itself, "the shared temp directory of all users"},
	{"/private/var", children, "a system directory"},
	{"/private/var/db", tree, "a system directory"},
}

// homePlaces are relative to a home directory.
var homePlaces = [...]place{
	{"", itself, "the home directory"},
	{".aws", tree, "a directory of credentials"},
	{".azure", tree, "a directory of credentials"},
	{".cache", itself, "the cache of all programs"},
	{".config", tree, "the configuration of programs outside"}, // autostart, systemd units, gh, gcloud
	{".docker", tree, "a directory of credentials"},
	{".gnupg", tree, "a directory of credentials"},
	{".kube", tree, "a directory of credentials"},
	{".local", children, "the data of programs outside"},
	{".local/bin", tree, "on the search path of programs outside"},
	{".local/share/keyrings", tree, "a directory of credentials"},
	{".mozilla", tree, "a directory of credentials"},
	{".password-store", tree, "a directory of credentials"},
	{".pepe", tree, "the directory of the configuration"},
	{".ssh", tree, "a directory of credentials"},
	{"Library", children, "the data of programs outside"},
	{"Library/Keychains", tree, "a directory of credentials"},
	{"Library/LaunchAgents", tree, "run at login"},
}

// covers reports whether dir may not be a workspace because of p: it lies
// within the reach of p, or p lies below it. Both are clean absolute paths.
func (p place) covers(dir string) bool {
	if within(p.path, dir) {
		return true // dir is p itself or an ancestor of it
	}
	switch p.reach {
	case tree:
		return within(dir, p.path)
	case children:
		return filepath.Dir(dir) == p.path
	}
	return false
}

// within reports whether path is dir or lies below it. Both are clean and absolute.
func within(path, dir string) bool {
	if path == dir || dir == "/" {
		return true
	}
	return len(path) > len(dir) && path[len(dir)] == filepath.Separator && strings.HasPrefix(path, dir)
}
