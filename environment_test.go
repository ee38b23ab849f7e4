package sbx

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
)

func around(s surroundings) surroundings {
	s.dir, s.workspace = "/ws/sub", "/ws"
	s.private = sandbox.Private{Temp: "/p/tmp", Cache: "/p/cache"}
	if s.hidden == nil {
		s.hidden = func(string) bool { return false }
	}
	return s
}

func TestEnvironment(t *testing.T) {
	kept := []string{"PATH=/usr/bin:/bin/x:/bin", "OLDPWD=/etc", "A=1", "TMPDIR=/tmp", "GOCACHE=/ws/.gocache", "npm_config_cache=/wsx/npm", "PWD=/", "EMPTY=", "HOME=/home/ann"}
	for _, tc := range []struct {
		name string
		s    surroundings
		want string // "NAME=value" that must be there, "NAME" that must not, separated by spaces
	}{
		{"plain", surroundings{}, "PATH=/usr/bin:/bin/x:/bin A=1 OLDPWD PWD=/ws/sub TMPDIR=/p/tmp TMP=/p/tmp TEMP=/p/tmp XDG_CACHE_HOME=/p/cache HOME=/home/ann EMPTY= " +
			"GOCACHE=/ws/.gocache npm_config_cache=/p/cache/npm PIP_CACHE_DIR=/p/cache/pip CARGO_HOME NETRC"},
		{"online", surroundings{online: true}, "CARGO_HOME=/p/cache/cargo"},
		{"asked", surroundings{keep: []string{"TMPDIR", "OLDPWD", "TMP"}}, "TMPDIR=/tmp OLDPWD=/etc TMP=/p/tmp"},
		{"hidden", surroundings{home: "/home/ann", hidden: func(f string) bool { return f == "/home/ann/.netrc" }}, "NETRC=/dev/null npm_config_userconfig"},
		{"other user", surroundings{callerHome: "/bin", identity: &sandbox.Identity{UID: 7, Name: "bob", Home: "/home/bob"}}, "HOME=/home/bob USER=bob LOGNAME=bob PATH=/usr/bin"},
		{"no account", surroundings{identity: &sandbox.Identity{UID: 7}}, "HOME=/p/tmp USER=uid7 LOGNAME=uid7"},
	} {
		env := environment(kept, around(tc.s))
		for _, want := range strings.Fields(tc.want) {
			if strings.Contains(want, "=") {
				if !slices.Contains(env, want) {
					t.Errorf("%s: no %s in %q", tc.name, want, env)
				}
			} else if environ(env).index(want) >= 0 {
				t.Errorf("%s: %s is set in %q", tc.name, want, env)
			}
		}
		seen := map[string]bool{}
		for _, kv := range env {
			name, _, _ := strings.Cut(kv, "=")
			if seen[name] {
				t.Errorf("%s: %s is there twice", tc.name, name)
			}
			seen[name] = true
		}
	}
}

func TestGoProxy(t *testing.T) {
	home := realPath(t.TempDir())
	mod := filepath.Join(home, "go", "pkg", "mod")
	proxyOf := func(env ...string) string {
		return environ(environment(env, around(surroundings{home: home, goProxy: goProxy(env, home, nil)}))).get("GOPROXY")
	}
	if got := proxyOf(); got != "" {
		t.Errorf("without a module cache GOPROXY is %q", got)
	}
	must(t, os.MkdirAll(filepath.Join(mod, "cache", "download"), 0o755))
	file := "file://" + mod + "/cache/download,"
	if got, want := proxyOf(), file+"https://proxy.golang.org,direct"; got != want {
		t.Errorf("GOPROXY is %q, want %q", got, want)
	}
	if got, want := proxyOf("GOPROXY=off"), file+"off"; got != want {
		t.Errorf("GOPROXY is %q, want %q", got, want)
	}
	must(t, os.MkdirAll(filepath.Join(home, ".config", "go"), 0o755),
		os.WriteFile(filepath.Join(home, ".config", "go", "env"), []byte("GOFLAGS=-x\nGOPROXY=https://corp\n"), 0o644))
	if got, want := proxyOf(), file+"https://corp"; got != want {
		t.Errorf("GOPROXY is %q, want %q", got, want)
	}
	odd := filepath.Join(home, "a b,c|d%é")
	must(t, os.MkdirAll(filepath.Join(odd, "cache", "download"), 0o755))
	if got, want := proxyOf("GOMODCACHE="+odd), "file://"+home+"/a%20b%2Cc%7Cd%25%C3%A9/cache/download,https://corp"; got != want {
		t.Errorf("GOPROXY is %q, want %q", got, want)
	}
	if got := goProxy(nil, home, &sandbox.Identity{UID: 54321}); got != "" {
		t.Errorf("the module cache of another user is offered: %q", got)
	}
}
