package proc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestLookup(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions of files are others there")
	}
	dir := t.TempDir()
	for _, d := range []string{"bin", "sbin", "ws"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]os.FileMode{"bin/tool": 0o644, "sbin/tool": 0o755, "bin/plain": 0o644, "ws/tool": 0o755, "ws/sh": 0o755} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	ws := filepath.Join(dir, "ws")
	path := "PATH=" + dir + "/bin:" + dir + "/sbin"
	tests := []struct {
		name string
		env  []string
		want string
		err  error
	}{
		{"tool", []string{path}, dir + "/sbin/tool", nil}, // the first is not executable
		{"plain", []string{path}, "", fs.ErrPermission},
		{"absent", []string{path}, "", fs.ErrNotExist},
		{"", []string{path}, "", fs.ErrNotExist},
		{"./tool", []string{path}, "./tool", nil},
		{"../sbin/tool", nil, "../sbin/tool", nil},
		{dir + "/sbin/tool", nil, dir + "/sbin/tool", nil},
		{"./absent", nil, "./absent", fs.ErrNotExist},
		{"tool", []string{"PATH=.:" + ":ws"}, "", fs.ErrNotExist}, // no entry is absolute
		{"tool", []string{"PATH="}, "", fs.ErrNotExist},
		{"tool", []string{"PATH=/absent", path}, dir + "/sbin/tool", nil}, // the last one counts
		{"tool", nil, "", fs.ErrNotExist},
	}
	for _, tt := range tests {
		got, err := Lookup(tt.name, tt.env, ws)
		if err == nil && got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%q in %v: %q, %v", tt.name, tt.env, got, err)
		}
	}
	if at, err := Lookup("sh", nil, ws); err != nil || !filepath.IsAbs(at) || filepath.Dir(at) == ws {
		t.Errorf("the default path gives %q, %v", at, err)
	}
}
