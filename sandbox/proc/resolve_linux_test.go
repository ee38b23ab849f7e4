package proc

import (
	"os"
	"path/filepath"
	"testing"
)

func TestEvalSymlinksIsThatOfFilepath(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/a/b", "/c"} {
		if err := os.MkdirAll(top+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"/link": "a/b", "/c/up": "../a", "/ring": "ring", "/nowhere": "gone"} {
		if err := os.Symlink(to, top+name); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(top+"/a/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(top)
	for _, path := range []string{
		"/", top, top + "/a/b", top + "/a/b/", top + "/a/file", top + "/a/file/", top + "/a/file/x", top + "/link", top + "/link/..", top + "/link/../file",
		top + "/c/up/b", top + "//a", top + "/./a", top + "/ring", top + "/nowhere", top + "/missing", "a/b", "link", "", "/proc/self/exe",
	} {
		want, wantErr := filepath.EvalSymlinks(path)
		got, err := EvalSymlinks(path)
		if got != want || (err == nil) != (wantErr == nil) {
			t.Errorf("%q: %q, %v; want %q, %v", path, got, err, want, wantErr)
		}
	}
}
