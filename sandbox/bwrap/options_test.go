package bwrap

import (
	"slices"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/layout"
)

// What bwrap is told follows from the profile and from facts alone, so that it is
// the same on every system that the test runs on.
func TestOptions(t *testing.T) {
	terrain := layout.Terrain{
		Masks:   []layout.Grant{{Path: "/home/u/.ssh", Dir: true}, {Path: "/home/u/.netrc"}},
		Sockets: []string{"/opt/d.sock"}, Resolver: "/etc/resolv.conf",
		IsDir: func(name string) bool {
			return !strings.HasPrefix(name, "/var/lib") && !strings.HasPrefix(name, "/var/s") && !strings.HasPrefix(name, "/nix/") && !strings.Contains(name, "config") && name != "/var/run"
		},
	}
	const (
		first  = "--unshare-user | --unshare-ipc | --unshare-pid | --unshare-uts | --unshare-cgroup-try | "
		second = "--die-with-parent | --as-pid-1 | --cap-drop ALL | --ro-bind / / | --dev /dev | --perms 01777 --tmpfs /dev/shm | "
		secret = "--ro-bind /dev/null /home/u/.netrc | --perms 0000 --tmpfs /home/u/.ssh | "
		proc   = "--proc /proc | --remount-ro /proc | "
		last   = "--seccomp FD | --json-status-fd FD | --chdir /w"
	)
	for _, tt := range []struct {
		name    string
		profile sandbox.Profile
		facts   facts
		want    string
	}{
		{
			"network off",
			sandbox.Profile{Workspace: "/w", Private: sandbox.Private{Temp: "/p/t", Cache: "/p/c"}},
			facts{},
			first + "--unshare-net | --disable-userns | " + second + secret + "--ro-bind /dev/null /opt/d.sock | --bind /p/c /p/c | --bind /p/t /p/t | " +
				"--perms 0755 --tmpfs /run | --symlink /opt/x /run/x | --bind /p/t /tmp | --perms 01777 --tmpfs /var/tmp | --bind /w /w | " + proc + "--remount-ro /dev | --remount-ro /run | " + last,
		},
		{
			"network on, sockets, an old bwrap where /proc cannot be mounted",
			sandbox.Profile{Workspace: "/w", Network: sandbox.NetworkHost, UnixAllow: true, Write: []string{"/run/s"}, ReadOnly: true},
			facts{noProc: true, nested: true},
			first + second + secret + "--bind /run/s /run/s | --perms 01777 --tmpfs /tmp | --perms 01777 --tmpfs /var/tmp | --remount-ro /dev | " + last,
		},
		{
			"rules, limits, protected files",
			sandbox.Profile{Workspace: "/w", Network: sandbox.NetworkRules, Limits: sandbox.Limits{MemoryBytes: 4096}, Protect: []string{"/w/.git/config", "/w/link"}},
			facts{},
			first + "--unshare-net | --disable-userns | --die-with-parent | --as-pid-1 | --cap-drop ALL | --ro-bind / / | --dev /dev | --perms 01777 --size 4096 --tmpfs /dev/shm | " +
				"--perms 0444 --ro-bind-data 9 /etc/resolv.conf | " + secret + "--ro-bind /dev/null /opt/d.sock | --perms 0755 --tmpfs /run | --symlink /opt/x /run/x | " +
				"--perms 01777 --size 4096 --tmpfs /tmp | --perms 01777 --size 4096 --tmpfs /var/tmp | --bind /w /w | --bind /w/.git /w/.git | --ro-bind /w/.git/config /w/.git/config | " +
				proc + "--remount-ro /dev | --remount-ro /run | " + last,
		},
	} {
		list := options(tt.profile, tt.facts, scene{
			spots: layout.Of(tt.profile, terrain), links: []layout.Link{{Name: "x", To: "/opt/x"}}, dir: "/w",
			isLink: func(name string) bool { return name == "/w/link" }, files: files{filter: 7, status: 8, texts: []int{9}},
		})
		if got := strings.Join(steps(list), " | "); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// Any byte but NUL crosses in a name.
func TestTextKeepsEveryByte(t *testing.T) {
	option := []string{"--bind", "/a\n\xff '\"--", ""}
	if got := text([][]string{option}); string(got) != "--bind\x00/a\n\xff '\"--\x00\x00" {
		t.Errorf("%q", got)
	}
}

func TestDecide(t *testing.T) {
	gapsOf := func(p sandbox.Profile, f facts) []sandbox.Control { return sandbox.GapControls(decide(p, f).gaps) }
	usual := []sandbox.Control{sandbox.CredentialsLate, sandbox.UnixSockets}
	kept := []string{}
	for _, tt := range []struct {
		name    string
		profile sandbox.Profile
		facts   facts
		more    []sandbox.Control
	}{
		{"usual", sandbox.Profile{Protect: kept}, facts{}, nil},
		{"network on", sandbox.Profile{Protect: kept, Network: sandbox.NetworkHost}, facts{scoped: true}, []sandbox.Control{sandbox.HostNetwork}},
		{"network on, an old kernel", sandbox.Profile{Protect: kept, Network: sandbox.NetworkHost}, facts{}, []sandbox.Control{sandbox.HostNetwork, sandbox.AbstractSockets}},
		{"supervised", sandbox.Profile{Protect: kept, Supervisor: true}, facts{scoped: true}, nil},
		{"supervised, an old kernel", sandbox.Profile{Protect: kept, Supervisor: true}, facts{}, []sandbox.Control{sandbox.Signals}},
		{"rules", sandbox.Profile{Protect: kept, Network: sandbox.NetworkRules}, facts{}, []sandbox.Control{sandbox.AllCarried}},
		{"no /proc", sandbox.Profile{Protect: kept}, facts{noProc: true}, []sandbox.Control{sandbox.ProcessesHidden}},
		{"nobody looked", sandbox.Profile{}, facts{}, []sandbox.Control{sandbox.HooksProtected}},
		{"links", sandbox.Profile{Protect: kept}, facts{links: true}, []sandbox.Control{sandbox.HooksProtected}},
		{"denials", sandbox.Profile{Protect: kept, Explain: sandbox.ExplainWrites}, facts{}, []sandbox.Control{sandbox.DenialsExplained}},
	} {
		got, want := gapsOf(tt.profile, tt.facts), slices.Concat(usual, tt.more)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: gaps %v, want %v", tt.name, got, want)
		}
		for _, c := range decide(tt.profile, tt.facts).enforced {
			if slices.Contains(got, c) {
				t.Errorf("%s: %s is promised and a gap", tt.name, c)
			}
		}
	}
}
