package sbx_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/sbx-run/sbx"

// room is one folder with Go files and all that its non-test files may import
// beside the standard library. A folder that is not in the table fails the test:
// a new room is a decision, written down here.
type room struct {
	dir     string   // below the module root; "." is the root package
	rooms   []string // our own packages, by folder
	modules []string // import path prefixes of other modules
	why     string   // why not more
	pure    bool     // a function of its arguments: see impureImports
	light   bool     // linked into cmd/sbx: see TestLightRoomsDoNoWorkAtStart
}

const (
	sysModule     = "golang.org/x/sys"
	shModule      = "mvdan.cc/sh/v3"
	seccompModule = "github.com/seccomp/libseccomp-golang"
)

var rooms = []room{
	{
		dir: "shell", modules: []string{shModule}, pure: true, light: true,
		why: "it is the only caller of mvdan.cc/sh, and reading a command depends on nothing that judges it",
	},
	{
		dir: "classify", rooms: []string{"shell"}, pure: true, light: true,
		why: "tags come from the Script alone; a second parser would disagree with the first",
	},
	{
		dir: "guard", rooms: []string{"shell"}, pure: true, light: true,
		why: "violations come from the Script alone; a tag must never switch a rule of guard off",
	},
	{
		dir: "secretsenv", light: true,
		why: "what leaves the environment depends on names and values only, whatever runs the command",
	},
	{
		dir: "accounts", pure: true, light: true,
		why: "it reads lines about users and groups; which of them matter is known to who asks",
	},
	{
		dir: "words", pure: true, light: true,
		why: "it compares words; what they name is known to who asks",
	},
	{
		dir: "config", light: true,
		why: "one reader and writer of the file; it knows keys, not what they are used for",
	},
	{
		dir: "netrules", pure: true, light: true,
		why: "proxy, connect broker and resolver ask one judge, and its answer depends on what they tell it alone",
	},
	{
		dir: "redact", rooms: []string{"secretsenv"}, light: true,
		why: "what looks like a credential is known in one place; whose output it is does not matter",
	},
	{
		dir: "permit", rooms: []string{"shell", "classify", "config"}, light: true,
		why: "what is granted depends on the call and on what is remembered; stores of it are at the edge",
	},
	{
		dir: "approvals", rooms: []string{"permit"}, modules: []string{"go.etcd.io/bbolt"}, light: true,
		why: "it keeps what waits and decides about it once; what is run then is another's business",
	},
	{
		dir: "sandbox", rooms: []string{"words"}, light: true,
		why: "it is the contract: a backend imports it, so it can import no backend and no library of one",
	},
	{
		dir: "sandbox/proc", rooms: []string{"accounts", "sandbox"}, modules: []string{sysModule}, light: true,
		why: "it runs one child for the backends of this host; what confines the child is not its business",
	},
	{
		dir: "sandbox/protect", rooms: []string{"sandbox"}, modules: []string{sysModule}, light: true,
		why: "it looks for files and reports on them; how they are kept is the business of a backend",
	},
	{
		dir: "sandbox/none", rooms: []string{"sandbox", "sandbox/proc"}, light: true,
		why: "a backend knows the contract, not the engine, and no other backend",
	},
	{
		dir: "sandbox/choice", rooms: []string{"sandbox"}, light: true,
		why: "it ranks and chooses by what backends measured; it knows them by the contract alone",
	},
	{
		dir: "sandbox/seatbelt", rooms: []string{"sandbox", "sandbox/credentials", "sandbox/egress", "sandbox/proc"}, light: true,
		why: "a backend knows the contract, not the engine, and no other backend",
	},
	{
		dir: "sandbox/command", rooms: []string{"sandbox", "sandbox/proc"}, light: true,
		why: "a backend knows the contract, not the engine, and no other backend",
	},
	{
		dir: "sandbox/egress", rooms: []string{"sandbox", "sandbox/spawn"}, modules: []string{sysModule}, light: true,
		why: "it starts the proxy and speaks with it; what the proxy allows is decided there",
	},
	{
		dir: "netproxy", rooms: []string{"netrules", "sandbox", "sandbox/egress"}, modules: []string{sysModule, "golang.org/x/net"},
		why: "it serves connections by the rules of netrules and knows no backend",
	},
	{
		dir: "cmd/sbx-proxy", rooms: []string{"netproxy"},
		why: "a program of its own: net/http would cost every start of sbx",
	},
	{
		dir: "sandbox/cgroup", modules: []string{sysModule}, light: true,
		why: "directories of the kernel's that count and limit: it knows nothing of what runs in them",
	},
	{
		dir: "sandbox/notify", modules: []string{sysModule}, light: true,
		why: "it hears of calls and lets them go on; what becomes of them is judged elsewhere",
	},
	{
		dir: "sandbox/direct", rooms: []string{"sandbox", "sandbox/bound", "sandbox/cgroup", "sandbox/credentials", "sandbox/egress", "sandbox/filter", "sandbox/landlock", "sandbox/layout", "sandbox/notify", "sandbox/proc", "sandbox/spawn"}, modules: []string{sysModule}, light: true,
		why: "a backend knows the contract, not the engine, and no other backend",
	},
	{
		dir: "sandbox/bound", rooms: []string{"sandbox", "sandbox/cgroup", "sandbox/proc", "sandbox/spawn"}, modules: []string{sysModule}, light: true,
		why: "limits are held by the same means whatever confines the command of this host",
	},
	{
		dir: "sandbox/layout", rooms: []string{"sandbox", "sandbox/credentials", "sandbox/landlock"}, modules: []string{sysModule}, light: true,
		why: "it says what a command sees and changes nothing: backends that lay out mounts each do it in their own way",
	},
	{
		dir: "sandbox/landlock", modules: []string{sysModule}, light: true,
		why: "calls of the kernel, and the one ruleset that the first processes of bwrap, firejail and containers share",
	},
	{
		dir: "sandbox/under", rooms: []string{"sandbox", "sandbox/bound", "sandbox/landlock", "sandbox/layout", "sandbox/proc", "sandbox/spawn"}, modules: []string{sysModule}, light: true,
		why: "it starts a command under a program, whatever that program is",
	},
	{
		dir: "sandbox/bwrap", rooms: []string{"sandbox", "sandbox/bound", "sandbox/cgroup", "sandbox/egress", "sandbox/filter", "sandbox/layout", "sandbox/proc", "sandbox/spawn", "sandbox/under"}, modules: []string{sysModule}, light: true,
		why: "a backend knows the contract, not the engine, and no other backend",
	},
	{
		dir: "sandbox/firejail", rooms: []string{"accounts", "sandbox", "sandbox/bound", "sandbox/cgroup", "sandbox/filter", "sandbox/layout", "sandbox/proc", "sandbox/spawn", "sandbox/under"}, modules: []string{sysModule}, light: true,
		why: "a backend knows the contract, not the engine, and no other backend",
	},
	{
		dir: "sandbox/credentials", pure: true, light: true,
		why: "a table that every backend reads in its own way",
	},
	{
		dir: "sandbox/pid1", rooms: []string{"sandbox", "sandbox/filter", "sandbox/landlock", "sandbox/proc"}, modules: []string{sysModule}, light: true,
		why: "it starts in every container, and the same code gives it its order: it knows no engine",
	},
	{
		dir: "sandbox/warm", rooms: []string{"sandbox", "sandbox/pid1"}, modules: []string{sysModule}, light: true,
		why: "it finds and uses what a backend has started: it links no engine, so that a warm command starts at once",
	},
	{
		dir: "cmd/sbx-init", rooms: []string{"sandbox/pid1"}, light: true,
		why: "it starts in every container",
	},
	{
		dir: "sandbox/helper", rooms: []string{"sandbox", "sandbox/proc"}, modules: []string{sysModule}, light: true,
		why: "both sides of a protocol: it knows the contract and starts programs, whatever they link",
	},
	{
		dir: "sandbox/ssh/wire", rooms: []string{"sandbox"}, light: true,
		why: "frames and what is in them: both ends speak it, and neither is known here",
	},
	{
		dir: "sandbox/ssh/tree", modules: []string{sysModule}, light: true,
		why: "directories and messages about them: what carries the messages is not its business",
	},
	{
		dir: "sandbox/ssh/far", rooms: []string{"sandbox", "sandbox/ssh/tree", "sandbox/ssh/wire"}, modules: []string{sysModule}, light: true,
		why: "it takes orders from another machine; who carries them out is given to it",
	},
	{
		dir: "sandbox/ssh", rooms: []string{"sandbox", "sandbox/proc", "sandbox/ssh/tree", "sandbox/ssh/wire"}, modules: []string{sysModule, "github.com/google/shlex"}, light: true,
		why: "a backend knows the contract, not the engine, and no other backend; ssh is a program, not a library",
	},
	{
		dir: "sandbox/container", rooms: []string{"sandbox", "sandbox/credentials", "sandbox/egress", "sandbox/filter", "sandbox/pid1", "sandbox/proc"},
		modules: []string{sysModule, "github.com/distribution/reference", "github.com/google/shlex"},
		why:     "what a container means for a command, whichever engine makes it: it links no engine's client",
	},
	{
		dir: "sandbox/docker", rooms: []string{"sandbox", "sandbox/container", "sandbox/pid1", "sandbox/proc"},
		modules: []string{sysModule, "github.com/moby/moby", "github.com/containerd/errdefs"},
		why:     "a backend knows the contract, not the engine of sbx, and no other backend",
	},
	{
		dir: "sandbox/containerd", rooms: []string{"sandbox", "sandbox/container", "sandbox/proc"},
		modules: []string{sysModule, "github.com/containerd", "github.com/containernetworking/cni", "github.com/opencontainers", "github.com/distribution/reference", "github.com/sirupsen/logrus"},
		why:     "a backend knows the contract, not the engine of sbx, and no other backend",
	},
	{dir: "cmd/sbx-backend-containerd", rooms: []string{"sandbox/containerd", "sandbox/helper"}, why: "the heavy backend behind the protocol, and nothing else"},
	{dir: "cmd/sbx-backend-docker", rooms: []string{"sandbox/docker", "sandbox/helper"}, why: "the heavy backend behind the protocol, and nothing else"},
	{dir: "cmd/sbx-backend-podman", rooms: []string{"sandbox/docker", "sandbox/helper"}, why: "the heavy backend behind the protocol, and nothing else"},
	{
		dir: "sandbox/spawn", modules: []string{sysModule}, light: true,
		why: "a table of system calls and a pid 1: it knows nothing of what they are for",
	},
	{
		dir: "sandbox/filter", light: true,
		why: "a table and embedded bytes: the compiler of the table runs at go generate time only",
	},
	{
		dir: "sandbox/probes", rooms: []string{"sandbox", "sandbox/protect"}, modules: []string{sysModule}, light: true,
		why: "the suite runs in `sbx probe` too, so it knows the contract and no test library",
	},
	{
		dir: "changes", modules: []string{sysModule}, light: true,
		why: "it compares and changes files; who wrote them, and in what sandbox, is not its business",
	},
	{
		dir: "wrappers", rooms: []string{"sandbox/credentials", "words"}, light: true,
		why: "scripts and their installer; what the scripts call is a program, not a package",
	},
	{
		dir: "hook", rooms: []string{"shell", "classify", "guard", "config", "permit"}, light: true,
		why: "it answers an agent's question about a command; it runs none, so it knows no backend",
	},
	{
		dir:   ".",
		rooms: []string{"accounts", "shell", "classify", "guard", "secretsenv", "redact", "config", "netrules", "permit", "sandbox", "sandbox/choice", "sandbox/none", "sandbox/seatbelt", "sandbox/bwrap", "sandbox/firejail", "sandbox/direct", "sandbox/helper", "sandbox/proc", "sandbox/protect", "sandbox/credentials", "sandbox/ssh", "changes"},
		light: true,
		why:   "the engine is the flow over the light rooms; system calls and heavy libraries stay behind Backend",
	},
	{
		dir:     "cmd/sbx",
		rooms:   []string{".", "approvals", "shell", "classify", "guard", "secretsenv", "config", "netrules", "permit", "sandbox", "sandbox/choice", "sandbox/none", "sandbox/bwrap", "sandbox/firejail", "sandbox/direct", "sandbox/command", "sandbox/helper", "sandbox/proc", "sandbox/probes", "sandbox/warm", "sandbox/ssh", "sandbox/ssh/far", "sandbox/ssh/wire", "hook", "wrappers", "changes", "words"},
		modules: []string{sysModule},
		light:   true,
		why:     "sbx starts once per command: what is heavy goes into a helper executable",
	},
	{
		dir: "bench", rooms: []string{".", "permit", "shell", "redact", "sandbox/filter", "sandbox/layout", "bench/corpus"},
		why: "it measures what users call",
	},
	{dir: "testuser", why: "it gives tests an account; no row names it, so nothing that ships imports it"},
	{dir: "bench/corpus", why: "it reads files of commands"},
	{dir: "bench/netclient", why: "it makes connections inside a sandbox and knows nothing of it"},
	{dir: "bench/empty", why: "the floor of every figure: a Go program that does nothing"},
	{dir: "bench/spawn", why: "the floor of a supervisor: os/exec and nothing else"},
	{dir: "bench/tagtable", rooms: []string{"bench/corpus"}, why: "it reads what `sbx check --batch` prints"},
}

