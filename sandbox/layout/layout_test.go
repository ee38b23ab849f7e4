package layout

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
)

// lines prints a layout; what every command gets below /dev is left out.
func lines(all []Spot) []string {
	names := [...]string{Mask: "mask", Cover: "cover", Shut: "shut", View: "view", Pin: "pin", Bind: "bind", Guard: "guard"}
	var list []string
	for _, s := range all {
		if IsBelow(s.Path, "/dev") && s.Kind != Bind && s.From == "" {
			continue
		}
		line := names[s.Kind] + " " + s.Path
		if s.From != "" {
			line += " of " + s.From
		}
		if s.Layer > 0 {
			line += fmt.Sprintf(" of layer %d", s.Layer)
		}
		if s.Above >= 0 {
			line += " in " + all[s.Above].Path
		}
		list = append(list, line)
	}
	return list
}

func TestLayout(t *testing.T) {
	files := []string{"/tmp/script", "/tmp/in/script", "/run/docker.sock", "/home/u/x.sock", "/home/u/.netrc", "/run/resolv.conf", "/dev/kvm", "/ws/.netrc"}
	absent := append(socketPlaces()[1:], files...)
	on := Terrain{IsDir: func(name string) bool { return !slices.Contains(absent, name) }}
	hide := func(names ...string) Terrain {
		t := on
		for _, n := range names {
			t.Masks = append(t.Masks, Grant{n, on.IsDir(n)})
		}
		return t
	}
	for _, tt := range []struct {
		name string
		p    sandbox.Profile
		t    Terrain
		want []string
	}{
		{"plain", sandbox.Profile{Workspace: "/ws"}, on, []string{"shut /run", "cover /tmp", "cover /var/tmp", "bind /ws"}},
		{
			"the places of daemons have a second name",
			sandbox.Profile{Workspace: "/ws"},
			Terrain{IsDir: on.IsDir, Daemons: []string{"/mnt/run"}, Sockets: []string{"/mnt/home/u/x.sock"}},
			[]string{"mask /mnt/home/u/x.sock", "shut /mnt/run", "shut /run", "cover /tmp", "cover /var/tmp", "bind /ws"},
		},
		{
			"private",
			sandbox.Profile{Workspace: "/ws", Private: sandbox.Private{Temp: "/p/tmp", Cache: "/p/cache"}},
			on,
			[]string{"bind /p/cache", "bind /p/tmp", "shut /run", "bind /tmp of /p/tmp", "cover /var/tmp", "bind /ws"},
		},
		{
			"preview",
			sandbox.Profile{Workspace: "/ws", Write: []string{"/ws/.claude/free", "/srv"}, Protect: []string{"/ws/.git/config", "/ws/.claude"}, Preview: &sandbox.Preview{Roots: []string{"/ws"}}},
			on,
			[]string{
				"shut /run", "bind /srv", "cover /tmp", "cover /var/tmp", "bind /ws of layer 1", "guard /ws/.claude in /ws",
				"bind /ws/.claude/free of layer 1 in /ws/.claude", "pin /ws/.git of layer 1 in /ws", "guard /ws/.git/config in /ws/.git",
			},
		},
		{
			"preview of the home directory",
			sandbox.Profile{
				Workspace: "/home/u/ws", Private: sandbox.Private{Temp: "/home/u/.cache/sbx/1/tmp", Cache: "/home/u/.cache/sbx/1/cache"},
				Protect: []string{"/home/u/.cache/sbx"}, Preview: &sandbox.Preview{Roots: []string{"/home/u"}},
			},
			hide("/home/u/.ssh"),
			[]string{
				"bind /home/u of layer 1", "pin /home/u/.cache of layer 1 in /home/u", "guard /home/u/.cache/sbx in /home/u/.cache",
				"bind /home/u/.cache/sbx/1/cache in /home/u/.cache/sbx", "bind /home/u/.cache/sbx/1/tmp in /home/u/.cache/sbx", "mask /home/u/.ssh in /home/u",
				"shut /run", "bind /tmp of /home/u/.cache/sbx/1/tmp", "cover /var/tmp",
			},
		},
		{
			"workspace in /tmp",
			sandbox.Profile{Workspace: "/tmp/a/ws", Private: sandbox.Private{Temp: "/p/tmp"}},
			on,
			[]string{"bind /p/tmp", "shut /run", "cover /tmp", "bind /tmp/a/ws in /tmp", "cover /var/tmp"},
		},
		{
			"script in /tmp",
			sandbox.Profile{Workspace: "/ws", Read: []string{"/tmp/script"}, Private: sandbox.Private{Temp: "/p/tmp"}},
			on,
			[]string{"bind /p/tmp", "shut /run", "bind /tmp of /p/tmp", "view /tmp/script in /tmp", "cover /var/tmp", "bind /ws"},
		},
		{
			"script deeper",
			sandbox.Profile{Workspace: "/ws", Read: []string{"/tmp/in/script"}, Private: sandbox.Private{Temp: "/p/tmp"}},
			on,
			[]string{"bind /p/tmp", "shut /run", "cover /tmp", "view /tmp/in/script in /tmp", "cover /var/tmp", "bind /ws"},
		},
		{
			"secrets",
			sandbox.Profile{Workspace: "/ws"},
			hide("/home/u/.ssh", "/home/u/.netrc", "/ws/.netrc", "/run/secrets"),
			[]string{"mask /home/u/.netrc", "mask /home/u/.ssh", "shut /run", "cover /tmp", "cover /var/tmp", "bind /ws", "mask /ws/.netrc in /ws"},
		},
		{
			"workspace in a secret",
			sandbox.Profile{Workspace: "/home/u/.ssh/ws"},
			hide("/home/u/.ssh", "/home/u/.ssh/ws/.netrc"),
			[]string{"shut /home/u/.ssh", "bind /home/u/.ssh/ws in /home/u/.ssh", "mask /home/u/.ssh/ws/.netrc in /home/u/.ssh/ws", "shut /run", "cover /tmp", "cover /var/tmp"},
		},
		{
			"a secret that may be read",
			sandbox.Profile{Workspace: "/ws", Read: []string{"/home/u/.ssh", "/home/u/.aws/x"}},
			hide("/home/u/.ssh", "/home/u/.aws"),
			[]string{"shut /home/u/.aws", "view /home/u/.aws/x in /home/u/.aws", "shut /run", "cover /tmp", "cover /var/tmp", "bind /ws"},
		},
		{
			"one socket",
			sandbox.Profile{Workspace: "/ws", Write: []string{"/run/docker.sock"}},
			Terrain{IsDir: on.IsDir, Sockets: []string{"/run/docker.sock", "/run/other", "/home/u/x.sock"}, Resolver: "/run/resolv.conf"},
			[]string{"mask /home/u/x.sock", "shut /run", "bind /run/docker.sock in /run", "view /run/resolv.conf in /run", "cover /tmp", "cover /var/tmp", "bind /ws"},
		},
		{
			"sockets allowed",
			sandbox.Profile{Workspace: "/ws", UnixAllow: true},
			hide("/run/secrets"),
			[]string{"mask /run/secrets", "cover /tmp", "cover /var/tmp", "bind /ws"},
		},
		{
			"paths within paths",
			sandbox.Profile{Workspace: "/ws", Write: []string{"/ws/sub", "/ws-2", "/dev/kvm"}, Protect: []string{"/ws/.git/hooks", "/etc"}},
			on,
			[]string{"bind /dev/kvm in /dev", "shut /run", "cover /tmp", "cover /var/tmp", "bind /ws", "pin /ws/.git in /ws", "guard /ws/.git/hooks in /ws/.git", "bind /ws-2"},
		},
		{
			"protected",
			sandbox.Profile{
				Workspace: "/ws", Write: []string{"/ws/.husky", "/ws/.claude/todo", "/w2"},
				Protect: []string{"/ws/.claude", "/ws/.git/config", "/ws/.git/modules/a/b/config", "/ws/.husky", "/ws/.mcp.json", "/w2/.envrc", "/ws/.npm/x", "/ws", "/elsewhere/.git/config"},
			},
			hide("/ws/.mcp.json", "/ws/.npm"),
			[]string{
				"shut /run", "cover /tmp", "cover /var/tmp", "bind /w2", "guard /w2/.envrc in /w2", "bind /ws", "guard /ws/.claude in /ws", "bind /ws/.claude/todo in /ws/.claude",
				"pin /ws/.git in /ws", "guard /ws/.git/config in /ws/.git",
				"pin /ws/.git/modules in /ws/.git", "pin /ws/.git/modules/a in /ws/.git/modules", "pin /ws/.git/modules/a/b in /ws/.git/modules/a",
				"guard /ws/.git/modules/a/b/config in /ws/.git/modules/a/b", "mask /ws/.mcp.json in /ws", "mask /ws/.npm in /ws",
			},
		},
		{
			"read-only",
			sandbox.Profile{Workspace: "/ws", ReadOnly: true, Write: []string{"/w2"}, Protect: []string{"/ws/.git/config", "/w2/.envrc"}},
			on,
			[]string{"shut /run", "cover /tmp", "cover /var/tmp", "bind /w2", "guard /w2/.envrc in /w2"},
		},
		{
			"read-only in /tmp",
			sandbox.Profile{Workspace: "/tmp/ws", ReadOnly: true},
			on,
			[]string{"shut /run", "cover /tmp", "view /tmp/ws in /tmp", "cover /var/tmp"},
		},
		{
			"a terminal",
			sandbox.Profile{Workspace: "/ws"},
			Terrain{IsDir: on.IsDir, Terminal: "/dev/pts/7"},
			[]string{"view /dev/console of /dev/pts/7 in /dev", "shut /run", "cover /tmp", "cover /var/tmp", "bind /ws"},
		},
	} {
		got := lines(Of(tt.p, tt.t))
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s:\n%s\nwant:\n%s", tt.name, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
	}
}

// Mount points are made parents first, each once.
func TestPoints(t *testing.T) {
	isDir := func(name string) bool { return name != "/tmp/a/file" }
	all := Of(sandbox.Profile{Workspace: "/tmp/a/b/ws", Write: []string{"/tmp/a/file"}}, Terrain{IsDir: isDir})
	var got []string
	for _, p := range Points(all) {
		if all[p.Spot].Path == "/tmp" {
			got = append(got, fmt.Sprintf("%s %v", p.Path, p.Dir))
		}
	}
	if want := []string{"a true", "a/b true", "a/b/ws true", "a/file false"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What lies below a directory comes right after it.
func TestComparePaths(t *testing.T) {
	want := []string{"/a", "/a/b", "/a/b/c", "/a/z", "/a b", "/a-b", "/ab"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, comparePaths)
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
