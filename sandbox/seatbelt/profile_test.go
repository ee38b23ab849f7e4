package seatbelt

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/credentials"
)

var update = flag.Bool("update", false, "write the golden files")

// mac resolves the links of macOS's root.
func mac(path string) string {
	for _, link := range []string{"/tmp", "/var", "/etc"} {
		if path == link || strings.HasPrefix(path, link+"/") {
			return "/private" + path
		}
	}
	return path
}

func usual() sandbox.Profile {
	return sandbox.Profile{
		Workspace: "/Users/ann/src/app", Home: "/Users/ann",
		Private: sandbox.Private{Temp: "/Users/ann/.cache/sbx/1/tmp", Cache: "/Users/ann/.cache/sbx/1/cache"},
	}
}

// profiles are those of the golden files.
func profiles() map[string]sandbox.Profile {
	with := func(change func(*sandbox.Profile)) sandbox.Profile {
		p := usual()
		change(&p)
		return p
	}
	return map[string]sandbox.Profile{
		"off":   with(func(*sandbox.Profile) {}),
		"on":    with(func(p *sandbox.Profile) { p.Network = sandbox.NetworkHost }),
		"proxy": with(func(p *sandbox.Profile) { p.Network = sandbox.NetworkRules; p.Egress = &sandbox.Egress{} }),
		"paths": with(func(p *sandbox.Profile) {
			p.Workspace = "/tmp/a)(allow default) \"b\\c\nd'"
			p.Write, p.Read, p.Hide = []string{"/var/folders/x/T/w"}, []string{"/Users/ann/.npmrc"}, []string{"/Users/ann/keys*"}
			p.Protect = []string{p.Workspace + "/.git/hooks", p.Workspace + "/.git/config"}
			p.UnixAllow = true
		}),
		"read-only": with(func(p *sandbox.Profile) { p.ReadOnly = true }),
	}
}

// port is that of the proxy, where a profile has one.
const port = "61280"

func TestGolden(t *testing.T) {
	for name, p := range profiles() {
		got := text(p, mac, port)
		file := filepath.Join("testdata", name+".sb")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || string(want) != got {
			t.Errorf("%s differs (go test ./sandbox/seatbelt -run TestGolden -update): %v\n%s", file, err, got)
		}
		parse(t, got)
	}
}

// Every operation on files that a command could change something by.
var writing = []string{
	"file-write-data", "file-write-create", "file-write-unlink", "file-write-mode", "file-write-owner", "file-write-times", "file-write-flags", "file-write-xattr",
}

// odd are names of workspaces that mean something to the language, to shells or to
// regular expressions.
var odd = []string{
	"app", "a b", `a"b`, `a\`, `a\"b`, "a)(allow default)", "a\")\n(allow default)\n(literal \"", "a\nb", "a;b", "a'b", "$(touch x)", "-rf", "a*", "[a]", "(", ")", "é", "#\"a", "a\x01\x7fb", "a.b", "a|b",
}

// What may be written is the workspace, whatever its name.
func TestWrites(t *testing.T) {
	for _, base := range []string{"/Users/ann/src", "/tmp", "/var/folders/xx/T"} {
		for _, name := range odd {
			p := usual()
			p.Workspace = base + "/" + name
			profile := parse(t, text(p, mac, port))
			inside := mac(p.Workspace)
			for _, op := range writing {
				for path, want := range map[string]string{
					inside + "/f": "allow", inside + "/.git/objects/x": "allow", p.Private.Temp + "/f": "allow", p.Private.Cache + "/go/f": "allow",
					filepath.Dir(inside) + "/f": "deny", inside + "x/f": "deny", "/private/tmp/f": "deny", "/private/var/folders/xx/T/f": "deny",
					"/Users/ann/f": "deny", "/Users/ann/.zshrc": "deny", "/etc/hosts": "deny", "/private/etc/hosts": "deny", "/": "deny",
					"/usr/local/bin/x": "deny", "/opt/homebrew/bin/x": "deny", "/Applications/x": "deny", "/Users/ann/Library/LaunchAgents/x.plist": "deny",
					"/private/var/folders/xx/T/xcrun_db": "deny", "/dev/disk0": "deny", "/dev/ttys004": "deny",
				} {
					if got := decide(t, profile, act{op: op, path: path}); got != want {
						t.Errorf("workspace %q: %s %q: %s", p.Workspace, op, path, got)
					}
				}
			}
			// The directory itself can get a mode, but stays.
			if got := decide(t, profile, act{op: "file-write-unlink", path: inside}); got != "deny" {
				t.Errorf("workspace %q: it can be removed", p.Workspace)
			}
			for _, op := range []string{"file-write-setugid", "file-link", "file-clone", "file-mknod"} {
				if got := decide(t, profile, act{op: op, path: inside + "/f"}); got != "deny" {
					t.Errorf("workspace %q: %s: %s", p.Workspace, op, got)
				}
			}
		}
	}
}

