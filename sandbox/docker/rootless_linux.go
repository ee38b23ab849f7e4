package docker

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
)

// hasNumbers refuses a user for whom podman cannot make a user namespace with the
// users of an image in it: it would say so for each container, at length.
func hasNumbers() error {
	name, uid := "", strconv.Itoa(os.Geteuid())
	if who, err := user.LookupId(uid); err == nil {
		name = who.Username
	}
	if text, err := os.ReadFile("/etc/nsswitch.conf"); err == nil && strings.Contains("\n"+string(text), "\nsubid:") {
		return nil // kept elsewhere
	}
	for _, file := range [...]string{"/etc/subuid", "/etc/subgid"} {
		text, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) || listed(string(text), name, uid) {
			continue
		}
		return fmt.Errorf("podman as an ordinary user needs numbers for the user %s in %s: "+
			"as root, usermod --add-subuids 100000-165535 --add-subgids 100000-165535 NAME", uid, file)
	}
	return nil
}

// listed says whether a file in the form of /etc/subuid has a line for a user.
func listed(text, name, uid string) bool {
	for line := range strings.Lines(text) {
		who, _, ok := strings.Cut(line, ":")
		if ok && who != "" && (who == name || who == uid) {
			return true
		}
	}
	return false
}
