package choice

import (
	"os"
	"strings"
)

// settings of the kernel that decide whether namespaces can be made.
var settings = [...]string{
	"/proc/sys/kernel/random/boot_id",
	"/proc/sys/user/max_user_namespaces",
	"/proc/sys/kernel/unprivileged_userns_clone",
	"/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
	"/proc/self/attr/current",
	"/proc/self/uid_map",
}

// kernelFacts are the boot, the settings, and the namespaces of this process.
func kernelFacts() []string {
	var parts []string
	for _, path := range settings {
		text, _ := os.ReadFile(path) // none is a fact, too
		parts = append(parts, strings.TrimSpace(string(text)))
	}
	for _, name := range [...]string{"user", "mnt", "pid"} {
		link, _ := os.Readlink("/proc/self/ns/" + name)
		parts = append(parts, link)
	}
	return parts
}
