// Package accounts reads the lines of the files that name users and groups, passwd(5)
// and group(5). os/user is not used: it would add to the start-up of the light binary,
// and with cgo ask the network.
package accounts

import (
	"strconv"
	"strings"
)

// User is one line of a passwd file.
type User struct {
	Name     string
	UID, GID uint32
	Home     string
	Shell    string
}

// ParseUser reads a line, with or without its end. What is missing behind the group is
// empty, as it is for getpwent(3). False: it is a remark, or names nobody.
func ParseUser(line string) (User, bool) {
	f, ok := fields(line, 4)
	if !ok {
		return User{}, false
	}
	uid, uok := number(f[2])
	gid, gok := number(f[3])
	u := User{Name: f[0], UID: uid, GID: gid}
	if len(f) > 5 {
		u.Home = f[5]
	}
	if len(f) > 6 {
		u.Shell = f[6]
	}
	return u, uok && gok
}

// Group is one line of a group file. Those whose primary group it is are not among its
// members.
type Group struct {
	Name    string
	GID     uint32
	Members []string
}

// ParseGroup reads a line like ParseUser.
func ParseGroup(line string) (Group, bool) {
	f, ok := fields(line, 4)
	if !ok {
		return Group{}, false
	}
	gid, ok := number(f[2])
	g := Group{Name: f[0], GID: gid}
	if f[3] != "" {
		g.Members = strings.Split(f[3], ",")
	}
	return g, ok
}

func fields(line string, least int) ([]string, bool) {
	f := strings.Split(strings.TrimRight(line, "\r\n"), ":")
	return f, len(f) >= least && f[0] != "" && !strings.HasPrefix(line, "#")
}

func number(text string) (uint32, bool) {
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), err == nil
}
