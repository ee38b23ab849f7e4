package proc

import (
	"fmt"
	"os"
	"path/filepath"
)

// Beside finds a program of ours: beside the program that runs, else in
// libexec/sbx beside the directory of it. It is never searched on PATH, which may
// hold directories of a workspace. Whether it can be relied on Trusted says.
func Beside(name string) (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", fmt.Errorf("this program does not know where it lies: %w", err)
	}
	return besideOf(self, name)
}

// besideOf takes what stands at the first place, also a broken link: that nobody
// goes past it is for Trusted.
func besideOf(self, name string) (string, error) {
	dir := filepath.Dir(self)
	beside, libexec := filepath.Join(dir, name), filepath.Join(filepath.Dir(dir), "libexec", "sbx", name)
	for _, at := range [...]string{beside, libexec} {
		if _, err := os.Lstat(at); err == nil {
			return at, nil
		}
	}
	return "", fmt.Errorf("there is no %s at %s or %s", name, beside, libexec)
}
