package proc

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ownGroup says whether a file's group is one that nobody but us is in. Many
// distributions give each user such a group and make directories writable for it (umask
// 002). Debian's OpenSSH takes it for safe, too. An access list is not: it uses the
// bits of the group for others.
func ownGroup(path string, gid uint32) bool {
	if _, err := unix.Lgetxattr(path, "system.posix_acl_access", nil); err != unix.ENODATA && err != unix.ENOTSUP {
		return false
	}
	return soleMember(fileLines("/etc/passwd"), fileLines("/etc/group"), gid, os.Geteuid())
}

func fileLines(path string) []string {
	text, _ := os.ReadFile(path) // without them nobody is known to be alone
	return strings.Split(string(text), "\n")
}

// soleMember says whether a user is the only member of the group that has the
// user's name (passwd(5), group(5)). What other services know of is in neither.
func soleMember(passwd, group []string, gid uint32, uid int) bool {
	id, name := strconv.FormatUint(uint64(gid), 10), ""
	for _, line := range passwd {
		switch f := strings.Split(line, ":"); {
		case len(f) < 4:
		case f[2] == strconv.Itoa(uid):
			if f[3] != id || name != "" {
				return false
			}
			name = f[0]
		case f[3] == id:
			return false // of somebody else
		}
	}
	found := false
	for _, line := range group {
		switch f := strings.Split(line, ":"); {
		case len(f) < 4 || f[2] != id:
		case name == "" || f[0] != name || f[3] != "" && f[3] != name:
			return false
		default:
			found = true
		}
	}
	return found
}
