package container

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
)

// files is a file system: what ends in a slash is a directory, what ends in @
// a symbolic link.
type files []string

func (f files) kind(at string) pathKind {
	switch {
	case slices.Contains(f, at+"/"):
		return isDir
	case slices.Contains(f, at+"@"):
		return isLink
	case slices.Contains(f, at):
		return isFile
	}
	return absent
}

func (f files) glob(pattern string) []string {
	var found []string
	for _, at := range f {
		at = strings.TrimRight(at, "/@")
		if ok, _ := path.Match(pattern, at); ok {
			found = append(found, at)
		}
	}
	return found
}

func TestLayout(t *testing.T) {
	fs := files{
		"/h/", "/h/w/", "/h/w/.git/", "/h/w/.git/hooks/", "/h/w/.git/config", "/h/w/.envrc@", "/h/w/.config/", "/x/", "/script.py", "/h/w/keys/", "/h/w/key",
		"/h/.config/", "/h/.config/gh/", "/t/", "/c/",
	}
	base := sandbox.Profile{Workspace: "/h/w", Home: "/h", Private: sandbox.Private{Temp: "/t", Cache: "/c"}}
	for _, c := range []struct {
		name  string
		set   func(*sandbox.Profile)
		steps string
		loose string
		home  string
	}{
		{"plain", func(*sandbox.Profile) {}, "rw /h/w, rw /t, rw /c", "", "/h"},
		{"read", func(p *sandbox.Profile) { p.Read = []string{"/script.py", "/h/w/key", "/gone"} }, "rw /h/w, rw /t, rw /c, ro /script.py", "", "/h"},
		{
			"protect", func(p *sandbox.Profile) {
				p.Protect = []string{"/h/w/.git/hooks", "/h/w/.git/config", "/h/w/.envrc", "/h/w/gone"}
			},
			"rw /h/w, rw /t, rw /c, rw /h/w/.git, ro /h/w/.git/hooks, ro /h/w/.git/config", "/h/w/.envrc", "/h",
		},
		{
			"read-only", func(p *sandbox.Profile) { p.ReadOnly, p.Protect = true, []string{"/h/w/.git/config", "/h/w/.envrc"} },
			"ro /h/w, rw /t, rw /c", "", "/h",
		},
		{"hide", func(p *sandbox.Profile) { p.Hide = []string{"/h/w/keys", "/h/w/key", "/elsewhere"} }, "rw /h/w, rw /t, rw /c, null /h/w/key, empty /h/w/keys", "", "/h"},
		{"credentials", func(p *sandbox.Profile) { p.Write = []string{"/h/.config"} }, "rw /h/w, rw /t, rw /c, rw /h/.config, empty /h/.config/gh", "", "/h"},
		{"granted", func(p *sandbox.Profile) { p.Write, p.Read = []string{"/h/.config"}, []string{"/h/.config/gh"} }, "rw /h/w, rw /t, rw /c, rw /h/.config", "", "/h"},
		{"home of the system", func(p *sandbox.Profile) { p.Home = "/usr/games" }, "rw /h/w, rw /t, rw /c", "", ""},
		{"another's home", func(p *sandbox.Profile) { p.Identity = &sandbox.Identity{Home: "/home/other"} }, "rw /h/w, rw /t, rw /c", "", "/home/other"},
	} {
		p := base
		c.set(&p)
		l := lay(p, fs)
		var steps []string
		for _, b := range l.Binds {
			word := "rw "
			if b.ReadOnly {
				word = "ro "
			}
			if b.From != "" {
				word = "null "
			}
			steps = append(steps, word+b.Path)
		}
		for _, dir := range l.Covered {
			steps = append(steps, "empty "+dir)
		}
		if got := strings.Join(steps, ", "); got != c.steps || strings.Join(l.loose, " ") != c.loose || l.Home != c.home {
			t.Errorf("%s: %s; loose %q; home %s", c.name, got, l.loose, l.Home)
		}
		if want := slices.Contains([]string{"hide", "credentials", "granted"}, c.name); (l.late != "") != want {
			t.Errorf("%s: places of credentials that are shared: %q", c.name, l.late)
		}
	}
}

