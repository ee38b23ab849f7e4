//go:build !linux || !(amd64 || arm64)

package filter

import (
	"errors"
	"runtime"
)

// Program fails: there is no table for this system.
func Program(...string) ([]byte, error) {
	return nil, errors.New("no system call filter for " + runtime.GOOS + "/" + runtime.GOARCH)
}