// testModules may be imported by tests of any room, and by nothing that ships.
var testModules = []string{"github.com/rogpeppe/go-internal", "github.com/google/go-cmp", "github.com/santhosh-tekuri/jsonschema", sysModule}

// noTestImport lists pairs of rooms that stay apart even in tests.
var noTestImport = []struct{ from, to, why string }{
	{"guard", "classify", "two judges: a mistake of one must not hide in the other"},
	{"classify", "guard", "two judges: a mistake of one must not hide in the other"},
	{"shell", "classify", "reading is tested against bash, not against what is made of it"},
	{"shell", "guard", "reading is tested against bash, not against what is made of it"},
}

// impureImports are the standard packages that a pure room must not use: its
// answer would depend on the machine that gives it.
var impureImports = []struct{ path, why string }{
	{"os", "reads files, the environment and the user"},
	{"os/exec", "runs programs"},
	{"os/user", "reads the user data base"},
	{"io/ioutil", "reads files"},
	{"path/filepath", "its rules change with the operating system that sbx runs on; a command has POSIX paths (package path)"},
	{"net", "reaches the network"},
	{"net/http", "reaches the network"},
	{"syscall", "asks the kernel"},
	{"time", "the answer would change with the clock"},
	{"math/rand", "the answer would change with each call"},
	{"math/rand/v2", "the answer would change with each call"},
	{"log", "library packages do not log"},
	{"log/slog", "library packages do not log"},
}

