package container

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/proc"
)

// findInit finds cmd/sbx-init: at the path that was given, else beside the program
// that runs, or in ../libexec/sbx of it.
func findInit(engine, given string) (string, error) {
	places := []string{given}
	if given == "" {
		self, err := os.Executable()
		if err == nil {
			self, err = filepath.EvalSymlinks(self)
		}
		if err != nil {
			return "", Unavailable(engine, "find sbx-init", err)
		}
		dir := filepath.Dir(self)
		places = []string{filepath.Join(dir, "sbx-init"), filepath.Join(dir, "..", "libexec", "sbx", "sbx-init")}
	}
	for _, at := range places {
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() {
			if err := proc.Trusted(at, sandbox.Profile{}); err != nil {
				return "", Unavailable(engine, "use sbx-init", err)
			}
			return at, nil
		}
	}
	return "", Unavailable(engine, "", fmt.Errorf("there is no sbx-init at %s: install it beside sbx", strings.Join(places, " or ")))
}

// Trusted finds a program in the absolute entries of a search path, in a
// directory and under a name that only root or we can change: the workspace may
// stand in PATH.
func Trusted(name, path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file, err := filepath.EvalSymlinks(filepath.Join(dir, name))
		if err != nil || unix.Access(file, unix.X_OK) != nil {
			continue
		}
		if err := proc.Trusted(file, sandbox.Profile{}); err != nil {
			return "", err
		}
		return file, nil
	}
	return "", fmt.Errorf("there is no program %s on PATH", name)
}

// IsSocket says whether a path is an absolute one of a socket.
func IsSocket(path string) bool {
	info, err := os.Stat(path)
	return filepath.IsAbs(path) && err == nil && info.Mode().Type() == os.ModeSocket
}
