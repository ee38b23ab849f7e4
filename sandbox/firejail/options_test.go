package firejail

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/layout"
)

// What firejail is told follows from the profile and from facts alone, so that it
// is the same on every system that the test runs on.
func TestOptions(t *testing.T) {
	directories := func(name string) bool { return name != "/w/.git/config" && name != "/home/u/.netrc" }
	always := "--quiet --noprofile --deterministic-exit-code --deterministic-shutdown --caps.drop=all --nonewprivs --ipc-namespace --private-dev" +
		" --no3d --nodvd --noinput --nosound --notv --nou2f --novideo"
	terrain := layout.Terrain{IsDir: directories, Masks: []layout.Grant{{Path: "/home/u/.ssh", Dir: true}, {Path: "/home/u/.netrc"}}}
	for _, tt := range []struct {
		name    string
		profile sandbox.Profile
		want    string
	}{
		{
			"network off",
			sandbox.Profile{Workspace: "/w", Private: sandbox.Private{Temp: "/p/t", Cache: "/p/c"}},
			"--net=none --private-tmp --read-only=/ --read-only=/home/u --blacklist=/home/u/.netrc --blacklist=/home/u/.ssh --read-write=/p/c --read-write=/p/t --blacklist=/run/docker --read-write=/w",
		},
		{
			"network on, below /tmp",
			sandbox.Profile{Workspace: "/tmp/w", Network: sandbox.NetworkHost},
			"--whitelist=/tmp/w --read-only=/ --read-only=/home/u --blacklist=/home/u/.netrc --blacklist=/home/u/.ssh --blacklist=/run/docker --read-write=/tmp/w",
		},
		{
			"protected",
			sandbox.Profile{Workspace: "/w", Protect: []string{"/w/.git/config"}},
			"--net=none --private-tmp --read-only=/ --read-only=/home/u --blacklist=/home/u/.netrc --blacklist=/home/u/.ssh --blacklist=/run/docker --read-write=/w --read-only=/w/.git --read-write=/w/.git --read-only=/w/.git/config",
		},
		{
			"unix sockets",
			sandbox.Profile{Workspace: "/w", UnixAllow: true},
			"--net=none --private-tmp --read-only=/ --read-only=/run/docker --read-only=/home/u --blacklist=/home/u/.netrc --blacklist=/home/u/.ssh --read-write=/w",
		},
	} {
		got, err := options(tt.profile, scene{
			spots: layout.Of(tt.profile, onlyThese(terrain)), run: []string{"docker", "firejail"}, homes: []string{"/home/u"},
			isLink: func(string) bool { return false },
		})
		if want := always + " " + tt.want; err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v\n got %s\nwant %s", tt.name, err, strings.Join(got, " "), want)
		}
	}
}

// onlyThese leaves out the directories of sockets that this machine need not have.
func onlyThese(t layout.Terrain) layout.Terrain {
	was := t.IsDir
	t.IsDir = func(name string) bool {
		return !strings.HasPrefix(name, "/var/") && !strings.HasPrefix(name, "/nix/") && was(name)
	}
	return t
}

func TestNamesThatFirejailReadsAreRefused(t *testing.T) {
	for _, name := range []string{"/w/a*", "/w/a,b", "/w/${HOME}", "/w/a\nb", "/w/é", "/w/a\\b", "/w/%s", "/w/[a]", "/w/a?b", `/w/"a"`} {
		p := sandbox.Profile{Workspace: name}
		_, err := options(p, scene{spots: layout.Of(p, layout.Terrain{IsDir: func(string) bool { return true }}), isLink: func(string) bool { return false }})
		var refused *refusedName
		if !errors.As(err, &refused) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"/w/a b", "/w/-rf", "/w/a:ro", "/w/a=b", "/w/a@b+c"} {
		p := sandbox.Profile{Workspace: name}
		if _, err := options(p, scene{spots: layout.Of(p, layout.Terrain{IsDir: func(string) bool { return true }}), isLink: func(string) bool { return false }}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	p := sandbox.Profile{Workspace: "/var/tmp/w"}
	if _, err := options(p, scene{spots: layout.Of(p, layout.Terrain{IsDir: func(string) bool { return true }}), isLink: func(string) bool { return false }}); !errors.Is(err, sandbox.ErrStart) {
		t.Errorf("a workspace in /var/tmp: %v", err)
	}
}

func TestMountsIn(t *testing.T) {
	got := mountsIn(`1 0 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
2 1 0:41 / /srv/a\040b rw,relatime - tmpfs none rw,size=8192k
3 1 0:42 / /data rw,nosuid master:3 - ext4 /dev/vdb rw
4 1 0:42 / /data rw,nosuid - ext4 /dev/vdb rw
5 1 7:1 / /snap/x ro,nodev - squashfs /dev/loop1 ro
6 1 7:2 / /media/cd rw - iso9660 /dev/sr0 ro,norock
7 1 0:5 / /dev rw - devtmpfs udev rw
8 1 0:6 / /run/lock rw - tmpfs tmpfs rw
9 1 0:7 / /tmp/x rw - tmpfs tmpfs rw
10 1 0:8 / /dev2 rw - tmpfs tmpfs rw
cut
`)
	if want := []string{"/data", "/dev2", "/srv/a b"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What is mounted below / is read-only by an option of its own, unless the command may
// write there or does not see it.
func TestMountsAreReadOnly(t *testing.T) {
	p := sandbox.Profile{Workspace: "/data/ws"}
	spots := layout.Of(p, layout.Terrain{Masks: []layout.Grant{{Path: "/hidden", Dir: true}}, IsDir: func(string) bool { return true }})
	list, err := options(p, scene{spots: spots, mounts: []string{"/data", "/data/ws/below", "/hidden/x", "/srv"}, isLink: func(string) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range list {
		if strings.HasPrefix(o, "--read-only=/") || o == "--read-write=/data/ws" {
			got = append(got, o)
		}
	}
	if want := []string{"--read-only=/", "--read-only=/data", "--read-only=/srv", "--read-write=/data/ws"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
