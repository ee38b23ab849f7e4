package sbx

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// account is one line of a passwd file. os/user is not used: it would add to
// the start-up of the light binary, and with cgo ask the network.
type account struct {
	name     string
	uid, gid uint32
	home     string
	shell    string
}

// accounts are the two files that name users and groups.
type accounts struct {
	passwd, group string
}

var hostAccounts = accounts{passwd: "/etc/passwd", group: "/etc/group"}

// byUID finds the first entry of uid, as getpwuid does.
func (a accounts) byUID(uid uint32) (account, bool) {
	var found account
	ok := false
	eachLine(a.passwd, func(line string) bool {
		f := strings.Split(line, ":")
		if len(f) < 7 || strings.HasPrefix(line, "#") {
			return true
		}
		u, uerr := strconv.ParseUint(f[2], 10, 32)
		g, gerr := strconv.ParseUint(f[3], 10, 32)
		if uerr != nil || gerr != nil || uint32(u) != uid {
			return true
		}
		found, ok = account{name: f[0], uid: uint32(u), gid: uint32(g), home: f[5], shell: f[6]}, true
		return false
	})
	return found, ok
}

// groups lists the supplementary groups of a login name, as initgroups does:
// the primary group first.
func (a accounts) groups(name string, primary uint32) []uint32 {
	groups := []uint32{primary}
	eachLine(a.group, func(line string) bool {
		f := strings.Split(line, ":")
		if len(f) < 4 {
			return true
		}
		gid, err := strconv.ParseUint(f[2], 10, 32)
		if err != nil || uint32(gid) == primary {
			return true
		}
		for _, member := range strings.Split(f[3], ",") {
			if member == name {
				groups = append(groups, uint32(gid))
				break
			}
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
