package proc

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/accounts"
)

// ownGroup says whether a file's group is one that nobody but us is in. Many
// distributions give each user such a group and make directories writable for it (umask
// 002). Debian's OpenSSH takes it for safe, too. An access list is not: it uses the
// bits of the group for others.
func ownGroup(path string, gid uint32) bool {
	if _, err := unix.Lgetxattr(path, "system.posix_acl_access", nil); err != unix.ENODATA && err != unix.ENOTSUP {
		return false
	}
	return soleMember(fileLines("/etc/passwd"), fileLines("/etc/group"), gid, uint32(os.Geteuid()))
}

func fileLines(path string) []string {
	text, _ := os.ReadFile(path) // without them nobody is known to be alone
	return strings.Split(string(text), "\n")
}

// soleMember says whether a user is the only member of the group that has the
// user's name (passwd(5), group(5)). What other services know of is in neither.
func soleMember(passwd, group []string, gid, uid uint32) bool {
	name := ""
	for _, line := range passwd {
		switch u, ok := accounts.ParseUser(line); {
		case !ok:
		case u.UID == uid:
			if u.GID != gid || name != "" {
				return false
			}
			name = u.Name
		case u.GID == gid:
			return false // of somebody else
		}
	}
	found := false
	for _, line := range group {
		switch g, ok := accounts.ParseGroup(line); {
		case !ok || g.GID != gid:
		case name == "" || g.Name != name || slices.ContainsFunc(g.Members, func(member string) bool { return member != name }):
			return false
		default:
			found = true
		}
	}
	return found
}