// heavy lists what the light binary must not link, at any depth. A path matches
// itself and what is below it, but net alone: net/url and net/netip are light.
var heavy = []struct{ path, why string }{
	{"net/http", "costs half of an empty program's start (HTTP/2 tables, TLS); it belongs into sbx-proxy"},
	{"net", "resolver and interface code for a program that opens no connection"},
	{"crypto/tls", "its start-up tables cost more than reading a command"},
	{"crypto/x509", "loads root certificates; nothing here speaks TLS"},
	{"os/user", "calls the C library in builds with cgo; users are read from the passwd file"},
	{"testing", "registers flags and carries the test runner; the probes have a runner of their own"},
	{"text/template", "reflection keeps every method of the binary alive, so the linker drops nothing"},
	{"html/template", "see text/template"},
	{"html", "large tables built at start-up, for pages that sbx does not print"},
	{"encoding/xml", "nothing sbx reads is XML"},
	{"encoding/gob", "builds type tables at start-up; records are JSON"},
	{"expvar", "starts net/http"},
	{"log/slog", "library packages do not log, and the command writes three kinds of lines"},
	{"go", "the Go parser and type checker are for tests and generators"},
	{"database/sql", "sbx keeps no data base in the light binary"},
	{"C", "the binary is static and needs no C library"},
	{"runtime/cgo", "the binary is static and needs no C library"},
	{seccompModule, "cgo; filters are compiled at go generate time"},
	{"github.com/docker", "a container client doubles the start-up (15 ms against 7): helper executable"},
	{"github.com/moby", "a container client doubles the start-up (15 ms against 7): helper executable"},
	{"github.com/containerd", "start-up of 26 ms against 7: helper executable"},
	{"github.com/containernetworking", "belongs to the containerd helper"},
	{"k8s.io", "start-up of 33 ms against 7: helper executable"},
	{"sigs.k8s.io", "start-up of 33 ms against 7: helper executable"},
	{"google.golang.org/grpc", "belongs to the containerd helper"},
	{"google.golang.org/protobuf", "registers every message at start-up; belongs to the containerd helper"},
	{"github.com/modelcontextprotocol", "the MCP server is a program of its own"},
	{"github.com/spf13/cobra", "8.6 ms to start against 6.7 for package flag"},
	{"mvdan.cc/sh/v3/interp", "sbx reads commands and never interprets them; the shell that runs them is the real one"},
	{"mvdan.cc/sh/v3/expand", "expansion there asks the environment and the file system; ours is pure"},
}