func TestSecrets(t *testing.T) {
	p := usual()
	p.Hide = []string{"/Users/ann/src/app/keys[1]", "/tmp/keys"}
	p.Read = []string{"/Users/ann/.npmrc"}
	profile := parse(t, text(p, mac, port))
	for _, place := range slices.Concat(credentials.Home(), macHome[:]) {
		at := "/Users/ann/" + strings.ReplaceAll(place.Path, "*", "-x")
		if place.Path == ".npmrc" {
			continue
		}
		for _, path := range []string{at, at + "/below/it"} {
			for _, op := range []string{"file-read-data", "file-read-metadata", "file-read-xattr", "file-write-unlink", "file-write-data"} {
				if got := decide(t, profile, act{op: op, path: path}); got != "deny" {
					t.Errorf("%s %q: %s", op, path, got)
				}
			}
		}
	}
	for path, want := range map[string]string{
		"/private/etc/sudoers": "deny", "/private/etc/ssh/ssh_host_rsa_key": "deny", "/private/etc/master.passwd": "deny",
		"/Users/ann/src/app/keys[1]": "deny", "/Users/ann/src/app/keys1": "allow", "/private/tmp/keys/k": "deny",
		"/Users/ann/.npmrc": "allow", "/Users/ann/.gitconfig": "allow", "/Users/ann/.sshx": "allow", "/Users/ann/src/app/.ssh/id": "allow",
		"/usr/bin/git": "allow", "/Library/Developer/CommandLineTools/usr/bin/git": "allow", "/private/etc/hosts": "allow", "/": "allow",
	} {
		if got := decide(t, profile, act{op: "file-read-data", path: path}); got != want {
			t.Errorf("%q: %s", path, got)
		}
	}
	// What the caller lets through can be read, and not changed.
	if got := decide(t, profile, act{op: "file-write-data", path: "/Users/ann/.npmrc"}); got != "deny" {
		t.Errorf("a readable credential can be changed")
	}
	// A home with every kind of character, and one that another user has.
	for _, home := range []string{`/Users/a"b`, "/Users/a.b", "/Users/a(b", "/Users/a\nb", "/tmp/home"} {
		p := usual()
		p.Home, p.Identity = "/Users/ann", &sandbox.Identity{UID: 502, Home: home}
		profile := parse(t, text(p, mac, port))
		for _, path := range []string{mac(home) + "/.ssh/id", "/Users/ann/.ssh/id", mac(home) + "/.terraform.d/credentials.json"} {
			if got := decide(t, profile, act{op: "file-read-data", path: path}); got != "deny" {
				t.Errorf("home %q: %q: %s", home, path, got)
			}
		}
	}
}

