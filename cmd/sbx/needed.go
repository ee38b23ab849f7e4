package main

import (
	"os"
	"path/filepath"
	"strings"
)

// needed is the program that a backend needs on this host, and how it is
// installed. sbx never installs anything.
type needed struct {
	backend, program string
	debian, fedora   string // packages
	brew             string // for macOS; "" when it is no way
}

// neededPrograms is a table of names that distributions use.
var neededPrograms = [...]needed{
	{"bwrap", "bwrap", "bubblewrap", "bubblewrap", ""},
	{"firejail", "firejail", "firejail", "firejail", ""},
	{"docker", "dockerd", "docker.io", "moby-engine", "docker"},
	{"podman", "podman", "podman", "podman", "podman"},
	{"containerd", "containerd", "containerd", "containerd", ""},
	{"ssh", "ssh", "openssh-client", "openssh-clients", "openssh"},
}

func neededBy(backend string) (needed, bool) {
	for _, n := range neededPrograms {
		if n.backend == backend {
			return n, true
		}
	}
	return needed{}, false
}

// here says whether the program is on a search path, or where daemons are.
func (n needed) here(path string) bool {
	for _, dir := range append(filepath.SplitList(path), "/usr/sbin", "/usr/local/sbin", "/sbin") {
		if !filepath.IsAbs(dir) {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, n.program)); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return true
		}
	}
	return false
}

// advice is the command that installs it, by what this host has for that.
func (n needed) advice() string {
	for _, by := range [...]struct{ file, command, name string }{
		{"/usr/bin/apt-get", "apt install ", n.debian},
		{"/usr/bin/dnf", "dnf install ", n.fedora},
		{"/usr/bin/pacman", "pacman -S ", n.fedora},
		{"/sbin/apk", "apk add ", n.fedora},
		{"/opt/homebrew/bin/brew", "brew install ", n.brew},
		{"/usr/local/bin/brew", "brew install ", n.brew},
	} {
		if _, err := os.Stat(by.file); err == nil && by.name != "" {
			return n.program + " is not installed; the package is " + by.name + ": " + by.command + by.name
		}
	}
	return n.program + " is not installed; the package is usually called " + strings.TrimSpace(n.debian)
}