func TestRoomsImportOnlyWhatTheirRowAllows(t *testing.T) {
	for _, f := range sourceFiles(t) {
		row, ok := roomOf(f.dir)
		if !ok {
			t.Errorf("%s: folder %q is not in the table of rooms: give it a row with what it may import", f.path, f.dir)
			continue
		}
		for _, path := range f.imports() {
			if why := row.forbids(path, f); why != "" {
				t.Errorf("%s imports %q: %s", f.path, path, why)
			}
		}
	}
}

// forbids says why a file of the room must not import path; "" when it may.
func (r room) forbids(path string, f sourceFile) string {
	dir, ours := ourFolder(path)
	switch {
	case f.test && ours:
		for _, p := range noTestImport {
			if p.from == r.dir && p.to == dir {
				return p.why
			}
		}
	case f.generator && path == seccompModule, f.test && below(path, testModules...):
		// Neither is part of what ships.
	case ours && dir != r.dir && !slices.Contains(r.rooms, dir):
		return fmt.Sprintf("not in the row of %q: %s", r.dir, r.why)
	case !ours && !standard(path) && !below(path, r.modules...):
		return fmt.Sprintf("not in the row of %q: %s", r.dir, r.why)
	case r.pure && !f.test && !f.generator:
		for _, bad := range impureImports {
			if path == bad.path {
				return fmt.Sprintf("%q is pure, and this package %s", r.dir, bad.why)
			}
		}
	}
	return ""
}

