package sbx

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
)

// redirect points a program's cache into the private cache directory. Such a
// cache lies under HOME otherwise, where nothing can be written, and the
// program would fail or start cold each time.
type redirect struct {
	name string // variable
	sub  string // below the private cache directory
	why  string
}

// redirects are set for every command. Left out on purpose: CARGO_HOME without
// network (cargo works with a read-only home, and its registry stays warm),
// PYTHONPYCACHEPREFIX (python goes on without writing), JAVA_TOOL_OPTIONS
// (java prints a line about it on stderr).
var redirects = [...]redirect{
	{"XDG_CACHE_HOME", "", "the base of most caches: freedesktop.org base directories"},
	{"BUN_INSTALL_CACHE_DIR", "bun", "else ~/.bun/install/cache"},
	{"CCACHE_DIR", "ccache", "else ~/.ccache where that exists"},
	{"COMPOSER_CACHE_DIR", "composer", "else ~/.composer/cache on some systems"},
	{"DENO_DIR", "deno", "deno.json and the environment may say otherwise"},
	{"GOCACHE", "go-build", "go build needs it"},
	{"GOMODCACHE", "go-mod", "else ~/go/pkg/mod; go writes locks there"},
	{"GRADLE_USER_HOME", "gradle", "else ~/.gradle; gradle does not start without writing"},
	{"PIP_CACHE_DIR", "pip", "pip.conf may say otherwise"},
	{"UV_CACHE_DIR", "uv", "uv.toml may say otherwise"},
	{"YARN_CACHE_FOLDER", "yarn", ".yarnrc may say otherwise"},
	{"YARN_GLOBAL_FOLDER", "yarn-berry", "else ~/.yarn/berry"},
	{"npm_config_cache", "npm", "else ~/.npm; npm writes a log there for each call"},
}

// onlineRedirects are set when the command may reach a network: without one
// the caller's own cache, which can be read, is worth more.
var onlineRedirects = [...]redirect{
	{"CARGO_HOME", "cargo", "else ~/.cargo; a new crate is stored there"},
}

// hiddenFile is a file with credentials in the home directory that a program
// wants to read at every start and fails on when it exists and cannot be read.
type hiddenFile struct {
	name string // variable that names another file
	file string // below the home directory
	why  string
}

var hiddenFiles = [...]hiddenFile{
	{"npm_config_userconfig", ".npmrc", "npm ends with EACCES"},
	{"NETRC", ".netrc", "go and Python's requests end with an error"},
}

// rootsOwn are variables of the caller's session that mean nothing to the user
// that root runs a command as.
var rootsOwn = [...]string{
	"MAIL", "SUDO_COMMAND", "SUDO_GID", "SUDO_HOME", "SUDO_UID", "SUDO_USER",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_SESSION_ID", "XDG_STATE_HOME",
}

// surroundings is what the environment of a command depends on.
type surroundings struct {
	dir        string // where it runs
	workspace  string
	home       string // of the user the command runs as
	callerHome string
	private    sandbox.Private
	goProxy    string // see goProxy; empty: as it is
	identity   *sandbox.Identity
	online     bool
	keep       []string               // variables the caller asked to keep by name
	hidden     func(file string) bool // whether the backend keeps a file of the home directory from being read
}

// environment completes what secretsenv kept. The order of the variables that
// were there stays.
func environment(kept []string, s surroundings) environ {
	env := make(environ, 0, len(kept)+len(redirects)+8)
	for _, kv := range kept {
		name, _, _ := strings.Cut(kv, "=")
		if !s.drops(name) {
			env = append(env, kv)
		}
	}
	if id := s.identity; id != nil {
		home := id.Home
		if home == "" {
			home = s.private.Temp
		}
		env.set("HOME", home)
		if path := env.get("PATH"); path != "" {
			env.set("PATH", withoutHome(path, s.callerHome))
		}
		env.set("USER", orNumber(id))
		env.set("LOGNAME", orNumber(id))
	}
	env.set("PWD", s.dir)
	for _, name := range [...]string{"TMPDIR", "TMP", "TEMP"} {
		s.point(&env, name, s.private.Temp)
	}
	for _, r := range redirects {
		s.point(&env, r.name, filepath.Join(s.private.Cache, r.sub))
	}
	if s.online {
		for _, r := range onlineRedirects {
			s.point(&env, r.name, filepath.Join(s.private.Cache, r.sub))
		}
	}
	for _, h := range hiddenFiles {
		if file := filepath.Join(s.home, h.file); s.home != "" && env.get(h.name) == "" && s.hidden(file) {
			env.set(h.name, os.DevNull)
		}
	}
	if s.goProxy != "" && strings.HasPrefix(env.get("GOMODCACHE"), s.private.Cache) {
		env.set("GOPROXY", s.goProxy)
	}
	return env
}