func TestProtected(t *testing.T) {
	for _, name := range odd {
		p := usual()
		p.Workspace = "/tmp/" + name
		p.Protect = []string{p.Workspace + "/.git/hooks", p.Workspace + "/.git/config", p.Workspace + "/sub/deep/.claude", p.Workspace + "/link"}
		profile := parse(t, text(p, mac, port))
		ws := mac(p.Workspace)
		for path, want := range map[string]string{
			"/.git/hooks": "deny", "/.git/hooks/pre-commit": "deny", "/.git/config": "deny", "/sub/deep/.claude/settings.json": "deny", "/link": "deny",
			"/.git/config.lock": "allow", "/.git/index": "allow", "/.git/HEAD": "allow", "/sub/f": "allow", "/sub/deep/f": "allow",
		} {
			for _, op := range writing {
				if got := decide(t, profile, act{op: op, path: ws + path}); got != want {
					t.Errorf("workspace %q: %s %s: %s", p.Workspace, op, path, got)
				}
			}
		}
		for _, dir := range []string{"/.git", "/sub", "/sub/deep"} {
			if got := decide(t, profile, act{op: "file-write-unlink", path: ws + dir}); got != "deny" {
				t.Errorf("workspace %q: %s can be moved away", p.Workspace, dir)
			}
			if got := decide(t, profile, act{op: "file-write-create", path: ws + dir + "/new"}); got != "allow" {
				t.Errorf("workspace %q: nothing can be made in %s", p.Workspace, dir)
			}
		}
	}
	p := usual()
	p.ReadOnly = true
	profile := parse(t, text(p, mac, port))
	if got := decide(t, profile, act{op: "file-write-data", path: p.Workspace + "/f"}); got != "deny" {
		t.Error("a read-only workspace can be changed")
	}
	if got := decide(t, profile, act{op: "file-write-data", path: p.Private.Temp + "/f"}); got != "allow" {
		t.Error("the temp directory cannot be written to")
	}
}

func TestNetwork(t *testing.T) {
	out := func(remote string) act { return act{op: "network-outbound", remote: remote} }
	socketAt := func(op, path string) act { return act{op: op, path: path} }
	ws := "/Users/ann/src/app"
	for _, c := range []struct {
		name    string
		change  func(*sandbox.Profile)
		allowed []act
		denied  []act
	}{
		{
			"off", func(*sandbox.Profile) {}, nil,
			[]act{
				out("localhost:80"), out("example.com:443"), out("localhost:61280"), socketAt("network-outbound", "/private/var/run/mDNSResponder"),
				socketAt("network-outbound", "/private/var/run/docker.sock"), socketAt("network-bind", ws+"/s"), socketAt("network-outbound", ws+"/s"),
				{op: "network-bind", remote: "localhost:8080"},
				{op: "network-inbound", remote: "localhost:8080"},
				{op: "system-socket"},
			},
		},
		{
			"on", func(p *sandbox.Profile) { p.Network = sandbox.NetworkHost },
			[]act{out("localhost:80"), out("example.com:443"), socketAt("network-outbound", "/private/var/run/mDNSResponder"), {op: "network-bind", remote: "localhost:8080"}, {op: "system-socket"}},
			[]act{socketAt("network-outbound", "/private/var/run/docker.sock"), socketAt("network-outbound", "/private/tmp/com.apple.launchd.x/Listeners"), socketAt("network-outbound", ws+"/s")},
		},
		{
			"proxy", func(p *sandbox.Profile) { p.Network = sandbox.NetworkRules },
			[]act{out("localhost:61280")},
			[]act{out("localhost:61281"), out("localhost:80"), out("example.com:61280"), socketAt("network-outbound", "/private/var/run/mDNSResponder"), {op: "network-bind", remote: "localhost:61280"}},
		},
		{
			"unix", func(p *sandbox.Profile) { p.UnixAllow = true },
			[]act{socketAt("network-bind", ws+"/s"), socketAt("network-outbound", ws+"/s"), {op: "system-socket", facts: []string{"socket-domain AF_UNIX"}}},
			[]act{socketAt("network-outbound", "/private/var/run/docker.sock"), out("localhost:80"), {op: "system-socket", facts: []string{"socket-domain AF_SYSTEM"}}},
		},
	} {
		p := usual()
		c.change(&p)
		profile := parse(t, text(p, mac, port))
		for _, a := range c.allowed {
			if got := decide(t, profile, a); got != "allow" {
				t.Errorf("%s: %+v: %s", c.name, a, got)
			}
		}
		for _, a := range c.denied {
			if got := decide(t, profile, a); got != "deny" {
				t.Errorf("%s: %+v: %s", c.name, a, got)
			}
		}
	}
}

