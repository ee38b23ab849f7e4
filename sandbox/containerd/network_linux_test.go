package containerd

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
)

func TestRouted(t *testing.T) {
	// The headline and two routes of a real table: the default one, and 10.87.3.0/24.
	const table = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	0100A8C0	0003	0	0	0	00000000	0	0	0
tun0	0003570A	00000000	0001	0	0	0	00FFFFFF	0	0	0
`
	for prefix, want := range map[string]bool{"10.87.0.0/20": true, "10.87.3.128/25": true, "10.88.0.0/20": false, "192.168.208.0/20": false} {
		if got := routed(table, netip.MustParsePrefix(prefix)); got != want {
			t.Errorf("%s: %v", prefix, got)
		}
	}
}

// A resolver on the host's loopback is none of the container's.
func TestResolver(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return at
	}
	plain := file("plain", "# by hand\nsearch a.test\nnameserver 192.0.2.1\nnameserver 127.0.0.1\noptions ndots:2\n")
	stub := file("stub", "nameserver 127.0.0.53\noptions edns0\nsearch b.test\n")
	real := file("real", "nameserver 192.0.2.2\nsearch c.test\n")
	for _, c := range []struct {
		name  string
		n     names
		files []string
		want  string
	}{
		{"plain", names{}, []string{plain, real}, "search a.test|nameserver 192.0.2.1|options ndots:2"},
		{"a stub", names{}, []string{stub, real}, "nameserver 192.0.2.2|search c.test"},
		{"nothing else", names{}, []string{stub, dir + "/none"}, "options edns0|search b.test"},
		{"no file", names{}, nil, ""},
		{"options", names{servers: []string{"192.0.2.9"}, search: []string{"d.test"}}, []string{plain, real}, "options ndots:2|nameserver 192.0.2.9|search d.test"},
	} {
		if got := strings.ReplaceAll(strings.TrimSpace(c.n.resolver(c.files...)), "\n", "|"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Plugins run as root: those that are not there, or not to be trusted, are one sentence.
func TestFindPlugins(t *testing.T) {
	if os.Geteuid() != 0 {
		if _, err := findPlugins(sandbox.Profile{}); err == nil || !strings.Contains(err.Error(), "only root") {
			t.Errorf("an ordinary user: %v", err)
		}
		t.Skip("the rest is root's")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	before := pluginDirs
	t.Cleanup(func() { pluginDirs = before })
	pluginDirs = [...]string{dir + "/none", dir, dir + "/neither"}
	if _, err := findPlugins(sandbox.Profile{}); err == nil || !strings.Contains(err.Error(), "install containernetworking-plugins") {
		t.Errorf("none: %v", err)
	}
	for _, name := range plugins {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/false\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := findPlugins(sandbox.Profile{}); err != nil || got != dir {
		t.Errorf("all: %q, %v", got, err)
	}
	if _, err := findPlugins(sandbox.Profile{Workspace: dir}); err == nil || !strings.Contains(err.Error(), "which the command may write to") {
		t.Errorf("in the workspace: %v", err)
	}
	if err := os.Chmod(filepath.Join(dir, "firewall"), 0o777); err != nil {
		t.Fatal(err)
	}
	if got, err := findPlugins(sandbox.Profile{}); err == nil {
		t.Errorf("anybody's: %q", got)
	}
}