// withoutHome drops the entries of a search path that lie in a home directory
// which the command's user cannot enter. A program found there would not start.
func withoutHome(path, home string) string {
	var keep []string
	for _, dir := range filepath.SplitList(path) {
		if home == "" || !within(filepath.Clean(dir), home) {
			keep = append(keep, dir)
		}
	}
	return strings.Join(keep, string(filepath.ListSeparator))
}

func (s surroundings) drops(name string) bool {
	if s.asked(name) {
		return false
	}
	if name == "OLDPWD" { // a directory that the command has never been in
		return true
	}
	if s.identity != nil {
		for _, r := range rootsOwn {
			if name == r {
				return true
			}
		}
	}
	return false
}

func (s surroundings) asked(name string) bool { return slices.Contains(s.keep, name) }

// point sets a variable to a private directory, unless the caller asked for
// the variable by name or it already points into the workspace.
func (s surroundings) point(env *environ, name, dir string) {
	i := env.index(name)
	have := env.value(i, name)
	if s.asked(name) && have != "" {
		return
	}
	if filepath.IsAbs(have) && within(filepath.Clean(have), s.workspace) {
		return
	}
	env.put(i, name, dir)
}

// environ is a list of NAME=value.
type environ []string

func (e environ) index(name string) int {
	for i, kv := range e {
		if len(kv) > len(name) && kv[len(name)] == '=' && kv[:len(name)] == name {
			return i
		}
	}
	return -1
}

func (e environ) get(name string) string { return e.value(e.index(name), name) }

// value is that of the variable at i, where index found it.
func (e environ) value(i int, name string) string {
	if i < 0 {
		return ""
	}
	return e[i][len(name)+1:]
}

func (e *environ) set(name, value string) { e.put(e.index(name), name, value) }

func (e *environ) put(i int, name, value string) {
	kv := name + "=" + value
	if i >= 0 {
		(*e)[i] = kv
		return
	}
	*e = append(*e, kv)
}

func orNumber(id *sandbox.Identity) string {
	if id.Name != "" {
		return id.Name
	}
	return "uid" + strconv.FormatUint(uint64(id.UID), 10)
}

// goProxy puts the host's module cache in front of the proxies that are set:
// its download directory has the layout of a proxy, so that what was downloaded
// before is found without a network. "" when there is no such cache.
func goProxy(env environ, home string, who *sandbox.Identity) string {
	host := goModCache(env, home, who)
	if host == "" {
		return ""
	}
	rest := env.get("GOPROXY")
	if rest == "" {
		rest = goEnvFile(env, home, "GOPROXY")
	}
	if rest == "" {
		rest = "https://proxy.golang.org,direct" // go's own default
	}
	return "file://" + escapePath(filepath.ToSlash(filepath.Join(host, "cache", "download"))) + "," + rest
}

// goModCache finds the module cache when it holds downloads. Root's own is of
// no use to another user: go gives up on a proxy that it may not read.
func goModCache(env environ, home string, who *sandbox.Identity) string {
	dir := env.get("GOMODCACHE")
	if dir == "" {
		gopath, _, _ := strings.Cut(env.get("GOPATH"), string(os.PathListSeparator))
		if gopath == "" && home != "" {
			gopath = filepath.Join(home, "go")
		}
		dir = filepath.Join(gopath, "pkg", "mod")
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	info, err := os.Stat(filepath.Join(dir, "cache", "download"))
	if err != nil || !info.IsDir() || who != nil && identify(info).uid != who.UID {
		return ""
	}
	return dir
}

// goEnvFile reads what `go env -w` stored.
func goEnvFile(env environ, home, name string) (value string) {
	file := env.get("GOENV")
	if file == "" && home != "" {
		config := env.get("XDG_CONFIG_HOME")
		if config == "" {
			config = filepath.Join(home, ".config")
		}
		file = filepath.Join(config, "go", "env")
	}
	if file == "off" || file == "" {
		return ""
	}
	eachLine(file, func(line string) bool {
		if v, ok := strings.CutPrefix(line, name+"="); ok {
			value = v
		}
		return true
	})
	return value
}

// escapePath escapes a path for a URL that stands in a list separated by
// commas and bars.
func escapePath(path string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '/' || c == '-' || c == '_' || c == '.' || c == '~' ||
			'0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}
