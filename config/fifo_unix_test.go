//go:build unix

package config

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestReadPipe holds that a named pipe without a writer does not block.
func TestReadPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("got %v", err)
	}
}

// TestReadForbidden: a file that may not be read is an error, not "no file".
func TestReadForbidden(t *testing.T) {
	if syscall.Geteuid() == 0 {
		asNobody(t)
		return
	}
	path := filepath.Join(t.TempDir(), "config.json")
	write(t, path, "{}")
	if err := syscall.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("got %v", err)
	}
}