func TestDecide(t *testing.T) {
	open := func(p sandbox.Profile, l Layout) string {
		var names []string
		for _, g := range decide(p, l).gaps {
			names = append(names, string(g.Control))
		}
		return strings.Join(names, " ")
	}
	for _, c := range []struct {
		name string
		p    sandbox.Profile
		l    Layout
		want string
	}{
		{"default", sandbox.Profile{}, Layout{}, "unix-sockets hooks-protected"},
		{"protected", sandbox.Profile{Protect: []string{}}, Layout{}, "unix-sockets"},
		{"a link", sandbox.Profile{Protect: []string{"/l"}}, Layout{loose: []string{"/l"}}, "unix-sockets hooks-protected"},
		{"read-only", sandbox.Profile{ReadOnly: true}, Layout{}, "unix-sockets"},
		{"network", sandbox.Profile{Network: sandbox.NetworkHost, Protect: []string{}}, Layout{}, "unix-sockets host-network"},
		{"rules", sandbox.Profile{Network: sandbox.NetworkRules, Protect: []string{}}, Layout{}, map[bool]string{true: "unix-sockets all-carried", false: "unix-sockets network-rules all-carried host-network"}[holdsRules]},
		{"denials", sandbox.Profile{Explain: sandbox.ExplainWrites, Protect: []string{}}, Layout{}, "unix-sockets denials-explained"},
		{"limits", sandbox.Profile{Limits: sandbox.Limits{CPUTime: 1, MemoryBytes: 1}, Protect: []string{}}, Layout{}, "unix-sockets limits-exact"},
		{"no sockets", sandbox.Profile{Required: []sandbox.Control{sandbox.UnixSockets}, Protect: []string{}}, Layout{}, ""},
		{"late", sandbox.Profile{Protect: []string{}}, Layout{late: "/h/.netrc"}, "unix-sockets credentials-late"},
		{"sockets", sandbox.Profile{UnixAllow: true, Protect: []string{}}, Layout{}, "unix-sockets"},
	} {
		if got := open(c.p, c.l); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	if d := decide(sandbox.Profile{}, Layout{}); !slices.Contains(d.enforced, sandbox.CredentialsLate) {
		t.Errorf("no place of credentials is shared: %v", d.enforced)
	}
	if d := decide(sandbox.Profile{}, Layout{}); slices.Contains(d.enforced, sandbox.DenialsExplained) || d.open(sandbox.DenialsExplained) {
		t.Errorf("nobody asked for denials: %v %v", d.enforced, d.gaps)
	}
	if d := decide(sandbox.Profile{Explain: sandbox.ExplainWrites}, Layout{}); slices.Contains(d.enforced, sandbox.DenialsExplained) || !d.open(sandbox.DenialsExplained) {
		t.Errorf("denials were asked for: %v %v", d.enforced, d.gaps)
	}
	// What was not asked for is not promised.
	for _, c := range append(sandbox.LimitControls(), sandbox.DenialsExplained, sandbox.RulesHeld) {
		if slices.Contains(decide(sandbox.Profile{}, Layout{}).enforced, c) {
			t.Errorf("promised without being asked: %s", c)
		}
	}
	if d := decide(sandbox.Profile{Network: sandbox.NetworkHost}, Layout{}); slices.Contains(d.enforced, sandbox.NetworkOff) || slices.Contains(d.enforced, sandbox.HostNetwork) {
		t.Errorf("promised with the network on: %v", d.enforced)
	}
}

func TestOwnerGone(t *testing.T) {
	mine := owner()
	fields := strings.Split(mine, ":")
	if len(fields) != 4 || fields[1] == "" || fields[2] == "" || fields[3] == "" {
		t.Fatalf("%q", mine)
	}
	for label, want := range map[string]bool{
		mine: false,
		strings.Join([]string{fields[0], "1", fields[2], fields[3]}, ":"):            true,  // the number was given again
		strings.Join([]string{"4194303", fields[1], fields[2], fields[3]}, ":"):      true,  // no such process
		strings.Join([]string{"4194303", fields[1], "1", fields[3]}, ":"):            false, // counted in another namespace
		strings.Join([]string{fields[0], fields[1], fields[2], "another-boot"}, ":"): true,
		"": false, "x": false, "a:b:c:": false,
	} {
		if got := ownerGone(label); got != want {
			t.Errorf("%q: %v", label, got)
		}
	}
}
