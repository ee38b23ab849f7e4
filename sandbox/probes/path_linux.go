//go:build amd64 || arm64

package probes

import (
	"path/filepath"
	"strings"
)

// candidates lists the files that a name can mean under an environment.
func candidates(name string, env []string) []string {
	if strings.ContainsRune(name, '/') {
		return []string{name}
	}
	var list []string
	for _, entry := range env {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			list = nil
			for _, dir := range filepath.SplitList(path) {
				if filepath.IsAbs(dir) {
					list = append(list, filepath.Join(dir, name))
				}
			}
		}
	}
	return list
}
