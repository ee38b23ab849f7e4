//go:build !linux

package proc

import "path/filepath"

// EvalSymlinks is filepath.EvalSymlinks.
func EvalSymlinks(path string) (string, error) { return filepath.EvalSymlinks(path) }