// What programs need, and what would let a command act outside by somebody else.
func TestPrograms(t *testing.T) {
	own, pty := []string{"target same-sandbox"}, []string{"extension com.apple.sandbox.pty"}
	typing := []string{"ioctl-command TIOCSTI"}
	service := func(name string) act { return act{op: "mach-lookup", name: name} }
	profile := parse(t, text(usual(), mac, port))
	for _, a := range []act{
		{op: "process-exec", path: "/usr/bin/git"},
		{op: "process-exec", path: "/Users/ann/src/app/a.out"},
		{op: "process-fork"},
		{op: "signal", facts: own},
		{op: "process-info-pidinfo", facts: own},
		{op: "sysctl-read", name: "hw.ncpu"},
		{op: "file-map-executable", path: "/usr/lib/x.dylib"},
		{op: "file-write-data", path: "/dev/null"},
		{op: "file-ioctl", path: "/dev/tty"},
		{op: "pseudo-tty"},
		{op: "file-write-data", path: "/dev/ptmx"},
		{op: "file-write-data", path: "/dev/ttys004", facts: pty},
		{op: "file-ioctl", path: "/dev/ttys004"},
		{op: "ipc-posix-sem"},
		{op: "file-ioctl", path: "/dev/tty", facts: []string{"ioctl-command TIOCGWINSZ"}},
		service("com.apple.system.opendirectoryd.libinfo"), service("com.apple.bsd.dirhelper"),
	} {
		if got := decide(t, profile, a); got != "allow" {
			t.Errorf("%+v: %s", a, got)
		}
	}
	for _, a := range []act{
		{op: "signal"},
		{op: "process-info-pidinfo"},
		{op: "file-write-data", path: "/dev/ttys004"},
		{op: "file-ioctl", path: "/dev/tty", facts: typing},
		{op: "file-ioctl", path: "/dev/ttys004", facts: typing},
		{op: "file-ioctl", path: "/dev/ttys004", facts: append(typing, pty...)},
		{op: "sysctl-write", name: "kern.x"},
		{op: "lsopen"},
		{op: "forbidden-exec-sugid", path: "/usr/bin/sudo"},
		{op: "mach-register", name: "x"},
		{op: "mach-priv-task-port"},
		{op: "iokit-open"},
		{op: "appleevent-send"},
		{op: "job-creation"},
		{op: "system-privilege"},
		{op: "user-preference-write"},
		{op: "file-mount", path: "/"},
		{op: "process-codesigning"},
		{op: "nvram-set"},
		service("com.apple.SecurityServer"), service("com.apple.securityd.xpc"), service("com.apple.coreservices.launchservicesd"),
		service("com.apple.trustd"), service("com.apple.SystemConfiguration.configd"), service("com.apple.pasteboard.1"), service("com.apple.tccd"),
	} {
		if got := decide(t, profile, a); got != "deny" {
			t.Errorf("%+v: %s", a, got)
		}
	}
	on := usual()
	on.Network = sandbox.NetworkHost
	if got := decide(t, parse(t, text(on, mac, port)), service("com.apple.trustd.agent")); got != "allow" {
		t.Error("certificates cannot be checked with the network on")
	}
}

// A profile that lacks a layer is found out: the tests can fail.
func TestProfileWithoutALayer(t *testing.T) {
	whole := text(usual(), mac, port)
	for without, a := range map[string]act{
		"(deny file-ioctl\n  (ioctl-command TIOCSTI))": {op: "file-ioctl", path: "/dev/tty", facts: []string{"ioctl-command TIOCSTI"}},
		"(deny default)":              {op: "lsopen"},
		`(subpath "/Users/ann/.ssh")`: {op: "file-read-data", path: "/Users/ann/.ssh/id"},
		"(deny file-write-setugid)":   {op: "file-write-setugid", path: "/Users/ann/src/app/x"},
	} {
		if n := strings.Count(whole, without); n != 1 {
			t.Fatalf("%s stands there %d times", without, n)
		}
		if got := decide(t, parse(t, strings.Replace(whole, without, "", 1)), a); got == "deny" {
			t.Errorf("without %s %+v is refused all the same", without, a)
		}
	}
}