func TestLightBinaryLinksNothingHeavy(t *testing.T) {
	for _, target := range []string{"linux/amd64", "linux/arm64", "darwin/arm64", "windows/amd64"} {
		linked := dependencies(t, target, "./cmd/sbx")
		if !slices.Contains(linked, "runtime") {
			t.Fatalf("%s: go list does not name the runtime: the list is not what it should be", target)
		}
		for _, path := range linked {
			for _, bad := range heavy {
				if path == bad.path || bad.path != "net" && below(path, bad.path) {
					t.Errorf("%s: cmd/sbx links %s: %s", target, path, bad.why)
				}
			}
		}
	}
}

// dependencies lists what a package links, at any depth.
func dependencies(t *testing.T, target, pkg string) []string {
	t.Helper()
	goos, goarch, _ := strings.Cut(target, "/")
	list := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}}", pkg)
	list.Env = append(list.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%s: go list -deps %s: %v%s", target, pkg, err, stderrOf(err))
	}
	return strings.Fields(string(out))
}

func stderrOf(err error) string {
	if exit, ok := err.(*exec.ExitError); ok {
		return "\n" + string(exit.Stderr)
	}
	return ""
}

// below reports whether path is one of the roots or in a folder of one.
func below(path string, roots ...string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return path == root || strings.HasPrefix(path, root+"/")
	})
}

func ourFolder(path string) (dir string, ours bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

// standard reports whether the path is of the standard library: its first
// element holds no dot.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func roomOf(dir string) (room, bool) {
	i := slices.IndexFunc(rooms, func(r room) bool { return r.dir == dir })
	if i < 0 {
		return room{}, false
	}
	return rooms[i], true
}
