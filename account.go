package sbx

import (
	"bufio"
	"os"
	"slices"

	acct "github.com/sbx-run/sbx/accounts"
)

// accounts are the two files that name users and groups.
type accounts struct {
	passwd, group string
}

var hostAccounts = accounts{passwd: "/etc/passwd", group: "/etc/group"}

// byUID finds the first entry of uid, as getpwuid does.
func (a accounts) byUID(uid uint32) (found acct.User, ok bool) {
	eachLine(a.passwd, func(line string) bool {
		u, is := acct.ParseUser(line)
		if is && u.UID == uid {
			found, ok = u, true
		}
		return !ok
	})
	return found, ok
}

// groups lists the supplementary groups of a login name, as initgroups does:
// the primary group first.
func (a accounts) groups(name string, primary uint32) []uint32 {
	groups := []uint32{primary}
	eachLine(a.group, func(line string) bool {
		if g, ok := acct.ParseGroup(line); ok && g.GID != primary && slices.Contains(g.Members, name) {
			groups = append(groups, g.GID)
		}
		return true
	})
	return groups
}

// eachLine calls f for each line until it returns false. A file that cannot be
// read has no lines: the user then has no name and no further groups.
func eachLine(file string, f func(line string) bool) {
	in, err := os.Open(file)
	if err != nil {
		return
	}
	defer in.Close()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20) // a group of thousands is one line
	for lines.Scan() {
		if !f(lines.Text()) {
			return
		}
	}
}
