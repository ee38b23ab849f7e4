package layout

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
)

func TestCheckStreams(t *testing.T) {
	dir := t.TempDir()
	workspace := filepath.Join(dir, "ws")
	if err := os.Mkdir(workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	p := sandbox.Profile{Workspace: workspace, Protect: []string{workspace + "/kept"}}
	readOnly := p
	readOnly.ReadOnly = true
	for _, c := range []struct {
		name               string
		profile            sandbox.Profile
		flags              int
		protected, outside bool // refused by which function
	}{
		{workspace + "/kept", p, os.O_RDONLY, true, false},
		{workspace + "/kept", p, os.O_RDWR, false, false},
		{workspace + "/kept", readOnly, os.O_RDONLY, false, true},
		{workspace + "/own", p, os.O_RDONLY, false, false},
		{dir + "/outside", p, os.O_RDONLY, false, true},
		{dir + "/outside", p, os.O_WRONLY, false, false},
	} {
		if err := os.WriteFile(c.name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(c.name, c.flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		streams := [3]uintptr{f.Fd(), f.Fd(), f.Fd()}
		if err := CheckStreams(c.profile, streams); (err != nil) != c.protected {
			t.Errorf("%s, %d: %v", c.name, c.flags, err)
		}
		if err := CheckOutside(c.profile, streams); (err != nil) != c.outside {
			t.Errorf("%s, %d, without rules: %v", c.name, c.flags, err)
		}
		_ = f.Close()
	}
}
