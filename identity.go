package sbx

import (
	"fmt"
	"os"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
)

// identityFor decides who the command runs as. Root in a workspace that
// belongs to somebody else would leave files there that the owner cannot
// change, and would read with root's rights: the command runs as the owner.
// Anybody else, and root in root's own workspace, stays who they are (nil).
func identityFor(caller, owner, group uint32, list accounts) *sandbox.Identity {
	if caller != 0 || owner == 0 {
		return nil
	}
	id := &sandbox.Identity{UID: owner}
	a, known := list.byUID(owner)
	if !known {
		if group == 0 {
			group = owner // not root's group
		}
		id.GID, id.Groups = group, []uint32{group}
		id.Why = fmt.Sprintf("started by root, runs as uid %d, which owns the workspace and has no account", owner)
		return id
	}
	id.GID, id.Name, id.Home = a.GID, a.Name, a.Home
	id.Groups = list.groups(a.Name, a.GID)
	id.Why = fmt.Sprintf("started by root, runs as %s (uid %d), who owns the workspace", a.Name, owner)
	return id
}

// isMapped reports whether a user exists in the user namespace of this process.
// In a rootless container the owners of most files do not: they all look like
// the same nobody, and nobody can become them. Root there is the caller alone.
func isMapped(uid uint32) bool {
	text, err := os.ReadFile("/proc/self/uid_map")
	return err != nil || inMap(string(text), uid)
}

// inMap reads lines of "first inside, first outside, how many".
func inMap(text string, uid uint32) bool {
	for line := range strings.Lines(text) {
		var first, outside, count uint64
		if n, _ := fmt.Sscan(line, &first, &outside, &count); n == 3 && uint64(uid) >= first && uint64(uid)-first < count {
			return true
		}
	}
	return false
}
