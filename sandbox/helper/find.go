package helper

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Names says whether a word can be the name of a helper's backend.
func Names(word string) bool {
	if word == "" || len(word) > 64 || word[0] == '-' {
		return false
	}
	for _, c := range word {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// Find looks for the helper of a backend beside the program that runs and in
// its libexec folder, never on PATH: PATH may hold folders of a workspace.
func Find(name string) (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", fmt.Errorf("find %s%s: %w", Prefix, name, err)
	}
	dir := filepath.Dir(self)
	at := []string{filepath.Join(dir, Prefix+name), filepath.Join(dir, "..", "libexec", "sbx", Prefix+name)}
	for _, path := range at {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no %s%s at %s: install it beside sbx, or name it in sbx.helpers", Prefix, name, strings.Join(at, " or "))
}
